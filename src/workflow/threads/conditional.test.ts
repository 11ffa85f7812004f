// Steps by saved values, rounds, delays and temperatures.

import { test } from 'tap'
import { byHand, oneArm, workflowOf } from '../../testing/documents.ts'
import { begin, Kept, run, takeUp, testRuntime, threadIn, until } from '../../testing/workflow.ts'
import { PureEquipment } from '../equipment/pure_equipment.ts'
import type { Execution } from '../runs/execution.ts'
import { checkpointOf } from '../state/run.ts'
import type { LabwareThread } from './thread.ts'

const pads = ['pad_1', 'pad_2', 'pad_3']
const bench = oneArm({
  ...{ pads, nests: { nest: 'reader', warm: 'heater' } },
  operations: { reader: { read: 10 }, heater: { mix: 60, get_temperature: 0 } },
})
const read = { do: 'read', on: 'reader', save: { od: 'absorbance' } }
const mix = { do: 'mix', on: 'heater' }
const values = { od: { example: 0.7 } }
const plate = { ...byHand('pad_1'), end: { at: pads } }
const work = (steps: object[], more: object = {}) => workflowOf('work', { plate: { ...plate, steps } }, { values, ...more })

/** A runtime whose reader returns these results, one after the other, then none. */
function measuring(document: object, results: unknown[], options: Parameters<typeof testRuntime>[1] = {}) {
  const ended: string[] = []
  const tested = testRuntime([bench, document], {
    ...options,
    simulate: (_, clock) => {
      const equipment = new PureEquipment({ clock, transporters: {} })
      const perform = equipment.perform.bind(equipment)
      equipment.perform = async (device, operation, ...rest) => {
        const result = await perform(device, operation, ...rest)
        ended.push(operation)
        if (operation !== 'read' || results.length === 0) return result
        const next = results.shift()
        return next instanceof Error ? Promise.reject(next) : { success: true, message: '', data: next }
      }
      return equipment
    },
  })
  return { ...tested, ended }
}
const done = (execution: Execution) => execution.timeline.rows().flatMap(({ kind, name }) => (kind === 'action' ? [name] : []))

test('a saved value decides which steps are done; without a measurement the example stands for it', async (t) => {
  const document = work([
    { action: read },
    { if: { value: 'od', above: 0.5 }, then: [{ action: mix }], else: [{ action: { emit: 'low' } }] },
    { action: { emit: 'end' } },
  ])
  for (const [results, expected] of [
    [[{ absorbance: 0.9 }], ['read', 'mix', 'emit']],
    [[{ absorbance: 0.1 }], ['read', 'emit', 'emit']],
    [[], ['read', 'mix', 'emit']],
    [[{ other: 1 }], ['read', 'mix', 'emit']],
  ] as const) {
    const { runtime } = measuring(document, [...results])
    const execution = await run(runtime, { workflow: 'work' })
    t.equal(execution.phase.current, 'completed')
    t.same(done(execution), expected)
  }
})

test('members inside the result are found by their path, and a list cannot be saved', async (t) => {
  const nested = { ...read, save: { od: 'wells.A1', second: 'all.1' } }
  const document = work([{ action: nested }], { values: { ...values, second: { example: 'x' } } })
  const { runtime } = measuring(document, [{ wells: { A1: 0.3 }, all: [1, 'two'] }])
  const execution = await run(runtime, { workflow: 'work' })
  t.same(
    execution.values.all().map(({ name, value }) => [name, value]),
    [
      ['od', 0.3],
      ['second', 'two'],
    ],
  )
  const broken = measuring(work([{ action: read }]), [{ absorbance: [1, 2] }])
  const held = await begin(broken.runtime, { workflow: 'work' })
  const thread = await threadIn(held, 'plate', 'PAUSED')
  t.match(
    thread.last_error,
    /the value od cannot be saved: absorbance of the result is neither a number nor a text of at most 1000 characters; see what the device measures/,
  )
  thread.control.recover('ABORT_THREAD')
  await broken.runtime.over(held)
})

