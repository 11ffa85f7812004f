// The operations that a run does once, before its threads begin and after they have ended.

import { test } from 'tap'
import { LabError } from '../../errors.ts'
import { byHand, oneArm, standing, workflowOf } from '../../testing/documents.ts'
import { begin, instantBench, Kept, liveRuntime, run, takeUp, testRuntime, threadIn, until } from '../../testing/workflow.ts'
import type { InjectedFault } from '../equipment/pure_equipment.ts'
import { compileLibrary } from '../plans/library.ts'
import { checkpointOf } from '../state/run.ts'
import type { Execution } from './execution.ts'
import { why } from './explanation.ts'

const operations = { chiller: { cool: 60, off: 5 }, sealer: { warm: 30, off: 5, press: 10 }, sealer_2: { warm: 30, off: 5 } }
const topology = oneArm({
  ...{ pads: ['pad_1', 'pad_2'], nests: ['chiller', 'sealer', 'sealer_2'] },
  ...{ operations, pools: { sealers: ['sealer', 'sealer_2'] } },
})
const press = { do: 'press', on: 'sealer' }

const framed = (more: object = {}, action: object = press) =>
  workflowOf(
    'framed',
    { plate: { ...standing('pad_1'), end: { at: ['pad_1', 'pad_2'], mode: 'LEAVE_IN_PLACE' }, steps: [{ action }] } },
    {
      before: [
        { do: 'cool', on: 'chiller' },
        { do: 'warm', on: 'sealer' },
      ],
      after: [
        { do: 'off', on: 'chiller' },
        { do: 'off', on: 'sealers' },
      ],
      ...more,
    },
  )
const failing = { ...press, on_failure: 'ABORT' }
const fail = (operation: string, call = 1): InjectedFault => ({ operation, call, does: 'fail' })

/** Lists what was done in words, with the second in which it began. */
function done(execution: Execution): string[] {
  const rows = execution.timeline.rows().filter(({ kind }) => kind === 'action')
  return rows.map(({ thread_name, name, device, started, status }) => `${thread_name} ${name} ${device} ${status} ${started}`)
}

function left({ operations }: Execution): string[] {
  return operations.notDone.map(({ part, operation, on, reason }) => `${part} ${operation} ${on}: ${reason}`)
}

test('the operations come once, before the first thread begins and after the last has ended', async (t) => {
  const { runtime } = testRuntime([topology, framed()])
  const execution = await run(runtime, { workflow: 'framed' })
  t.equal(execution.phase.current, 'completed')
  t.same(done(execution), [
    'before cool chiller COMPLETED 0',
    'before warm sealer COMPLETED 60',
    'plate press sealer COMPLETED 102',
    'after off chiller COMPLETED 124',
    'after off-2 sealer COMPLETED 129',
  ])
  const first = execution.timeline.rows().find(({ kind }) => kind === 'move')
  t.equal(first?.started, 90, 'nothing moves before')
  t.same(left(execution), [])
})

test('meanwhile the threads wait for them, the run says so, and the operations are no labware', async (t) => {
  const { runtime } = testRuntime([topology, framed()], { faults: [fail('warm')] })
  const groups = ['pad_1', 'pad_2'].map((location) => ({ group_id: location, members: { plate: { location } } }))
  const execution = await begin(runtime, { workflow: 'framed', groups })
  const before = await threadIn(execution, 'before', 'PAUSED')
  const plate = await threadIn(execution, 'plate', 'CREATED')
  const reasons = Object.fromEntries(why(execution).map(({ thread_name, waits_for }) => [thread_name, waits_for]))
  t.match(reasons, { before: /warm/, plate: 'the operations of "before" to end', 'plate-2': 'the operations of "before" to end' })
  t.equal(plate.control.waiting?.what, 'the operations of "before" to end')
  t.notOk(runtime.labware().some(({ thread }) => thread === before))
  before.control.recover('RETRY_OP')
  await runtime.over(execution)
  t.equal(execution.phase.current, 'completed')
  t.equal(done(execution).filter((row) => row.startsWith('before')).length, 2)
})

