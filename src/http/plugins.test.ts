import { test } from 'tap'
import { isRunning, openPlugged, pluginCode, pluginsOf, writesEvents } from '../testing/plugins.ts'

test('a plug-in of each layer receives every event in order, and is stopped with the service', async (t) => {
  const service = await openPlugged(t, { far: { code: writesEvents }, near: { code: writesEvents, in_process: true } })
  await service.until('far', isRunning)
  await service.until('near', isRunning)
  t.match(await pluginsOf(service), [
    { name: 'far', title: 'of a test', layer: 'isolated', scope: 'read', state: 'running', last_error: null, memory_mib: Number },
    { name: 'near', title: 'of a test', layer: 'in_process', scope: 'read', state: 'running', memory_mib: null },
  ])
  const names = Array.from({ length: 600 }, (_, i) => `TEST.${i}.DONE`)
  for (const name of names) service.bench.hub.emit(name, {})
  const mine = (lines: string[]) => lines.filter((line) => line.startsWith('TEST.'))
  t.same(mine(service.lines('near')), names, 'at once')
  await service.until('far', ({ events_waiting, events_handled }) => events_handled >= names.length && events_waiting === 0)
  t.same(mine(service.lines('far')), names)
  await service.service.close()
  t.equal(service.lines('far').at(-1), 'stopped')
  t.equal(service.lines('near').at(-1), 'stopped')
})

const asks = pluginCode(`
  const ask = async (method, path, body) => {
    const answer = await bench.request(method, path, body)
    write([method, path, answer.status, answer.body?.detail ?? ''].join(' '))
    return answer
  }
  await ask('GET', '/api/devices')
  await ask('POST', '/api/devices/shaker-1/initialize')
  await ask('POST', '/api/keys', { name: 'mine', scope: 'admin' })
  await ask('GET', '/events/stream')
  await ask('GET', '//elsewhere/api')
  await ask('PATCH', '/api/devices')
  const events = await bench.get_events_since()
  write('events ' + events.some(({ event_name }) => event_name.startsWith('DEVICE.shaker-1.')))
  const none = await bench.getEventsForExecution('none')
  write('of no execution ' + none.length)
`)

test('a plug-in calls the routes of the bench with the scope of its entry, and the audit trail names it', async (t) => {
  const service = await openPlugged(t, {
    reader: { code: asks },
    operator: { code: asks, scope: 'operate' },
    inside: { code: asks, scope: 'operate', in_process: true },
  })
  for (const name of ['reader', 'operator', 'inside']) await service.until(name, isRunning)
  const isRefused = 'this needs a key of scope operate; the key "plug-in reader" has read'
  t.match(service.lines('reader'), [
    'GET /api/devices 200 ',
    `POST /api/devices/shaker-1/initialize 403 ${isRefused}`,
    /^POST \/api\/keys 403 /,
    /^GET \/events\/stream 400 .*register a sink/,
    /^GET \/\/elsewhere\/api 400 /,
    /^PATCH \/api\/devices 405 /,
    /^events /,
    'of no execution 0',
  ])
  for (const name of ['operator', 'inside']) t.match(service.lines(name)[1], /^POST \/api\/devices\/shaker-1\/initialize (200|409) /)
  t.match(service.lines('operator')[2], /^POST \/api\/keys 403 /)
  const { entries } = (await service.ask('GET', '/api/system/audit?text=shaker')).body as { entries: object[] }
  t.match(
    entries.filter((entry) => (entry as { key_id: string }).key_id === 'plugin:operator'),
    [{ name: 'plug-in operator', scope: 'operate' }],
  )
  t.match((await service.ask('GET', '/api/system/audit?who=reader')).body, { entries: [{ key_id: 'plugin:reader', status: 403 }] })
})

/** The ways in which a plug-in fails in its own process, with the words by which the service names each failure. */
const abuses: Readonly<Record<string, { code: string; says: RegExp; answer_s?: number }>> = {
  throws: { code: `setTimeout(() => { throw new Error('broken') }, 10)`, says: /it threw: broken \(.*throws\.js:\d+:\d+\)/ },
  rejects: { code: `setTimeout(() => void Promise.reject(new Error('refused')), 10)`, says: /it threw: refused/ },
  exits: { code: `setTimeout(() => process.exit(3), 10)`, says: /ended with exit status 3/ },
  aborts: { code: `setTimeout(() => process.abort(), 10)`, says: /ended by SIGABRT/ },
  loops: { code: `setTimeout(() => { for (;;); }, 10)`, says: /did not answer within 1 s/, answer_s: 1 },
  takes_buffers: {
    code: `const all = []; setInterval(() => { while (all.length < 64) all.push(Buffer.alloc(16 << 20, 1)) }, 10)`,
    says: /memory|allocation/i,
  },
  takes_heap: {
    code: `const all = []; setInterval(() => { for (let i = 0; i < 1e6; i++) all.push({ i }) }, 10)`,
    says: /out of memory.*128 MiB/,
  },
  floods: {
    code: `setTimeout(() => { for (;;) bench.log('x'.repeat(1000)) }, 10)`,
    says: /did not answer within 1 s|128 MiB/,
    answer_s: 1,
  },
  asks_much: {
    code: `for (let i = 0; i < 1500; i++) void bench.request('GET', '/api/devices')`,
    says: /more than 1000 of its requests wait/,
  },
}

