// `benchd devices certify` at a terminal, with a person who answers, on a simulated shaker at a pseudo-terminal.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Test, test } from 'tap'
import { driver } from '../../../drivers/bigbear/driver.ts'
import { type Served, serveOnPty } from '../../../drivers/serve.ts'
import { tampered } from '../../conformance/tampered.ts'
import type { TrialFile } from '../../conformance/trial_file.ts'
import { benchd, program, running, served } from '../../testing/cli.ts'

type Hands = { unplug(): void; plug(): Promise<void>; restart(): void }
/** Keys that the person presses once a text was said, while the instrument is so. */
type Meanwhile = { text: RegExp; typed: string; when(sim: Served): boolean }

/** A bench with a shaker, and a person in front of it: `answer` returns what they type at a question. */
async function trial(t: Test, answer: (question: string, hands: Hands) => string | Promise<string>, meanwhile?: Meanwhile) {
  const home = t.testdir({})
  const { driver: same, hand } = tampered(driver)
  const sim = await serveOnPty(same, {}, { time_scale: 20, link: `${home}/port` })
  t.teardown(() => sim.close())
  const device = { device_id: 'shaker-1', driver: 'bigbear', transport: { kind: 'serial', path: `${home}/port` } }
  writeFileSync(`${home}/config.json`, JSON.stringify({ format: 1, listen: { host: '127.0.0.1', port: 0 }, devices: [device] }))
  await served(t, home)
  const file = `${home}/trial.json`
  const words = ['devices', 'certify', 'shaker-1', '--config', `${home}/config.json`, '--data-dir', `${home}/data`, '--out', file]
  const command = [process.execPath, program, ...words].map((word) => `'${word}'`).join(' ')
  const child = spawn('script', ['-qfec', command, '/dev/null'], { env: { ...process.env, SHELL: '/bin/sh', TERM: 'dumb', HOME: home } })
  t.teardown(() => child.kill('SIGKILL'))
  const hands = { unplug: () => sim.setFault('unplug'), plug: () => sim.clearFaults(), restart: () => hand.restart() }
  let said = ''
  let unread = ''
  child.stdout.on('data', async (bytes: Buffer) => {
    said += bytes
    if (meanwhile?.text.test(said)) {
      const { when, typed } = meanwhile
      // They are pressed once, whatever is said afterwards.
      meanwhile = undefined
      while (!when(sim) && child.exitCode === null) await sleep(10)
      child.stdin.write(typed)
      return
    }
    unread += bytes
    const question = /([^\n]*(?:sentence|to skip\)): )$/.exec(unread)?.[1]
    if (!question) return
    unread = ''
    const typed = await answer(question, hands)
    if (typed !== '') child.stdin.write(typed)
  })
  const [code] = (await once(child, 'close')) as [number]
  const read = () => JSON.parse(readFileSync(file, 'utf8')) as TrialFile
  return { code, said, file, home, read, sim }
}

test('a trial goes through all steps, its file is signed, and the instrument is replayed from it', async (t) => {
  const { code, said, file, home, read } = await trial(t, async (question, { unplug, plug, restart }) => {
    if (question.startsWith('Pull the cable')) unplug()
    if (question.startsWith('Plug the cable')) await plug()
    if (question.startsWith('Switch its power off')) restart()
    if (/press Enter/.test(question)) return '\n'
    return /without a plate/.test(question) ? 'it shakes all the same\n' : 'y\n'
  })
  t.equal(code, 0, said)
  const { trial: its } = read()
  t.same(
    its.steps.map(({ name, result }) => [name, result]),
    [
      ['safety', 'pass'],
      ['identity', 'pass'],
      ['initialize', 'pass'],
      ['shake', 'pass'],
      ['shake refuses speed 7141', 'pass'],
      ...its.steps.flatMap(({ name }) => (name.startsWith('shake refuses duration') ? [[name, 'pass']] : [])),
      ['halt during shake', 'pass'],
      ['shake without a plate', 'deviation'],
      ['unplugged', 'pass'],
      ['initialize', 'pass'],
      ['power loss', 'pass'],
      ['initialize', 'pass'],
    ],
  )
  t.match(its, { simulated: true, ended_at: null, device: { driver: 'bigbear', driver_source: 'shipped' }, benchd: /\d/ })
  t.match(
    its.steps.find(({ result }) => result === 'deviation'),
    { note: 'it shakes all the same' },
  )
  t.ok(its.wire.length > 20)
  t.match(await benchd(home, ['drivers', 'verify', file]), {
    code: 0,
    stdout: /the file is as it was signed[\s\S]*simulated: it does not count/,
  })

  const sim = running(t, home, ['sim', 'bigbear', '--pty', '--link', `${home}/replayed`, '--from', file])
  await sim.line(/^\/.*/)
  const client = spawn('sh', ['-c', `exec 3<>"$0"; printf 'Q\\r' >&3; head -c 5 <&3`, `${home}/replayed`])
  const [answer] = (await once(client.stdout, 'data')) as [Buffer]
  t.match(String(answer), /^(STOP|RAMP|RUN)/)
  sim.child.kill('SIGTERM')
  await sim.ended

  writeFileSync(file, readFileSync(file, 'utf8').replace('"result": "deviation"', '"result": "pass"'))
  t.match(await benchd(home, ['drivers', 'verify', file]), { code: 1, stdout: /THE FILE WAS CHANGED/ })
  t.match(await benchd(home, ['sim', 'bigbear', '--pty', '--from', file]), { code: 2, stderr: /was changed since it was signed/ })
})

test('a person who ends it in the middle finds the instrument halted, and the file says where it ended', async (t) => {
  const { code, read, sim } = await trial(t, (question) => {
    if (/shook/.test(question)) return '\u0003'
    return /says that it is/.test(question) ? 'n\n' : 'y\n'
  })
  t.equal(code, 130)
  t.match(read().trial, { ended_at: 'shake', steps: [{ name: 'safety' }, { name: 'identity', result: 'fail' }, { name: 'initialize' }] })
  t.match(sim.simulator.world, { moving: false })
})

test('Ctrl-C while it moves halts it at once, and the file says where', async (t) => {
  const { code, read, sim } = await trial(t, () => 'y\n', {
    text: /shake \{.*begins/,
    typed: '\u0003',
    when: (sim) => sim.simulator.world.moving,
  })
  t.equal(code, 130)
  t.match(read().trial, { ended_at: 'shake' })
  while (sim.simulator.world.moving) await sleep(10)
})

test('a person who is not ready moves nothing', async (t) => {
  const { code, read, sim } = await trial(t, () => 'n\n')
  t.equal(code, 130)
  t.match(read().trial, { ended_at: 'safety', steps: [{ name: 'safety', result: 'fail' }] })
  t.same(sim.simulator.world.moving, false)
})

test('without a terminal nothing is tried', async (t) => {
  t.match(await benchd(t.testdir({}), ['devices', 'certify', 'shaker-1']), { code: 2, stderr: /a trial asks a person/ })
})
