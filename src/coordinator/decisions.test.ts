// Decisions of people, and what a journey gives back: each against a bench that is a table of answers.

import { test } from 'tap'
import { type FakeBench, fakeBench } from '../testing/fake_bench.ts'
import { carryOut, isAtRest, look, possible } from './decisions.ts'
import type { JourneyContext } from './phases.ts'
import type { PlannedLeg } from './plan.ts'
import { type BenchRun, begun, type Holder, type JourneyState, newRun, type Phase } from './state.ts'
import type { Decision } from './store.ts'
import { withdraw } from './withdrawing.ts'

const leg = (bench: string, more: Partial<PlannedLeg> = {}): PlannedLeg => ({
  ...{ bench, workflow: 'work', thread: 'plate', start: 'in', is_placed: true, variables: {} },
  ...{ out: null, carried: null, room: null, ...more },
})
const legs = [
  leg('prep', { out: { position: 'out', workflow: 'lab-out-1', back: 'lab-back-1' }, room: 3 }),
  leg('read', { carried: { by: 'anyone', from: 'out', to: 'in', seconds: 1, max_wait: 1 } }),
]
const run = (bench: string, more: Partial<BenchRun> = {}): BenchRun => ({
  ...newRun(bench, 'e1'),
  execution_id: 'run-1',
  thread_id: 'thread-1',
  ...more,
})

/** A journey between its two legs. */
const between = (phase: Phase, more: Partial<JourneyState> = {}): JourneyState => ({
  ...begun(legs),
  ...{ number: 7, phase, leg: 1, at: { bench: 'prep', position: 'pad_2' }, run: run('read'), ...more },
})
const decision = (verb: Decision['verb'], more: Partial<Decision> = {}): Decision => ({ number: 1, step: 7, verb, by: 'ann', ...more })

function surroundings({ bench }: FakeBench) {
  const holders: Holder[] = []
  const released: string[] = []
  const its: JourneyContext = {
    bench: () => bench,
    custody: {
      async give({ holder }) {
        holders.push(holder)
      },
    },
    admit: async () => undefined,
    claim: async () => undefined,
    async release({ journey_id }) {
      released.push(journey_id)
    },
    withdraw: (_, run) => withdraw(bench, run),
  }
  return { its, holders, released }
}

const threads = (...all: object[]) => ({
  threads: all.map((one) => ({
    thread_id: 'thread-1',
    status: 'AWAITING_MANUAL_PLACE',
    position: null,
    held_by: null,
    group_id: 'journey',
    template_name: 'plate',
    pause_reason: null,
    last_error: null,
    ...one,
  })),
  reason: null,
  paused: null,
})
const trip = (state: JourneyState) => ({ journey_id: 'j', labware: 'P-1', state })
const stopped = 'POST /api/threads/thread-1/stop {}'

test('the end of a journey gives back the position that a bench keeps for it, whatever the bench does with the thread meanwhile', async (t) => {
  const bench = await fakeBench(t, { 'POST /api/threads/thread-1/stop': { success: true } })
  const { its, released, holders } = surroundings(bench)
  for (const status of ['AWAITING_MANUAL_PLACE', 'PAUSED', 'CREATED']) {
    bench.answers['GET /api/executions/run-1'] = threads({ status })
    bench.asked.length = 0
    const state = await carryOut(trip(between('grant')), its, decision('end'))
    t.match(state, { phase: 'over', outcome: 'ended', decided: 1 })
    t.same(bench.asked, [stopped], status)
  }
  t.same(released, ['j', 'j', 'j'])
  t.same(holders, [], 'the labware stays with who has it')
})

test('a run that has its labware goes on when its journey ends, and one that is over is left alone', async (t) => {
  const bench = await fakeBench(t)
  const { its } = surroundings(bench)
  for (const thread of [{ status: 'PAUSED', position: 'in' }, { status: 'MOVING', held_by: 'arm-1' }, { status: 'COMPLETED' }]) {
    bench.answers['GET /api/executions/run-1'] = threads(thread)
    await carryOut(trip(between('work')), its, decision('end'))
    t.same(bench.asked, [])
  }
})

