// Without motion allowed no sequence of tool calls moves anything, and with it none that no person has confirmed.

import fc from 'fast-check'
import { type Test, test } from 'tap'
import type { AuditEntry } from '../keys/audit_entry.ts'
import { openTestBench, type TestedBench } from '../testing/http.ts'
import { asking, called, inProcess, testedCatalog } from '../testing/mcp.ts'
import { trials } from '../testing/trials.ts'
import type { Request } from './bench_link.ts'

const calls = trials(10_000, 3000)

const tools = testedCatalog()
const names = fc.constantFrom(...tools.keys(), 'confirm', 'jog', 'go_to', 'perform', 'performOperation', '__proto__', '../stop')
const words = fc.constantFrom(
  ...['shaker-1', 'arm-1', 'sealer-1', 'centrifuge-1', 'robot-1', '*', '..', '.', '%2e%2e', 'shaker-1/shake?', 'pad_1', 'seal-and-spin'],
  ...['shake', 'initialize', 'seal', 'jog', 'go_to', 'free_drive', 'open', 'LIVE', 'PURE_SIM', 'RETRY', 'CONTINUE', 'done', 'constructor'],
  ...['X-API-Key', 'a\r\nX-Override: true', '💥\u202e', '00000000-0000-4000-8000-000000000000'],
)
const value = fc.oneof(
  words,
  fc.integer({ min: -1, max: 1000 }),
  fc.boolean(),
  fc.constant(null),
  fc.record({ speed: fc.integer({ min: 200, max: 1000 }), duration: fc.integer({ min: 1, max: 9 }) }),
  fc.jsonValue({ maxDepth: 2 }),
)
const hostile = fc.constantFrom('confirmation_id', 'code', 'confirm', 'confirmed', 'X-Override', 'override', '__proto__', 'path', 'method')
/** The parameters of a tool, each with some value, and in every fourth call one that it does not have. */
const argumentsOf = (name: string) => {
  const own = Object.fromEntries([...(tools.get(name)?.places.keys() ?? [])].map((its) => [its, value]))
  const some = fc.record(own, { requiredKeys: Object.keys(own).filter((its) => /_id$|_name$|^barcode$/.test(its)) })
  const more = fc.oneof({ weight: 3, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: fc.dictionary(hostile, value, { maxKeys: 1 }) })
  return fc.tuple(some, more).map(([its, others]) => ({ ...its, ...others }))
}
/** Calls as a confused model and a hostile one make them; many are what a bench would carry out. */
const call = fc.oneof(
  { weight: 3, arbitrary: names.chain((name) => fc.tuple(fc.constant(name), argumentsOf(name))) },
  {
    weight: 1,
    arbitrary: fc.tuple(
      fc.constantFrom('operate', 'submit', 'add_to_queue', 'dry_run', 'resume_queue', 'clear_fault'),
      fc.constantFrom(
        { device_id: 'shaker-1', operation: 'initialize', params: {} },
        { device_id: 'shaker-1', operation: 'shake', params: { speed: 500, duration: 5 }, confirmed: true },
        { device_id: 'shaker-1', operation: 'shake', params: { speed: 500, duration: 5 } },
        { device_id: 'shaker-1' },
        { workflow: 'seal-and-spin', run_mode: 'LIVE' },
        { submission: { workflow: 'seal-and-spin', run_mode: 'LIVE' } },
        {},
      ),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(
      fc.constant('confirm'),
      fc.record({ confirmation_id: fc.constantFrom('newest', '..', ''), code: fc.constantFrom('AAA-AAA', '', 'K7M-2QX') }),
    ),
  },
)

const harmless = /^POST \/api\/(stop|devices\/[^/]+\/stop|simulations|workflows\/[^/]+\/samples|confirmations(\/[^/]+\/check)?)$/
const pause = /^POST \/api\/(executions|threads)\/[^/]+\/pause$|^POST \/api\/queue\/pause$/

/** Makes random calls on a bench that could carry them out. Returns the number of calls for which a person was asked. */
async function bombarded(t: Test, { bench, ask, clock }: TestedBench, allow_motion: boolean, times = calls): Promise<number> {
  const sent = new Set<string>()
  const askBench = asking(ask, 'admin')
  const askWith = () => (request: Request) => {
    sent.add(`${request.method} ${request.path}`)
    return askBench(request)
  }
  const client = await inProcess(t, { scope: 'admin', allow_motion, askWith })
  await ask('POST', '/api/devices/shaker-1/initialize')
  const before = JSON.stringify(bench.ledger.counts)
  let [asked, newest] = [0, '']
  for (const [name, args] of fc.sample(call, times)) {
    const its = 'confirmation_id' in args && args.confirmation_id === 'newest' ? { ...args, confirmation_id: newest } : args
    const answer = await called(client, name, its).catch(() => undefined)
    const id = answer?.body.needs_confirmation?.confirmation_id
    if (id === undefined) continue
    asked++
    newest = id
    await clock.advance(10_000)
  }
  // Stops latch the devices, so that the bench alone would refuse motion: no request for one may even be sent.
  const others = [...sent].filter((one) => !one.startsWith('GET ') && !harmless.test(one))
  t.same(allow_motion ? others.filter((one) => !pause.test(one)) : others, [])
  t.ok(sent.size > 50, `${sent.size} different requests`)
  t.equal(JSON.stringify(bench.ledger.counts), before, 'no operation has begun')
  t.same(bench.runs.runtime.records.executions(), [], 'no run has begun')
  return asked
}

test(`${calls} random calls move nothing while no motion is allowed`, async (t) => {
  t.equal(await bombarded(t, await openTestBench(t), false), 0)
})

test('random calls move nothing while no person confirms one', async (t) => {
  const asked = await bombarded(t, await openTestBench(t), true, calls / 5)
  t.ok(asked > calls / 250, `${asked} calls wanted to move something`)
})

test('each call that a person confirms is in the audit trail with its client and a confirmation of its own', async (t) => {
  const { bench, ask, clock } = await openTestBench(t)
  const accept = () => ({ action: 'accept', content: { confirm: true } }) as const
  const client = await inProcess(t, { scope: 'operate', allow_motion: true, askWith: () => asking(ask, 'operate') }, accept)
  const initialize = ['operate', { device_id: 'shaker-1', operation: 'initialize', params: {} }] as const
  for (const [i, random] of fc.sample(call, calls / 50).entries()) {
    const [name, args] = i % 5 ? random : initialize
    if (name.startsWith('stop')) continue
    await called(client, name, args).catch(() => undefined)
    await clock.advance(60_000)
  }
  const { entries } = (await ask('GET', '/api/system/audit?limit=1000&outcome=done')).body as { entries: AuditEntry[] }
  const changes = entries.filter(({ what, key_id }) => what.startsWith('POST ') && key_id !== 'service')
  const moving = changes.filter(({ what }) => !harmless.test(what) && !pause.test(what))
  t.same(
    moving.filter(({ client, confirmation }) => client !== 'test-client 1.2' || !/^form [0-9a-f-]{36}$/.test(confirmation ?? '')),
    [],
  )
  t.equal(new Set(moving.map(({ confirmation }) => confirmation)).size, moving.length)
  const begun = moving.filter(({ operation_id }) => operation_id !== null)
  t.ok(begun.length >= calls / 300, `${begun.length} operations`)
  const counted = bench.ledger.counts.reduce((sum, { times }) => sum + times, 0)
  t.equal(counted, begun.length, 'no operation is without a line')
})