test('a plug-in that fails in its process is named and started again, and disturbs nothing else', async (t) => {
  const bad = Object.entries(abuses).map(([name, { code, answer_s = 30 }]) => [name, { code: pluginCode(code), answer_s }])
  const service = await openPlugged(t, { good: { code: writesEvents }, ...Object.fromEntries(bad) })
  await service.until('good', isRunning)
  for (const [name, { says }] of Object.entries(abuses)) {
    const { last_error, restarts } = await service.until(name, ({ restarts, last_error }) => restarts > 0 && last_error !== null)
    t.match(last_error, says, name)
    t.ok(restarts > 0)
    t.ok(
      service.warned.some((line) => line.startsWith(`the plug-in ${name} has ended: `) && says.test(line)),
      `the log names ${name}`,
    )
  }
  for (let i = 0; i < 100; i++) service.bench.hub.emit(`TEST.${i}.DONE`, {})
  await service.until('good', ({ events_waiting }) => events_waiting === 0)
  t.equal(service.lines('good').filter((line) => line.startsWith('TEST.')).length, 100)
  const { last_error, ...good } = await service.until('good', isRunning)
  t.match(good, { restarts: 0, events_dropped: 0 })
  // A process that a busy computer did not run for a while has held its sink up.
  t.match(last_error ?? '', /^$|held everything up/)
})

test('a plug-in that is slow loses the oldest events, and is told how many', async (t) => {
  const slow = writesEvents.replace(
    'write(event_name)',
    `{ write(event_name); if (event_name === 'TEST.0.DONE') { const end = Date.now() + 1000; while (Date.now() < end); } }`,
  )
  const service = await openPlugged(t, { slow: { code: slow, queue: 10 } })
  await service.until('slow', isRunning)
  service.bench.hub.emit('TEST.0.DONE', {})
  while (!service.lines('slow').includes('TEST.0.DONE')) await new Promise((resolve) => setTimeout(resolve, 10))
  for (let i = 1; i <= 50; i++) service.bench.hub.emit(`TEST.${i}.DONE`, {})
  const { events_dropped } = await service.until('slow', ({ events_waiting }) => events_waiting === 0)
  t.equal(events_dropped, 40)
  const lines = service.lines('slow')
  t.same(lines.slice(lines.indexOf('dropped 40')), ['dropped 40', ...Array.from({ length: 10 }, (_, i) => `TEST.${i + 41}.DONE`)])
})

test('an error that a plug-in throws at each event is an incident, and it goes on; the acknowledgement does not end it', async (t) => {
  const code = pluginCode(
    `bench.register_sink({ on_event({ event_name, entity_type }) { if (entity_type !== 'TEST') return; write(event_name); throw new TypeError('no ' + event_name) } })`,
  )
  const service = await openPlugged(t, { far: { code }, near: { code, in_process: true }, other: { code: writesEvents, in_process: true } })
  for (const name of ['far', 'near', 'other']) await service.until(name, isRunning)
  const incidents = () => service.bench.hub.incidents.list().filter(({ category }) => category === 'PLUGIN_HANDLER_EXCEPTION')
  for (let i = 0; i < 5; i++) service.bench.hub.emit(`TEST.${i}.DONE`, {})
  await service.until('far', ({ events_handled }) => events_handled >= 5)
  while (incidents().length < 2) await new Promise((resolve) => setTimeout(resolve, 10))
  t.match(
    incidents()
      .map(({ message }) => message)
      .sort(),
    [/^the sink plug-in far failed three times in a row: no TEST/, /^the sink plug-in near failed/],
  )
  t.match(incidents()[0], { severity: 'WARNING', recovery_action: 'PLUGIN_DISABLE', detail: { exception_type: 'TypeError' } })
  for (const { incident_id } of incidents()) await service.ask('POST', `/api/incidents/${incident_id}/acknowledge`)
  service.bench.hub.emit('TEST.5.DONE', {})
  while (service.lines('far').filter((line) => line.startsWith('TEST.')).length < 6) await new Promise((resolve) => setTimeout(resolve, 10))
  for (const name of ['far', 'near']) t.equal(service.lines(name).filter((line) => line.startsWith('TEST.')).length, 6, name)
  t.equal(service.lines('other').filter((line) => line.startsWith('TEST.')).length, 6)
  t.match(await service.until('far', isRunning), { last_error: /no TEST/, restarts: 0 })
})

test('a plug-in that cannot be loaded is named with the reason, and the service goes on', async (t) => {
  const service = await openPlugged(t, {
    empty: { code: 'export const x = 1', in_process: true },
    wrong: { code: 'export default { name: 1 }', in_process: true },
    broken: { code: 'export default {', in_process: true },
    throws: { code: pluginCode(`throw new Error('no lamp')`), in_process: true },
    sink: { code: pluginCode('bench.registerSink({})'), in_process: true },
  })
  const reasons: Record<string, RegExp> = {
    empty: /has no default export; write: export default plugin/,
    wrong: /has no name/,
    broken: /broken\.js cannot be loaded: Unexpected/,
    throws: /it cannot be started: no lamp/,
    sink: /a sink must be an object with a method onEvent/,
  }
  for (const [name, reason] of Object.entries(reasons)) {
    await t.rejects(service.until(name, isRunning), { message: reason }, name)
    t.ok(
      service.bench.hub.incidents
        .list()
        .some(
          ({ category, message }) => category === 'PLUGIN_HANDLER_EXCEPTION' && message.startsWith(`the plug-in ${name} is given up: `),
        ),
    )
  }
  t.equal((await service.ask('GET', '/health')).status, 200)
  t.equal((await service.ask('POST', '/api/plugins/throws/restart')).status, 200)
  t.match(await service.ask('POST', '/api/plugins/nobody/restart'), { status: 404, body: { detail: /no plug-in nobody/ } })
  t.match(await service.ask('POST', '/api/plugins/throws/restart', { key: 'operate' }), { status: 403 })
})