test('an order that the bench has not seen yet is withdrawn, and one that comes at that moment is ended', async (t) => {
  const bench = await fakeBench(t, { 'POST /api/threads/thread-1/stop': { success: true }, 'GET /api/executions/run-1': threads({}) })
  const { its } = surroundings(bench)
  const ordered = run('read', { execution_id: null, thread_id: null })
  const path = `/api/submissions/${ordered.submission_id}`
  bench.answers[`DELETE ${path}`] = { success: true }
  await carryOut(trip(between('order', { run: ordered })), its, decision('end'))
  t.same(bench.asked, [`DELETE ${path}`])

  bench.asked.length = 0
  bench.answers[`DELETE ${path}`] = (response) => {
    bench.answers[`GET ${path}`] = { execution_id: 'run-1' }
    response.writeHead(409).end('{"detail":"it has begun"}')
  }
  await carryOut(trip(between('order', { run: ordered })), its, decision('end'))
  t.same(bench.asked, [`DELETE ${path}`, stopped])
})

test('a step that is done again gives back what the old run keeps; before the grant also the positions of the hand-over', async (t) => {
  const bench = await fakeBench(t, { 'POST /api/threads/thread-1/stop': { success: true }, 'GET /api/executions/run-1': threads({}) })
  const { its, released } = surroundings(bench)
  const stands = (phase: Phase, more: Partial<JourneyState> = {}) => between('person', { problem: { what: 'x', phase }, ...more })
  t.match(await carryOut(trip(stands('bring', { is_carried: true })), its, decision('retry')), {
    phase: 'prepare',
    run: null,
    problem: null,
  })
  t.same(bench.asked, [stopped])
  t.same(released, [], 'the carrier still brings it there')
  bench.asked.length = 0
  t.match(await carryOut(trip(stands('grant')), its, decision('retry')), { phase: 'claim', run: null, problem: null })
  t.same([bench.asked, released], [[stopped], ['j']])
  bench.asked.length = 0
  t.match(await carryOut(trip(stands('take', { release: run('prep') })), its, decision('retry')), { phase: 'back' })
  t.same(bench.asked, [stopped], 'of the run of the move')
})

test('labware at rest on the bench before is not said to be done with at the next one', (t) => {
  const state = between('person', { problem: { what: 'x', phase: 'order' } })
  t.ok(isAtRest(state))
  t.same(possible(state), ['retry', 'lost', 'end'])
  t.notOk(isAtRest({ ...state, is_carried: true }))
  t.end()
})

test('what has happened at a bench counts for more than a decision that was made before it was seen', async (t) => {
  const bench = await fakeBench(t, { 'GET /api/executions/run-1': threads({ status: 'AWAITING_MANUAL_REMOVE', position: 'out' }) })
  const { its, holders } = surroundings(bench)
  const taking = trip(between('take', { release: run('prep') }))
  t.match(await look(taking, its, decision('lost')), { phase: 'over', outcome: 'lost', decided: 1 }, 'nothing has happened')
  bench.answers['GET /api/executions/run-1'] = threads({ status: 'COMPLETED' })
  t.match(await look(taking, its, decision('lost')), { phase: 'bring', is_carried: true, decided: 0 })
  t.match(holders.at(-1), { carrier: 'anyone' })
  bench.answers['GET /api/executions/run-1'] = 503
  bench.answers['POST /api/threads/thread-1/stop'] = 503
  t.match(
    await look(taking, { ...its, withdraw: async () => {} }, decision('lost')),
    { phase: 'over' },
    'a bench that is away tells nothing',
  )
})

test('a decision about an earlier state is dropped and told, but for the end; one about a later state waits for it', async (t) => {
  const stop = { 'POST /api/threads/thread-1/stop': { success: true } }
  const bench = await fakeBench(t, { 'GET /api/executions/run-1': threads({ status: 'MOVING' }), ...stop })
  const { its } = surroundings(bench)
  const working = trip(between('work'))
  t.match(await look(working, its, decision('lost', { step: 6 })), { phase: 'work', decided: 1, overtaken: /lost of ann came too late/ })
  t.match(await look(working, its, decision('end', { step: 6 })), { phase: 'over', outcome: 'ended' })
  t.match(await look(working, its, decision('end', { step: 8 })), { waiting: 'read runs work' })
  t.match(await look(trip({ ...working.state, decided: 1 }), its, decision('end')), { waiting: 'read runs work' }, 'once')
})
