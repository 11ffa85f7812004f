// A program in Python as a device of the bench: what it describes is performed, refused, halted and used by workflows as any other device's.

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import type { Test } from 'tap'
import { bridgeTo, programFile, reader, until } from '../testing/bridges.ts'
import { isRefusal, openService } from '../testing/http.ts'
import { withPython } from '../testing/python.ts'

const base = '/api/devices/reader-1'

async function setup(t: Test, source = reader, more: object = {}) {
  const path = programFile(t, source)
  const service = await openService(t, { devices: [bridgeTo(path, more)] })
  const { ask } = service
  const instrument = service.bench.registry.find('reader-1')
  const log = () => (existsSync(`${path}.log`) ? readFileSync(`${path}.log`, 'utf8').trim().split('\n') : [])
  const perform = (operation: string, params: object = {}, headers: Record<string, string> = {}) =>
    ask('POST', `${base}/perform`, { json: { operation, params }, headers })
  const fault = () => until(() => instrument.info().fault)
  return { ...service, path, instrument, log, perform, fault }
}

withPython('a reader is described, initialized and performed', async (t) => {
  const { ask, perform, log, bench } = await setup(t)
  t.equal((await ask('POST', `${base}/initialize`)).status, 200)
  const { body: can } = await ask('GET', `${base}/capabilities`)
  t.match(can, { type: 'reader', driver: 'bridge', model: 'Example 96', simulated: false })
  const { operations } = can as { operations: { name: string }[] }
  t.same(
    operations.map(({ name }) => name),
    ['initialize', 'stop', 'read', 'wait', 'initialized', 'get_temperature'],
  )
  t.match(operations[2], {
    summary: 'Read a plate',
    params: { properties: { wavelength: { type: 'integer', unit: 'nm', minimum: 230, maximum: 1000, default: 600 } }, required: [] },
    typical_seconds: 1,
    max_seconds: 31,
  })
  const answer = await perform('read', { wavelength: 450 })
  t.match([answer.status, answer.body], [200, { success: true, message: 'reader-1: read is done', data: { absorbance: [0.25, 0.45] } }])
  t.match((await perform('read')).body, { data: { absorbance: [0.25, 0.6] } }, 'a default is filled in')
  t.same(log(), ['initialize', 'read 450', 'read 600'])
  t.match((await ask('GET', `${base}/get_temperature`)).body, { temperature: 22.5, target: null })
  const readings = [
    { name: 'temperature', unit: '°C' },
    { name: 'broken', unit: '' },
    { name: 'pressure', unit: 'mbar' },
  ]
  t.same((can as { readings: object[] }).readings, readings)
  const pressure = { device_id: 'reader-1', reading: 'pressure', value: 1013.25, target: 1000, unit: 'mbar' }
  t.same((await ask('GET', `${base}/readings/pressure`)).body, pressure)
  t.match((await ask('GET', `${base}/readings/temperature`)).body, { value: 22.5, target: null, unit: '°C' })
  const unknown = await ask('GET', `${base}/readings/constructor`)
  isRefusal(t, unknown, 400, 'invalid')
  t.match(unknown.body, { detail: 'reader-1 has no reading constructor; it has: temperature, broken, pressure' })
  // The values are with the newest operation alone; lists of devices and the history do not carry them.
  const [first, second] = await Promise.all(
    [answer, await perform('read')].map(async ({ headers }) => (await ask('GET', `/api/operations/${headers.get('operation-id')}`)).body),
  )
  t.match([(first as { data?: unknown }).data, second], [undefined, { data: { absorbance: Array } }])
  t.notMatch((await ask('GET', base)).text, /absorbance/)
  t.match(bench.ledger.counts, [{ operation: 'initialize' }, { operation: 'read', times: 3 }])
})

withPython('while somebody watches, all readings that are numbers are kept, and one that is none latches nothing', async (t) => {
  const { ask, bench, instrument } = await setup(t)
  await ask('POST', `${base}/initialize`)
  bench.readings.watch()
  await until(() => bench.readings.newest().length)
  const { body } = await ask('GET', `${base}/readings`)
  const others = { pressure: { value: 1013.25, target: 1000, unit: 'mbar' } }
  t.match(body, { readings: [{ temperature: 22.5, target: null, others }] })
  t.same(Object.keys((body as { readings: { others: object }[] }).readings[0]!.others), ['pressure'])
  t.equal(instrument.info().fault, null)
})

withPython('a reading that is no number is a fault of the device', async (t) => {
  const { ask, fault } = await setup(t)
  t.equal((await ask('POST', `${base}/initialize`)).status, 200)
  const answer = await ask('GET', `${base}/readings/broken`)
  isRefusal(t, answer, 500, 'device_failed')
  t.match((await fault()).error, /its answer to read: value must be/)
})