test('groups that join an open run find the operations done, and those of the end come once', async (t) => {
  const { runtime } = testRuntime([topology, framed()], { faults: [fail('press')] })
  const join = (group_id: string) => ({ workflow: 'framed', batch_mode: 'JOIN_EXISTING' as const, groups: [{ group_id, members: {} }] })
  const execution = await begin(runtime, join('one'))
  const plate = await threadIn(execution, 'plate', 'PAUSED')
  t.equal(await begin(runtime, { ...join('two'), groups: [{ group_id: 'two', members: { plate: { location: 'pad_2' } } }] }), execution)
  plate.control.recover('RETRY_OP')
  await runtime.over(execution)
  t.equal(execution.submissions.length, 2)
  t.same(
    done(execution)
      .filter((row) => !row.startsWith('plate'))
      .map((row) => row.split(' ').slice(0, 2).join(' ')),
    ['before cool', 'before warm', 'after off', 'after off-2'],
  )
})

test('the run whose operations before it are ended ends with them, and does those after it', async (t) => {
  const { runtime } = testRuntime([topology, framed()], { faults: [fail('warm')] })
  const execution = await begin(runtime, { workflow: 'framed' })
  const before = await threadIn(execution, 'before', 'PAUSED')
  before.control.recover('ABORT_THREAD')
  await runtime.over(execution)
  t.equal(execution.phase.current, 'aborted')
  t.same(
    done(execution).map((row) => row.split(' ').slice(0, 4).join(' ')),
    ['before cool chiller COMPLETED', 'before warm sealer ABORTED', 'after off chiller COMPLETED', 'after off-2 sealer COMPLETED'],
  )
  t.match(left(execution), [/^before warm sealer: /])
})

test('an operation that a person leaves out before is listed, and the threads begin', async (t) => {
  const { runtime } = testRuntime([topology, framed()], { faults: [fail('cool')] })
  const execution = await begin(runtime, { workflow: 'framed' })
  const before = await threadIn(execution, 'before', 'PAUSED')
  before.control.recover('ABORT_ACTION')
  await runtime.over(execution)
  t.equal(execution.phase.current, 'completed')
  t.same(left(execution), ['before cool chiller: a person left it out'])
})

test('an operation before with on_failure ABORT fails the run, whose labware does not begin', async (t) => {
  const before = [
    { do: 'cool', on: 'chiller', on_failure: 'ABORT' },
    { do: 'warm', on: 'sealer' },
  ]
  const { runtime } = testRuntime([topology, framed({ before })], { faults: [fail('cool')] })
  const execution = await run(runtime, { workflow: 'framed' })
  t.equal(execution.phase.current, 'failed')
  t.notOk(done(execution).some((row) => row.startsWith('plate')))
  t.equal(done(execution).filter((row) => row.startsWith('after')).length, 2)
  t.match(left(execution), [/^before cool/, /^before warm/])
})

test('after a run that has failed the operations are done, one that fails is listed, and nobody is asked', async (t) => {
  const { runtime } = testRuntime([topology, framed({}, failing)], { faults: [fail('press'), fail('off')] })
  const execution = await run(runtime, { workflow: 'framed' })
  t.equal(execution.phase.current, 'failed')
  t.same(
    done(execution)
      .slice(-2)
      .map((row) => row.split(' ').slice(0, 4).join(' ')),
    ['after off chiller ERRORED', 'after off-2 sealer COMPLETED'],
  )
  t.match(left(execution), [/^after off chiller: .*off/])
})

test('an error after a run that has completed holds it until somebody decides', async (t) => {
  const { runtime } = testRuntime([topology, framed()], { faults: [fail('off')] })
  const execution = await begin(runtime, { workflow: 'framed' })
  const after = await threadIn(execution, 'after', 'PAUSED')
  t.ok(after.control.decisions.includes('RETRY'))
  t.throws(() => execution.spawnNow('plate'), { code: 'conflict', message: /last operations/ })
  after.control.recover('CONTINUE')
  await runtime.over(execution)
  t.equal(execution.phase.current, 'completed')
  t.same(left(execution), [])
})

