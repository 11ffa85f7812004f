import { execFileSync } from 'node:child_process'
import { chmodSync, constants, openSync, writeFileSync } from 'node:fs'
import { Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { type Test, test } from 'tap'
import { ServiceManager } from './service_manager.ts'

/** A `systemd-notify` of the test's own comes first in the path: what it is told comes out of a pipe. */
function listening(t: Test): AsyncIterator<string> {
  const folder = t.testdir({})
  execFileSync('mkfifo', [`${folder}/told`])
  // Opened for both ways: to write alone, it would wait for ever once nobody reads any more.
  writeFileSync(`${folder}/systemd-notify`, `#!/bin/sh\necho "$*" 1<>${folder}/told\n`)
  chmodSync(`${folder}/systemd-notify`, 0o755)
  const { PATH } = process.env
  process.env.PATH = `${folder}:${PATH}`
  t.teardown(() => {
    process.env.PATH = PATH
  })
  const told = new Socket({ fd: openSync(`${folder}/told`, constants.O_RDWR | constants.O_NONBLOCK) })
  t.teardown(() => void told.destroy())
  return createInterface({ input: told })[Symbol.asyncIterator]()
}

test('systemd hears that it is ready, then feeds at a third of the time, then that it stops', async (t) => {
  const told = listening(t)
  const manager = new ServiceManager({ NOTIFY_SOCKET: '/run/systemd/notify', WATCHDOG_USEC: '30000' })
  const next = async () => (await told.next()).value
  manager.ready()
  t.equal(await next(), 'READY=1')
  t.equal(await next(), 'WATCHDOG=1')
  t.equal(await next(), 'WATCHDOG=1')
  manager.stopping()
  for (let words = await next(); words !== 'STOPPING=1'; words = await next()) t.equal(words, 'WATCHDOG=1')
  manager.close()
})

test('without a socket to notify nothing is begun', (t) => {
  const manager = new ServiceManager({ WATCHDOG_USEC: '1000' })
  manager.ready()
  manager.stopping()
  manager.close()
  t.notOk(process.getActiveResourcesInfo().includes('ProcessWrap'))
  t.end()
})