withPython('what a reader cannot take is refused before it hears of it, and what it refuses latches nothing', async (t) => {
  const { ask, perform, log, instrument } = await setup(t)
  await until(() => instrument.abilities.knows('read'))
  isRefusal(t, await perform('read'), 409, 'not_initialized')
  await ask('POST', `${base}/initialize`)
  for (const [params, words] of [
    [{ wavelength: 100 }, /wavelength must be at least 230, not 100/],
    [{ wavelength: 450.5 }, /wavelength must be a whole number/],
    [{ wavelength: 'red' }, /wavelength must be a number/],
    [{ wavelenght: 450 }, /there is no member wavelenght; did you mean "wavelength"/],
  ] as const) {
    const refused = await perform('read', params)
    isRefusal(t, refused, 400, 'invalid')
    t.match(refused.body, { detail: words })
  }
  for (const operation of ['dance', 'stop', 'get_temperature', 'initialized', 'toString'])
    isRefusal(t, await perform(operation), 400, 'invalid')
  t.match((await perform('dance')).body, { detail: /reader-1 cannot dance: it knows initialize, stop, read, wait/ })
  const open = await perform('read', { wavelength: 999 })
  isRefusal(t, open, 409, 'interlock')
  t.match(open.body, { detail: 'reader-1: the door is open; close it' })
  t.same([log(), instrument.state], [['initialize'], 'ready'])
  const dead = await perform('read', { wavelength: 998 })
  isRefusal(t, dead, 500, 'device_failed')
  t.match(instrument.info(), {
    state: 'faulted',
    fault: { command: 'read', error: 'reader-1: the lamp is dead; replace it, then initialize' },
  })
  t.same(log(), ['initialize', 'halt'], 'what failed is halted')
  isRefusal(t, await ask('POST', '/api/devices/reader-1/perform', { key: 'read', json: { operation: 'read' } }), 403)
})

withPython(
  'an operation is shown with its progress, answered later if that is asked for, done once, kept by a lease, and halted by a stop',
  async (t) => {
    const { ask, perform, log, instrument } = await setup(t)
    await ask('POST', `${base}/initialize`)
    const headers = { Prefer: 'respond-async', 'Idempotency-Key': 'once' }
    const begun = await perform('wait', { duration: 30 }, headers)
    t.equal(begun.status, 202)
    await until(() => instrument.info().operation?.progress)
    t.match(instrument.info(), { state: 'busy', operation: { name: 'wait', progress: { fraction: 0.5, message: 'half of it' } } })
    t.ok(Math.abs(instrument.info().operation!.seconds_left - 32) < 5, 'the parameter says how long')
    isRefusal(t, await perform('read'), 409, 'busy')
    t.match((await ask('GET', `${base}/get_temperature`)).status, 200, 'a reading goes in between')
    t.match((await perform('wait', { duration: 30 }, headers)).body, {
      operation_id: (begun.body as { operation_id: string }).operation_id,
    })
    const stopped = await ask('POST', `${base}/stop`)
    t.match(stopped.body, { success: true, message: 'reader-1 stopped' })
    t.match(instrument.info(), { state: 'stopped', fault: { command: 'wait', outcome: 'unknown' } })
    await until(() => instrument.info().operation === null)
    t.same(log(), ['initialize', 'wait', 'halt'])
    t.equal((await ask('POST', `${base}/initialize`)).status, 200, 'late answers of what was halted are no trouble')
    await ask('PUT', `${base}/lock`, { key: 'operate', json: { owner: 'Ada', ttl_s: 60 } })
    isRefusal(t, await perform('read'), 423, 'locked')
  },
)

withPython('a program that ends is a fault with its last words, is started again, and hears a halt before anything else', async (t) => {
  const dying = reader.replace('note(f"read {wavelength}")', 'import os; os.write(2, b"out of memory\\n"); os._exit(3)')
  const { ask, perform, instrument, log } = await setup(t, dying)
  await ask('POST', `${base}/initialize`)
  const broken = await perform('read')
  isRefusal(t, broken, 500, 'disconnected')
  t.match(broken.body, { detail: /the connection was lost: it ended with exit status 3; its last words: out of memory; see what it wrote/ })
  t.match(instrument.info(), { fault: { may_still_be_moving: true } })
  await until(() => !instrument.info().fault!.may_still_be_moving)
  t.same(log(), ['initialize', 'halt'])
})

withPython('a description that has changed is a fault until somebody accepts it, and a stop may end the program', async (t) => {
  const { ask, perform, path, instrument } = await setup(t, reader, { settings: { halt: 'kill' } })
  await ask('POST', `${base}/initialize`)
  t.match((await ask('POST', `${base}/accept`)).body, { message: 'there is nothing to accept' })
  writeFileSync(path, reader.replace('"wavelength": 1000', '"wavelength": 800'))
  t.match((await ask('POST', `${base}/stop`)).body, { success: true })
  t.match(instrument.info(), { state: 'disconnected', fault: { error_type: 'Stopped' } })
  await until(() => instrument.state === 'stopped')
  const refused = await ask('POST', `${base}/initialize`)
  isRefusal(t, refused, 500, 'device_failed')
  t.match(refused.body, {
    detail: /reader-1 describes itself otherwise than it did \(operations.read\); see .*POST \/api\/devices\/reader-1\/accept/,
  })
  t.match((await ask('POST', `${base}/accept`)).body, { success: true, message: /accepted; initialize/ })
  t.match(await ask('POST', `${base}/initialize`), { status: 200 })
  isRefusal(t, await perform('read', { wavelength: 900 }), 400, 'invalid')
  isRefusal(t, await ask('POST', '/api/devices/reader-1/accept', { key: 'read' }), 403)
})

withPython('the reader of the guide works as it stands there', async (t) => {
  const guide = readFileSync(new URL('../../../drivers/README.md', import.meta.url), 'utf8')
  const program = /```python\n([\s\S]*?serve\(\)\n)```/.exec(guide)![1]!
  const { ask, perform, instrument } = await setup(t, program.replace('wait(10)', 'wait(0.01)'))
  await until(() => instrument.abilities.knows('read'))
  t.equal((await ask('POST', `${base}/initialize`)).status, 200)
  t.match((await perform('read', { wavelength: 450 })).body, { success: true, data: { absorbance: [0.25, 0.31] } })
  isRefusal(t, await perform('read', { wavelength: 999 }), 409, 'interlock')
  t.match(instrument.info(), { state: 'ready', identity: { model: 'Example 96', serial_number: 'A-0815' } })
})