test('a member with a unit is saved by its name, as the record of the run names it', async (t) => {
  const { runtime } = measuring(work([{ action: read }]), [{ absorbance: { value: 0.3, unit: 'AU' } }])
  const execution = await run(runtime, { workflow: 'work' })
  t.match(execution.values.all(), [{ name: 'od', value: 0.3 }])
})

test('a text that is too long is not saved, because the state of the run could not be read again', async (t) => {
  const { runtime } = measuring(work([{ action: read }], { values: { od: { example: 'x' } } }), [{ absorbance: 'x'.repeat(1001) }])
  const execution = await begin(runtime, { workflow: 'work' })
  const thread = await threadIn(execution, 'plate', 'PAUSED')
  t.match(thread.last_error, /absorbance of the result is neither a number nor a text of at most 1000 characters/)
  t.same(execution.values.all(), [])
  thread.control.recover('ABORT_THREAD')
  await runtime.over(execution)
})

test('a repeat that was skipped begins anew in the next round of the repeat around it', async (t) => {
  const inner = { name: 'inner', repeat: { until: { value: 'od', above: 0.5 }, at_most: 3 }, steps: [{ action: read }] }
  const document = work([{ repeat: { times: 2 }, steps: [inner, { action: mix }] }])
  const { runtime, ended } = measuring(document, [new Error('lamp broken'), { absorbance: 0.1 }, { absorbance: 0.9 }])
  const execution = await begin(runtime, { workflow: 'work' })
  const thread = await threadIn(execution, 'plate', 'PAUSED')
  thread.control.recover('CONTINUE')
  await until(() => /the value od was not saved/.test(thread.last_error ?? ''), 'held at the condition')
  execution.skip('plate/inner')
  thread.control.recover('RETRY')
  await runtime.over(execution)
  t.same(ended, ['read', 'mix', 'read', 'read', 'mix'])
})

test('each group has values of its own', async (t) => {
  const document = work([
    { action: read },
    { if: { value: 'od', above: 0.5 }, then: [{ action: { emit: 'high' } }], else: [{ action: { emit: 'low' } }] },
  ])
  const { runtime, told } = measuring(document, [{ absorbance: 0.9 }, { absorbance: 0.1 }, { absorbance: 0.8 }])
  const groups = pads.map((location, i) => ({ group_id: `g${i + 1}`, members: { plate: { location } } }))
  const execution = await run(runtime, { workflow: 'work', groups })
  const saved = new Map(execution.values.all().map(({ group_id, value }) => [group_id, value]))
  t.equal(saved.size, 3)
  const events = told
    .filter(({ entity_type }) => entity_type === 'CUSTOM')
    .map(({ context }) => `${context.group_id} ${context.event_name}`)
  t.same(events.sort(), [...saved].map(([group, value]) => `${group} ${(value as number) > 0.5 ? 'high' : 'low'}`).sort())
})

test('steps are repeated so many times, or until a condition holds after a round, at most so many times', async (t) => {
  const times = await run(
    measuring(work([{ repeat: { times: 3 }, steps: [{ action: mix }, { action: { emit: 'round' } }] }]), []).runtime,
    { workflow: 'work' },
  )
  t.same(done(times), ['mix', 'emit', 'mix', 'emit', 'mix', 'emit'])
  const until_high = { repeat: { until: { value: 'od', at_least: 0.5 }, at_most: 4 }, steps: [{ action: read }] }
  for (const [results, rounds] of [
    [[0.1, 0.2, 0.5, 0.9], 3],
    [[0.6], 1],
    [[0.1, 0.1, 0.1, 0.1, 0.9], 4],
  ] as const) {
    const { runtime } = measuring(
      work([until_high]),
      results.map((absorbance) => ({ absorbance })),
    )
    const execution = await run(runtime, { workflow: 'work' })
    t.equal(done(execution).length, rounds)
    t.same(execution.live(), [])
  }
  const nested = { repeat: { times: 2 }, steps: [{ repeat: { times: 3 }, steps: [{ action: { emit: 'inner' } }] }, { action: mix }] }
  const inner = await run(measuring(work([nested]), []).runtime, { workflow: 'work' })
  t.same(done(inner).join(' '), 'emit emit emit mix emit emit emit mix')
  t.same([...inner.threads.values()][0]!.state.rounds, [])
})