test('a run that is stopped does the operations, and a second stop ends them', async (t) => {
  const stopped = async (times: 1 | 2) => {
    const { runtime } = testRuntime([topology, framed()], { faults: [fail('press'), { operation: 'off', call: 1, does: 'hang' }] })
    const execution = await begin(runtime, { workflow: 'framed' })
    await threadIn(execution, 'plate', 'PAUSED')
    execution.stop(false)
    execution.stop(true)
    await threadIn(execution, 'after', 'EXECUTING_ACTION')
    if (times === 2) execution.stop(true)
    await runtime.over(execution)
    t.equal(execution.phase.current, 'aborted')
    return left(execution)
  }
  t.match(await stopped(1), [/^after off chiller: .*has not ended/], 'a call that does not end is cut off')
  t.same(await stopped(2), ['after off chiller: an operator stopped it', 'after off sealers: an operator stopped it'])
})

test('devices that are stopped or have a fault are left out after a run that was stopped, and another of the pool is taken', async (t) => {
  const faults: { device_id: string; error: string; isStop: boolean; since: number }[] = []
  let asked: string[] = []
  const perform = async (device: string, operation: string) => {
    asked.push(`${operation} ${device}`)
    if (operation !== 'press') return { success: true }
    faults.push(
      { device_id: 'sealer', error: 'it is jammed', isStop: false, since: 0 },
      { device_id: 'chiller', error: 'chiller is stopped', isStop: true, since: 0 },
    )
    throw new LabError('device_failed', 'it is jammed')
  }
  const { runtime } = liveRuntime(topology, [framed()], { live: instantBench({ perform, faults: () => faults }) })
  const execution = await begin(runtime, { workflow: 'framed', run_mode: 'LIVE' })
  await threadIn(execution, 'plate', 'PAUSED')
  asked = []
  execution.stop(false)
  execution.stop(true)
  await runtime.over(execution)
  t.same(asked, ['off sealer_2'])
  t.same(left(execution), ['after off chiller: chiller is stopped'])
})

test('labware that the run left at a device does not keep an operation without labware from it', async (t) => {
  const after = [{ do: 'off', on: 'sealer' }]
  const { runtime } = testRuntime([topology, framed({ after }, failing)], { faults: [fail('press')] })
  const execution = await run(runtime, { workflow: 'framed' })
  const plate = await threadIn(execution, 'plate', 'FAILED')
  t.equal(execution.environment.scheduler.whereIs(plate.labware.labware_id), 'sealer')
  t.match(done(execution).at(-1), /^after off sealer COMPLETED/)
  t.same(left(execution), [])
})

test('an operation on a device in which labware may stand, after its place was cut off, is left out when nothing else can move', async (t) => {
  const carry = async (_: string, verb: string, { position }: { position: string }) => {
    if (verb === 'place' && position === 'sealer') throw new LabError('device_failed', 'the arm has lost its way')
  }
  const after = [
    { do: 'off', on: 'sealer' },
    { do: 'off', on: 'chiller' },
  ]
  const { runtime } = liveRuntime(topology, [framed({ after })], { live: instantBench({ carry }) })
  const execution = await begin(runtime, { workflow: 'framed', run_mode: 'LIVE' })
  await threadIn(execution, 'plate', 'PAUSED')
  execution.stop(false)
  execution.stop(true)
  await runtime.over(execution)
  t.equal(execution.phase.current, 'aborted')
  t.match(left(execution), [/^after off sealer: nothing could move any more: after waits for sealer/])
  t.match(done(execution).at(-1), /^after off-2 chiller COMPLETED/)
})

test('a device that another open run uses is waited for', async (t) => {
  let end = () => {}
  const perform = (_: string, operation: string) =>
    operation === 'press' ? new Promise<object>((resolve) => (end = () => resolve({ success: true }))) : Promise.resolve({ success: true })
  const other = workflowOf('other', { plate: { ...standing('pad_1'), steps: [{ action: press }] } })
  const heats = workflowOf('heats', { plate: { ...standing('pad_2'), steps: [] } }, { before: [{ do: 'warm', on: 'sealer' }] })
  const { runtime } = liveRuntime(topology, [other, heats], { live: instantBench({ perform }) })
  const first = await begin(runtime, { workflow: 'other', run_mode: 'LIVE' })
  await threadIn(first, 'plate', 'EXECUTING_ACTION')
  const second = await begin(runtime, { workflow: 'heats', run_mode: 'LIVE' })
  const before = await threadIn(second, 'before', 'AWAITING_ACTION_RESERVATION')
  t.match(why(second)[0]?.because, [/sealer is held by plate of other/])
  await until(() => first.live()[0]?.control.waiting?.kind !== 'reservation')
  end()
  await Promise.all([runtime.over(first), runtime.over(second)])
  t.equal(before.status.current, 'COMPLETED')
})

