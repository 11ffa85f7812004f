// The protocol for a robot of Opentrons, against a service on a port. The robot is a stand-in, which another test compares with Opentrons' library.

import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { type Test, test } from 'tap'
import { openService } from '../../testing/http.ts'
import { lossyProxy } from '../../testing/lossy_proxy.ts'
import { noCheckout } from '../../testing/opentrons.ts'
import { noPython, withPython } from '../../testing/python.ts'

const recipes = fileURLToPath(new URL('../../../../src/clients/recipes/', import.meta.url))
const protocol = `${recipes}opentrons_protocol.py`
const standIn = `${recipes}opentrons_protocol.test.py`

type Line = [call: string, ...details: unknown[]]
type Run = { url: string; key: string; params?: object; simulating?: boolean; protocol?: string; onDelay?: () => Promise<'on' | 'cancel'> }

/** Runs the protocol on the stand-in, and returns all but its delays. */
async function ran(t: Test, { url, key, params = {}, simulating, protocol: path = protocol, onDelay }: Run): Promise<Line[]> {
  const env = { PATH: process.env.PATH, ...(url && { BENCHD_URL: url, BENCHD_API_KEY: key }) }
  const words = [standIn, 'run', path, JSON.stringify(params), ...(simulating ? ['simulating'] : [])]
  const child = spawn('python3', words, { env, stdio: ['pipe', 'pipe', 'pipe'] })
  t.teardown(() => child.kill('SIGKILL'))
  const stderr = text(child.stderr)
  const ended = once(child, 'close')
  const lines: Line[] = []
  for await (const said of createInterface({ input: child.stdout })) {
    const line = JSON.parse(said) as Line
    if (line[0] !== 'delay') lines.push(line)
    else child.stdin.write(`${(await onDelay?.()) ?? 'on'}\n`)
  }
  const [code] = await ended
  t.equal(code, 0, await stderr)
  return lines
}

const operate = '/api/devices/shaker-1/perform'
const ofRobot: Line[] = [
  ['transfer', 50, 'A1 of nest_12_reservoir_15ml', 'A1 of corning_96_wellplate_360ul_flat'],
  ['pause', 'Put the plate from C2 on shaker-1, then resume.'],
  ['pause', 'Put the plate from shaker-1 back in C2, then resume.'],
  ['transfer', 50, 'A2 of nest_12_reservoir_15ml', 'A1 of corning_96_wellplate_360ul_flat'],
  ['completed'],
]

withPython('a simulation does all steps of the robot and asks nothing of the bench', async (t) => {
  const { port, secrets } = await openService(t)
  const { seen, url } = await lossyProxy(t, port)
  t.same(await ran(t, { url, key: secrets.operate, simulating: true }), ofRobot)
  t.same(seen, [])
  t.same(await ran(t, { url: '', key: '', simulating: true }), ofRobot, 'without the settings of a bench')
})

withPython('a run shakes once, also where answers are lost and the requests repeated', async (t) => {
  const { port, secrets, bench, ask } = await openService(t)
  const { seen, url } = await lossyProxy(t, port, (what, times) => what === `${operate} shake` && times < 3)
  t.same(await ran(t, { url, key: secrets.operate, params: { speed: 700, duration: 20 } }), ofRobot)
  const shake = `${operate} shake`
  t.same(seen, [`${operate} initialize`, `${operate} lock_plate`, shake, shake, shake, `${operate} unlock_plate`])
  const { operations } = (await ask('GET', '/api/operations?device_id=shaker-1')).body as { operations: object[] }
  t.match(operations, [
    { operation: 'unlock_plate' },
    { operation: 'shake', params: { speed: 700, duration: 20 }, result: { success: true } },
    { operation: 'lock_plate' },
    { operation: 'initialize' },
  ])
  t.equal(operations.length, 4)
  t.equal(bench.registry.find('shaker-1').state, 'ready')
})

withPython('a device that fails ends the run with the sentence of the bench', async (t) => {
  const { url, secrets, ask } = await openService(t)
  const lines = await ran(t, {
    url,
    key: secrets.operate,
    onDelay: async () => {
      await ask('POST', '/api/sim/devices/shaker-1/faults', { json: { fault: 'no_reply' } })
      return 'on'
    },
  })
  const { operations } = (await ask('GET', '/api/operations?device_id=shaker-1')).body as { operations: { detail: string | null }[] }
  const [{ detail } = { detail: null }] = operations
  t.match(detail, /^shaker-1: no reply/)
  t.same(lines.at(-1), ['failed', 'BenchError', detail])
})

withPython('a refused operation ends the run with the sentence, and stops no device that somebody else uses', async (t) => {
  const { url, secrets, ask, bench } = await openService(t, { time_scale: 20 })
  await ask('POST', '/api/devices/shaker-1/initialize')
  await ask('POST', '/api/devices/shaker-1/lock_plate')
  const shake = { json: { speed: 300, duration: 80_000 }, headers: { Prefer: 'respond-async' } }
  t.equal((await ask('POST', '/api/devices/shaker-1/shake', shake)).status, 202)
  t.match((await ran(t, { url, key: secrets.operate })).at(-1), ['failed', 'Refused', /^shaker-1 is running shake/])
  t.match((await ran(t, { url, key: secrets.read })).at(-1), ['failed', 'Refused', /scope/])
  t.equal(bench.registry.find('shaker-1').state, 'busy')
})

