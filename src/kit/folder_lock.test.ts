import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { type Test, test } from 'tap'
import { claimSocket, isServed, whenNoCommandWorks, whileNobodyServes } from './folder_lock.ts'

/** Leaves the socket of a service that was killed. */
async function leaveDeadSocket(t: Test, folder: string): Promise<void> {
  const program = `require('net').createServer().listen('control.sock', () => process.kill(process.pid, 'SIGKILL'))`
  await once(spawn(process.execPath, ['-e', program], { cwd: folder }), 'exit')
  t.ok(existsSync(`${folder}/control.sock`))
}

function serverFor(t: Test): Server {
  const server = createServer((socket) => socket.destroy())
  t.teardown(() => server.close())
  return server
}

test('of many that find a dead socket one has it, and that one lives', async (t) => {
  t.teardown(() => undefined)
  const folder = t.testdir({})
  // Which of them meet is up to the threads that remove files.
  for (let round = 0; round < 5; round++) {
    await leaveDeadSocket(t, folder)
    t.notOk(await isServed(folder))
    const servers = Array.from({ length: 30 }, () => serverFor(t))
    const claimed = await Promise.all(
      servers.map(async (server, i) => {
        for (let turn = 0; turn < i; turn++) await new Promise(setImmediate)
        return claimSocket(folder, 'control.sock', server)
      }),
    )
    t.equal(claimed.filter(Boolean).length, 1)
    t.ok(await isServed(folder))
    await Promise.all(servers.filter(({ listening }) => listening).map((server) => new Promise((resolve) => server.close(resolve))))
  }
})

test('commands take turns on a folder, and are refused while a service has it', async (t) => {
  t.teardown(() => undefined)
  const folder = `${t.testdir({})}/new/data`
  let inside = 0
  let most = 0
  const work = async () => {
    most = Math.max(most, ++inside)
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
    inside--
  }
  await Promise.all(Array.from({ length: 5 }, () => whileNobodyServes(folder, work)))
  t.equal(most, 1)
  await t.rejects(
    whileNobodyServes(folder, () => Promise.reject(new Error('its own'))),
    { message: 'its own' },
  )
  await claimSocket(folder, 'control.sock', serverFor(t))
  await t.rejects(whileNobodyServes(folder, work), { code: 'in_use', message: /end it first/ })
})

test('a service that begins while a command works on the folder waits for it, and has the folder meanwhile', async (t) => {
  t.teardown(() => undefined)
  const folder = t.testdir({})
  const order: string[] = []
  let waiting: Promise<void> | undefined
  await whileNobodyServes(folder, async () => {
    await claimSocket(folder, 'control.sock', serverFor(t))
    await new Promise<void>((isWaiting) => {
      waiting = whenNoCommandWorks(folder, isWaiting).then(() => void order.push('service'))
    })
    await t.rejects(
      whileNobodyServes(folder, async () => {}),
      { code: 'in_use' },
    )
    order.push('command')
  })
  await waiting
  t.same(order, ['command', 'service'])
  await whenNoCommandWorks(folder, () => t.fail('nobody works on it'))
})