test('labware that stands at a device from the beginning does not keep an operation before from it', async (t) => {
  const plate = { ...standing('sealer'), steps: [{ action: press }] }
  const workflow = workflowOf('framed', { plate }, { before: [{ do: 'warm', on: 'sealer' }] })
  const { runtime } = testRuntime([topology, workflow])
  const execution = await run(runtime, { workflow: 'framed' })
  t.equal(execution.phase.current, 'completed')
  t.match(done(execution), [/^before warm sealer COMPLETED/, /^plate press sealer COMPLETED/])
})

test('a run that is cut at any moment goes on with its operations when it is resumed, each of them once', async (t) => {
  const kept = new Kept()
  const documents = [topology, framed({}, press)]
  const { runtime } = testRuntime(documents, { keep: () => kept })
  await run(runtime, { workflow: 'framed' })
  let cuts = 0
  for (const keys of kept.all) {
    const saved = checkpointOf(keys)!
    if (saved.execution.status === 'completed') continue
    const parts = saved.threads.filter(({ labware }) => labware.labware_id === '')
    const before = parts.map(({ name, frames }) => ({ name, next: frames[0]?.next ?? 2 }))
    const taken = testRuntime(documents, { ids: 1_000_000 })
    const execution = await takeUp(taken.runtime, keys, saved)
    await until(() => execution.live().every(({ status, isOver }) => isOver || status.current === 'PAUSED'))
    if (taken.told.some(({ event_name }) => /\.(PICKING|EXECUTING_ACTION)$/.test(event_name))) t.fail('something moved unasked')
    execution.resume()
    await taken.runtime.over(execution)
    if (execution.phase.current !== 'completed') t.fail(`${execution.phase.current} at cut ${cuts}`)
    for (const { name, next } of before) {
      const again = done(execution).filter((row) => row.startsWith(`${name} `) && row.includes('COMPLETED'))
      if (again.length !== 2 - next) t.same(again, [], `cut ${cuts}: ${name} from operation ${next}`)
    }
    cuts++
  }
  t.ok(cuts > 10, `${cuts} cuts`)
})

test('a run that was being stopped when the service ended does nothing more, and lists its operations', async (t) => {
  const kept = new Kept()
  const documents = [topology, framed()]
  const { runtime } = testRuntime(documents, { keep: () => kept, faults: [fail('press')] })
  const first = await begin(runtime, { workflow: 'framed' })
  await threadIn(first, 'plate', 'PAUSED')
  first.stop(false)
  first.stop(true)
  await runtime.over(first)
  const keys = kept.all.find((keys) => checkpointOf(keys)!.threads.some(({ name, action }) => name === 'after' && action === null))!
  const taken = testRuntime(documents, { ids: 1_000_000 })
  const execution = await takeUp(taken.runtime, keys)
  await taken.runtime.over(execution)
  t.equal(execution.phase.current, 'aborted')
  t.notOk(taken.told.some(({ event_name }) => /EXECUTING_ACTION/.test(event_name)))
  t.equal(execution.operations.notDone.length, 2)
})

test('mistakes are named with their places', (t) => {
  const refused = (more: object, threads?: object) => {
    const { faults } = compileLibrary(
      [topology, { ...framed(more), ...(threads && { threads }) }].map((input, i) => ({ origin: `document ${i}`, form: 'json', input })),
      { devices: [], hasTeachpoint: () => false },
    )
    return faults[0]?.reason
  }
  t.match(refused({ before: [{ do: 'cool', on: 'chillr' }] }), /before\[0\]\.on: there is no device or pool chillr; did you mean "chiller"/)
  t.match(refused({ after: [{ do: 'press', on: 'chiller' }] }), /after\[0\]\.do: chiller has no operation press/)
  t.match(
    refused({ after: [{ do: 'off', on: 'chiller', with: { slow: { variable: 'no' } } }] }),
    /after\[0\]\.with\.slow: there is no variable no/,
  )
  t.match(refused({ before: [{ do: 'cool', on: 'chiller', labware: [] }] }), /before\[0\].*labware/)
  t.match(refused({}, { before: { ...byHand('pad_1'), labware: 'plate', steps: [] } }), /threads\.before: /)
  t.end()
})