withPython('a refusal that does not tell what became of a lost request stops the device', async (t) => {
  const seen: string[] = []
  const bench = createServer(async (asked, answer) => {
    const { operation = 'stop' } = JSON.parse((await text(asked)) || '{}') as { operation?: string }
    seen.push(operation)
    const times = seen.filter((one) => one === 'shake').length
    if (operation === 'shake' && times === 1) return answer.destroy()
    const done = { status: 'ended', detail: null, result: { success: true, message: '' }, ended_early: false, success: true }
    if (operation === 'shake') answer.writeHead(409, { 'X-Reason': 'conflict' }).end('{"detail": "the service ended meanwhile"}')
    else answer.end(JSON.stringify(done))
  }).listen(0, '127.0.0.1')
  await once(bench, 'listening')
  t.teardown(() => bench.close())
  const lines = await ran(t, { url: `http://127.0.0.1:${(bench.address() as AddressInfo).port}`, key: 'bk_none' })
  t.match(lines.at(-1), ['failed', 'Unanswered', 'Nobody knows whether the bench carried out the request: the service ended meanwhile'])
  t.same(seen, ['initialize', 'lock_plate', 'shake', 'shake', 'stop'])
})

withPython('an operation that somebody ends early ends the run', async (t) => {
  const { port, secrets, ask } = await openService(t, { time_scale: 20 })
  const { seen, url } = await lossyProxy(t, port)
  const lines = await ran(t, {
    ...{ url, key: secrets.operate, params: { duration: 3600 } },
    onDelay: async () => {
      const { operation } = (await ask('GET', '/api/devices/shaker-1')).body as { operation: { operation_id: string } | null }
      if (operation && seen.at(-1) === `${operate} shake`) await ask('DELETE', `/api/operations/${operation.operation_id}`)
      return 'on'
    },
  })
  t.same(lines.at(-1), ['failed', 'BenchError', 'Somebody ended shake of shaker-1 early. Look at the plate before you go on.'])
})

withPython('a cancelled run stops the device that it started', async (t) => {
  const { port, secrets, ask, bench } = await openService(t, { time_scale: 20 })
  const { seen, url } = await lossyProxy(t, port)
  const lines = await ran(t, {
    ...{ url, key: secrets.operate, params: { duration: 3600 } },
    onDelay: async () => (seen.at(-1) === `${operate} shake` ? 'cancel' : 'on'),
  })
  t.same(lines.at(-1), ['failed', 'RunStoppedError', 'The run was cancelled.'])
  t.equal(seen.at(-1), '/api/devices/shaker-1/stop')
  t.equal(bench.registry.find('shaker-1').state, 'stopped')
  const { operations } = (await ask('GET', '/api/operations?device_id=shaker-1&limit=1')).body as { operations: object[] }
  t.match(operations, [{ operation: 'shake', result: { success: false, message: 'stopped' } }])
})

withPython('a cancelled run says that its stop did not arrive', async (t) => {
  const { port, secrets } = await openService(t, { time_scale: 20 })
  const { seen, url } = await lossyProxy(t, port, (what) => what.includes('/stop'))
  const lines = await ran(t, {
    ...{ url, key: secrets.operate, params: { duration: 3600 } },
    onDelay: async () => (seen.at(-1) === `${operate} shake` ? 'cancel' : 'on'),
  })
  t.match(lines.at(-1), ['failed', 'BenchError', /^The stop did not reach shaker-1\. Stop the device at the bench\./])
  t.equal(seen.filter((what) => what.includes('/stop')).length, 3)
})

withPython('the address and the key come from a file on the robot', async (t) => {
  const { url, secrets } = await openService(t)
  const folder = t.testdir({})
  const settings = `${folder}/benchd.json`
  const there = `${folder}/protocol.py`
  writeFileSync(there, readFileSync(protocol, 'utf8').replaceAll('/data/benchd.json', settings))
  const missing = await ran(t, { url: '', key: '', protocol: there })
  t.match(missing, [
    ['failed', 'BenchError', /^The robot finds no address of a bench \(.*Write \{"url": "\.\.\.", "key": "\.\.\."\} into /],
  ])
  writeFileSync(settings, JSON.stringify({ url: `${url}/`, key: secrets.operate }))
  t.same(await ran(t, { url: '', key: '', protocol: there }), ofRobot)
})

test('the stand-in has the methods, the parameters and the limits of Opentrons', { skip: noCheckout || noPython }, (t) => {
  const said = execFileSync('python3', [standIn, 'compare', protocol, process.env.OPENTRONS!], { encoding: 'utf8' })
  t.equal(said, '["compared"]\n')
  t.end()
})