test('a value that was not saved holds the thread at the condition', async (t) => {
  const document = work([
    { action: read },
    { name: 'check', if: { value: 'od', above: 0.5 }, then: [{ action: mix }] },
    { action: { emit: 'end' } },
  ])
  const { runtime } = measuring(document, [new Error('lamp broken')])
  const execution = await begin(runtime, { workflow: 'work' })
  const thread = await threadIn(execution, 'plate', 'PAUSED')
  thread.control.recover('CONTINUE')
  await until(() => /the value od was not saved: the action that measures it/.test(thread.last_error ?? ''), 'held at the condition')
  execution.skip('plate/check')
  thread.control.recover('RETRY')
  await runtime.over(execution)
  t.equal(execution.channels.count('end'), 1)
  t.same(done(execution).at(-1), 'emit')
})

test('a delay passes by the clock of the run, and can be skipped while it lasts', async (t) => {
  const document = work([{ name: 'rest', delay: 600 }, { action: mix }])
  const { runtime } = measuring(document, [])
  const execution = await run(runtime, { workflow: 'work' })
  const row = execution.timeline.rows().find(({ name }) => name === 'mix')
  t.ok(row!.started! >= 600, `mix began at ${row?.started} s`)
  t.equal([...execution.threads.values()][0]!.state.delay, null)
  const waiting = work([{ wait_for: 'go' }, { name: 'rest', delay: 600 }, { action: mix }])
  const other = measuring(waiting, [])
  const skipped = await begin(other.runtime, { workflow: 'work' })
  await threadIn(skipped, 'plate', 'AWAITING_EVENT')
  skipped.skip('plate/rest')
  skipped.events.emitCustom('go', { value: null, data: {} }, null)
  await other.runtime.over(skipped)
  t.ok(skipped.timeline.rows().find(({ name }) => name === 'mix')!.started! < 600)
})

test('until_temperature waits until the device has its target, and holds the thread when that takes too long', async (t) => {
  const step = (timeout: number) => ({ until_temperature: { device: 'heater', within: 0.5 }, timeout })
  const heating = (readings: { temperature: number; target: number | null }[]) => ({
    mode: 'DEVICE_SIM' as const,
    perform: async (_: string, operation: string) => (operation === 'get_temperature' ? (readings.shift() ?? readings.at(-1)) : undefined),
  })
  const { runtime } = measuring(work([{ wait_for: 'go' }, step(0), { wait_for: 'on' }, step(12)]), [])
  const execution = await begin(runtime, { workflow: 'work' })
  const thread = await threadIn(execution, 'plate', 'AWAITING_EVENT')
  const readings = [30, 36, 36.6].map((temperature) => ({ temperature, target: 37 }))
  const { mode, perform } = heating(readings)
  Object.assign(thread.environment, { mode })
  thread.environment.equipment.perform = perform
  execution.events.emitCustom('go', { value: null, data: {} }, null)
  await until(() => readings.length === 0 && /custom event on/.test(thread.control.waiting?.what ?? ''), 'it is warm')
  thread.environment.equipment.perform = async () => ({ temperature: 20, target: 37 })
  execution.events.emitCustom('on', { value: null, data: {} }, null)
  await threadIn(execution, 'plate', 'PAUSED')
  t.match(thread.last_error, /heater did not reach 37 °C within 12 s: it has 20 °C/)
  thread.environment.equipment.perform = async () => ({ temperature: 20, target: null })
  thread.control.recover('RETRY')
  await until(() => /heater has no target temperature; set one before/.test(thread.last_error ?? ''), 'no target')
  thread.environment.equipment.perform = async () => ({ temperature: 37.4, target: 37 })
  thread.control.recover('RETRY')
  await runtime.over(execution)
  t.equal(execution.phase.current, 'completed')
})

test('the timeout of until_temperature goes on over a restart', async (t) => {
  const step = { until_temperature: { device: 'heater', within: 0.5 }, timeout: 600 }
  const document = work([{ wait_for: 'go' }, step])
  const isCold = (thread: LabwareThread) => {
    Object.assign(thread.environment, { mode: 'DEVICE_SIM' })
    thread.environment.equipment.perform = async () => ({ temperature: 20, target: 37 })
  }
  const kept = new Kept()
  const { runtime } = measuring(document, [], { keep: () => kept })
  const execution = await begin(runtime, { workflow: 'work' })
  isCold(await threadIn(execution, 'plate', 'AWAITING_EVENT'))
  execution.events.emitCustom('go', { value: null, data: {} }, null)
  const thread = await threadIn(execution, 'plate', 'PAUSED')
  t.equal(thread.state.warming, null)
  const during = kept.all.find((keys) => checkpointOf(keys)!.threads.some(({ warming }) => warming !== null))!
  const { warming } = checkpointOf(during)!.threads[0]!
  t.equal(warming!.until, warming!.began + 600)
  for (const [passed, least, most] of [
    [0, 600, 606],
    [500, 100, 106],
    [1000, 0, 1],
  ] as const) {
    const { runtime } = measuring(document, [], { ids: 1_000_000, now: () => 2e9 })
    const checkpoint = checkpointOf(during)!
    checkpoint.threads[0]!.warming!.until = 2e9 + 600 - passed
    const restored = await takeUp(runtime, during, checkpoint)
    const again = restored.live()[0]!
    isCold(again)
    const from_ms = again.environment.clock.now()
    restored.resume()
    await until(() => again.status.current === 'PAUSED' && /did not reach/.test(again.last_error ?? ''), 'too late')
    const took = (again.environment.clock.now() - from_ms) / 1000
    t.match(again.last_error, /heater did not reach 37 °C within 600 s/)
    t.ok(took >= least && took <= most, `${took} s`)
  }
})

test('rounds, values and delays survive a restart at every cut', async (t) => {
  const document = work([
    { repeat: { times: 2 }, steps: [{ action: read }, { delay: 30 }] },
    { if: { value: 'od', above: 0.5 }, then: [{ action: mix }] },
  ])
  const kept = new Kept()
  const { runtime } = measuring(document, [{ absorbance: 0.1 }, { absorbance: 0.9 }], { keep: () => kept })
  t.same(done(await run(runtime, { workflow: 'work' })), ['read', 'read', 'mix'])
  let cuts = 0
  for (const keys of kept.all) {
    const saved = checkpointOf(keys)!
    if (saved.execution.status === 'completed') continue
    cuts++
    const before = saved.values.length > 0 ? saved.values[0]!.value : undefined
    const { runtime, ended } = measuring(document, [{ absorbance: 0.9 }, { absorbance: 0.9 }], { ids: 1_000_000 })
    const restored = await takeUp(runtime, keys, saved)
    await until(() => restored.live().every(({ status, isOver }) => isOver || status.current === 'PAUSED'))
    t.equal(restored.values.all()[0]?.value, before)
    restored.resume()
    await runtime.over(restored)
    t.equal(restored.phase.current, 'completed')
    t.ok(ended.filter((operation) => operation === 'read').length <= 2, ended.join(' '))
    if (ended.includes('read')) t.ok(ended.includes('mix'), 'the last value decides')
  }
  t.ok(cuts > 10, `${cuts} cuts`)
})
