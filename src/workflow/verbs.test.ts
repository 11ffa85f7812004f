// What an operator tells a run beyond pause, recover and stop: skip, insert, spawn, what to do about a late call, where labware is.

import { type Test, test } from 'tap'
import { VirtualTime } from '../kit/virtual_time.ts'
import { byHand, oneArm, severalArms, workflowOf } from '../testing/documents.ts'
import { begin, drivenBench, Kept, testRuntime, threadIn, trace, until } from '../testing/workflow.ts'
import { type InjectedFault, PureEquipment } from './equipment/pure_equipment.ts'
import { checkpointOf } from './state/run.ts'

const devices = { nests: { nest: 'mixer', nest_2: 'reader' }, operations: { mixer: { mix: 60, spin: 30 }, reader: { read: 10 } } }
const arrangement = { pads: ['pad_1', 'pad_3'], parking: ['pad_2'], ...devices }
const topology = oneArm(arrangement)
const twoSites = oneArm({ ...arrangement, sites: { mixer: 2 } })

const plateSteps = [{ method: 'mix_it' }, { method: 'read_it' }] as object[]

const workflow = (steps: object[] = plateSteps, more: object = {}) => ({
  ...workflowOf('mixed', { plate: { ...byHand('pad_1'), steps }, other: { ...byHand('pad_3'), steps: [{ method: 'read_it' }] } }),
  methods: {
    mix_it: [
      { do: 'mix', on: 'mixer' },
      { do: 'spin', on: 'mixer' },
    ],
    read_it: [{ do: 'read', on: 'reader' }],
  },
  start: ['plate'],
  ...more,
})

async function started(document: object = workflow(), faults: InjectedFault[] = []) {
  const made = testRuntime([topology, document], { faults })
  const execution = await begin(made.runtime, { workflow: 'mixed' })
  const over = async () => {
    await made.runtime.over(execution)
    return trace(made.told)
  }
  return { ...made, execution, over }
}

function only(events: string[], pattern: RegExp): string[] {
  return events.filter((event) => pattern.test(event))
}

test('a method that lies ahead is CREATED and SKIPPED when the thread comes to it', async (t) => {
  const { execution, over } = await started()
  t.equal(execution.skip('read_it'), 'plate/read_it')
  t.equal(execution.skip('plate/read_it'), 'plate/read_it', 'a second time changes nothing')
  const events = await over()
  t.same(only(events, /read/), ['METHOD read_it CREATED', 'METHOD read_it SKIPPED'])
  t.equal(execution.phase.current, 'completed')
})

test('an action that lies ahead is CREATED and SKIPPED, and its method ends PARTIAL_COMPLETE', async (t) => {
  const { execution, over } = await started()
  t.equal(execution.skip('spin'), 'plate/mix_it/spin')
  const events = await over()
  t.same(only(events, /spin|mix_it/), [
    'METHOD mix_it CREATED',
    'METHOD mix_it IN_PROGRESS',
    'ACTION spin CREATED',
    'ACTION spin SKIPPED',
    'METHOD mix_it PARTIAL_COMPLETE',
  ])
  t.ok(events.includes('METHOD read_it COMPLETED'))
})

test('what has begun is not skipped, nor what is ambiguous, nor what is not there', async (t) => {
  const { execution, over } = await started(workflow([{ method: 'mix_it' }, { name: 'again', method: 'mix_it' }]))
  await threadIn(execution, 'plate', 'EXECUTING_ACTION')
  t.throws(() => execution.skip('mix_it'), { code: 'conflict', message: /begun.*actions/ })
  t.throws(() => execution.skip('plate/mix_it/mix'), { code: 'conflict', message: /begun/ })
  t.throws(() => execution.skip('spin'), { code: 'conflict', message: /plate\/mix_it\/spin, plate\/again\/spin/ })
  t.throws(() => execution.skip('agian'), {
    code: 'not_found',
    message: /did you mean "again"\?; there is: plate\/mix_it\/spin, plate\/again, plate\/again\/mix, plate\/again\/spin$/,
  })
  t.equal(execution.skip('again/spin'), 'plate/again/spin')
  const events = await over()
  t.equal(only(events, /spin COMPLETED/).length, 1)
  t.equal(only(events, /spin SKIPPED/).length, 1)
})

test('an action is skipped while it waits for its device, and the device is free for the next', async (t) => {
  const { execution, over } = await started(workflow(plateSteps, { start: ['plate', 'other'] }))
  execution.environment.scheduler.request({ thread_id: 'a stranger', priority: 1, candidates: [{ device: 'mixer' }], granted: () => {} })
  await threadIn(execution, 'plate', 'AWAITING_ACTION_RESERVATION')
  t.equal(execution.skip('mix'), 'plate/mix_it/mix')
  t.equal(execution.skip('spin'), 'plate/mix_it/spin')
  const events = await over()
  t.same(only(events, /ACTION (mix|spin)/), [
    'ACTION mix CREATED',
    'ACTION mix AWAITING_LOCATION_RESERVATION',
    'ACTION mix SKIPPED',
    'ACTION spin CREATED',
    'ACTION spin SKIPPED',
  ])
  t.ok(events.includes('METHOD mix_it PARTIAL_COMPLETE'))
  t.equal(execution.phase.current, 'completed')
})

const shared = {
  methods: {
    mix_it: [
      { do: 'mix', on: 'mixer', labware: ['plate', 'other'] },
      { do: 'spin', on: 'mixer', labware: ['plate'] },
    ],
    read_it: [],
  },
  threads: {
    plate: { labware: 'plate', ...byHand('pad_1'), steps: [{ method: 'mix_it' }] },
    other: { labware: 'other', ...byHand('pad_3'), steps: [{ wait_for: 'go' }, { join: ['mix_it'] }] },
  },
}

test('an action is skipped while it waits for the labware of others, also while the thread is paused', async (t) => {
  for (const isPaused of [false, true]) {
    const { runtime, told } = testRuntime([twoSites, workflow([], shared)])
    const execution = await begin(runtime, { workflow: 'mixed' })
    const plate = await threadIn(execution, 'plate', 'AWAITING_CO_THREADS')
    await until(() => plate.control.waiting?.kind === 'peer')
    if (isPaused) {
      plate.control.pause('manual')
      await threadIn(execution, 'plate', 'PAUSED')
    }
    t.equal(execution.skip('mix'), 'plate/mix_it/mix')
    await until(() => trace(told).includes('ACTION mix SKIPPED'))
    if (isPaused) {
      await until(() => plate.status.current === 'PAUSED' && plate.control.pause_reason === 'manual')
      plate.control.resume()
    }
    execution.events.emitCustom('go', { value: null, data: {} }, null)
    await runtime.over(execution)
    const events = trace(told)
    t.ok(events.includes('ACTION spin COMPLETED'))
    t.ok(events.includes('METHOD mix_it PARTIAL_COMPLETE'))
    t.equal(execution.phase.current, 'completed')
  }
})

test('a wait for an event is skipped while it waits, and a branch with all that is in it', async (t) => {
  const steps = [{ wait_for: 'go' }, { name: 'fork', branch: 'way', cases: { left: [{ method: 'mix_it' }] } }, { method: 'read_it' }]
  const { execution, over } = await started(workflow(steps))
  await threadIn(execution, 'plate', 'AWAITING_EVENT')
  t.equal(execution.skip('wait_for'), 'plate/wait_for')
  await until(() => execution.live()[0]!.control.waiting?.what === 'custom event way')
  t.equal(execution.skip('fork'), 'plate/fork')
  t.same(only(await over(), /METHOD/), ['METHOD read_it CREATED', 'METHOD read_it IN_PROGRESS', 'METHOD read_it COMPLETED'])
})

test('an action whose device cannot be used is skipped, and the error is over', async (t) => {
  const { execution, over, told } = await started(workflow(), [{ operation: 'ready', device_id: 'mixer', call: 1, does: 'fail' }])
  const plate = await threadIn(execution, 'plate', 'PAUSED')
  execution.skip('mix')
  const events = await over()
  t.ok(events.includes('ACTION mix SKIPPED') && events.includes('ACTION spin COMPLETED'))
  t.equal(plate.last_error, null)
  t.equal(told.at(-1)!.status, 'COMPLETED')
})

// Insert

test('a step is put in before or after another, into each live thread that has it ahead', async (t) => {
  const { execution, over } = await started(workflow(plateSteps, { start: ['plate', 'other'] }))
  execution.pause('manual')
  t.match(execution.inserts.put({ before: 'read_it', item: { method: 'mix_it' } }), /before plate\/read_it, other\/read_it/)
  t.match(
    execution.inserts.put({ after: 'plate/read_it', item: { action: { name: 'once_more', do: 'read', on: 'reader' } } }),
    /after plate\/read_it/,
  )
  execution.resume()
  const events = await over()
  t.equal(only(events, /METHOD mix_it COMPLETED/).length, 3)
  t.equal(events.filter((event) => event === 'ACTION once_more COMPLETED').length, 1)
  t.ok(events.indexOf('ACTION once_more CREATED') > events.indexOf('METHOD read_it COMPLETED'))
  t.equal(execution.phase.current, 'completed')
})

test('an action is put into a method, also into the one that is under way', async (t) => {
  const { execution, over, incidents } = await started()
  await threadIn(execution, 'plate', 'EXECUTING_ACTION')
  execution.inserts.put({ after: 'mix', item: { action: { name: 'swirl', do: 'spin', on: 'mixer' } } })
  execution.inserts.put({ before: 'read', item: { action: { emit: 'reads.now' } } })
  t.match(execution.inserts.put({ before: 'mix', item: { action: { emit: 'too.late' } } }), /no thread has mix ahead now/, 'it has begun')
  t.throws(() => execution.inserts.put({ before: 'spin', item: { method: 'read_it' } }), {
    code: 'invalid',
    message: /a method holds only actions/,
  })
  const events = await over()
  t.same(only(events, /^ACTION (?!move).*COMPLETED|CUSTOM/), [
    'ACTION mix COMPLETED',
    'ACTION swirl COMPLETED',
    'ACTION spin COMPLETED',
    'CUSTOM reads.now EMITTED',
    'ACTION emit COMPLETED',
    'ACTION read COMPLETED',
  ])
  t.ok(events.includes('METHOD mix_it COMPLETED'))
  t.match(incidents, [{ category: 'UNRESOLVED_ANCHOR_INSERT', message: 'emit was to be inserted before mix, which no thread reached' }])
})

test('what is put in is held against all that a workflow is held against', async (t) => {
  const { execution, over } = await started()
  const put = (item: unknown) => () => execution.inserts.put({ after: 'mix_it', item })
  t.throws(put({ method: 'mix_itt' }), { code: 'invalid', message: /did you mean "mix_it"/ })
  t.throws(put({ action: { do: 'read', on: 'mixer' } }), { code: 'invalid', message: /mixer has no operation read/ })
  t.throws(put({ action: { do: 'mix', on: 'mixer', labware: ['other'] } }), { code: 'invalid' })
  t.throws(put({ park: ['nowhere'] }), { code: 'invalid', message: /nowhere/ })
  t.throws(() => execution.inserts.put({ after: 'mix_itt', item: { method: 'mix_it' } }), { code: 'not_found', message: /did you mean/ })
  const events = await over()
  t.equal(only(events, /METHOD .* CREATED/).length, 2, 'nothing of it was put in')
})

test('what was put in can be skipped, and can be an anchor itself', async (t) => {
  const { execution, over } = await started()
  execution.inserts.put({ after: 'mix_it', item: { name: 'extra', method: 'read_it' } })
  execution.inserts.put({ after: 'extra', item: { name: 'more', method: 'read_it' } })
  execution.skip('extra')
  const events = await over()
  t.same(only(events, /METHOD read_it/), [
    'METHOD read_it CREATED',
    'METHOD read_it SKIPPED',
    ...['CREATED', 'IN_PROGRESS', 'COMPLETED', 'CREATED', 'IN_PROGRESS', 'COMPLETED'].map((status) => `METHOD read_it ${status}`),
  ])
})

test('what is put beside something in a branch waits until the branch is taken', async (t) => {
  const steps = [{ branch: 'way', cases: { left: [{ method: 'mix_it' }] }, else: [{ method: 'read_it' }] }]
  for (const [value, count] of [
    ['left', 1],
    ['right', 0],
  ] as const) {
    const { execution, over, incidents } = await started(workflow(steps))
    await threadIn(execution, 'plate', 'AWAITING_EVENT')
    execution.inserts.put({ before: 'mix_it', item: { action: { emit: 'mixes.now' } } })
    execution.events.emitCustom('way', { value, data: {} }, null)
    t.equal(only(await over(), /CUSTOM mixes.now/).length, count)
    t.same(
      incidents.map(({ category }) => category),
      count === 1 ? [] : ['UNRESOLVED_ANCHOR_INSERT'],
    )
  }
})

test('what no live thread has ahead waits for one that comes', async (t) => {
  const { execution, over, incidents } = await started(workflow([{ wait_for: 'go' }]))
  await threadIn(execution, 'plate', 'AWAITING_EVENT')
  t.match(execution.inserts.put({ before: 'read_it', item: { action: { emit: 'reads.now' } } }), /no thread has read_it ahead now/)
  execution.spawnNow('other')
  await until(() => execution.live().length === 1)
  execution.events.emitCustom('go', { value: null, data: {} }, null)
  t.equal(only(await over(), /CUSTOM reads.now/).length, 1)
  t.same(incidents, [])
})

const loop = {
  methods: { mix_it: [{ do: 'mix', on: 'mixer', labware: ['plate', 'other'] }], read_it: [] },
  threads: {
    plate: { labware: 'plate', ...byHand('pad_1'), steps: [{ method: 'mix_it' }, { method: 'mix_it' }, { method: 'mix_it' }] },
    other: { labware: 'other', ...byHand('pad_3'), steps: [{ while_more_work: [{ join: ['mix_it'] }, { action: { emit: 'round' } }] }] },
  },
}

test('what is put into a loop is done once, in the next round if its place has gone by', async (t) => {
  const { runtime, told } = testRuntime([twoSites, workflow([], loop)])
  const execution = await begin(runtime, { workflow: 'mixed' })
  await until(() => trace(told).filter((event) => event === 'CUSTOM round EMITTED').length === 1)
  execution.inserts.put({ before: 'other/join', item: { action: { emit: 'once' } } })
  await runtime.over(execution)
  t.same(only(trace(told), /CUSTOM/), ['CUSTOM round EMITTED', 'CUSTOM round EMITTED', 'CUSTOM once EMITTED', 'CUSTOM round EMITTED'])
  t.equal(execution.phase.current, 'completed')
})

test('what was put in and what was to be skipped outlast the service, cut at any moment', async (t) => {
  const documents = [
    topology,
    workflow([{ method: 'mix_it' }, { branch: 'way', cases: { left: [{ method: 'read_it' }] } }, { name: 'last', method: 'mix_it' }]),
  ]
  const done = /^(ACTION (?!move)\w+ COMPLETED|METHOD \w+ (COMPLETED|SKIPPED)|CUSTOM)/
  const kept = new Kept()
  const { runtime, told } = testRuntime(documents, { keep: () => kept })
  const execution = await begin(runtime, { workflow: 'mixed' })
  const submitted = kept.all.length
  execution.pause('manual')
  execution.inserts.put({ after: 'plate/mix_it', item: { name: 'extra', branch: 'way', cases: { left: [{ method: 'read_it' }] } } })
  execution.inserts.put({ after: 'plate/mix_it/mix', item: { action: { name: 'swirl', do: 'spin', on: 'mixer' } } })
  execution.skip('last')
  execution.events.emitCustom('way', { value: 'left', data: {} }, null)
  await until(() => kept.all.length > submitted)
  const first = kept.all.length
  execution.resume()
  await runtime.over(execution)
  const whole = only(trace(told), done)
  t.same(
    whole.filter((event) => !event.startsWith('CUSTOM')),
    [
      'ACTION mix COMPLETED',
      'ACTION swirl COMPLETED',
      'ACTION spin COMPLETED',
      'METHOD mix_it COMPLETED',
      'ACTION read COMPLETED',
      'METHOD read_it COMPLETED',
      'ACTION read COMPLETED',
      'METHOD read_it COMPLETED',
      'METHOD mix_it SKIPPED',
    ],
  )
  for (const [i, keys] of kept.all.slice(first - 1).entries()) {
    const saved = checkpointOf(keys)
    if (!saved || saved.execution.status === 'completed') continue
    const again = testRuntime(documents, { ids: 1_000_000 })
    const taken = await again.runtime.restore(saved)
    await until(() => taken.live().every(({ status, isOver }) => isOver || status.current === 'PAUSED'), `cut ${i}`)
    taken.resume()
    await again.runtime.over(taken)
    const rest = only(trace(again.told), done)
    const expected = whole.slice(whole.length - rest.length)
    if (JSON.stringify(rest) !== JSON.stringify(expected)) t.same(rest, expected, `cut ${i}`)
  }
  t.ok(kept.all.length - first > 10, `${kept.all.length - first} cuts`)
})

// Spawn

test('a thread is put into a run, also while it is paused: then it is held before it begins', async (t) => {
  const { execution, over } = await started()
  await threadIn(execution, 'plate', 'EXECUTING_ACTION')
  t.throws(() => execution.spawnNow('plates'), { code: 'not_found', message: /did you mean "plate"/ })
  t.throws(() => execution.spawnNow('other', 'pad_9'), { code: 'not_found' })
  t.throws(() => execution.spawnNow('other', 'nest'), { code: 'conflict', message: /plate stands/ })
  execution.pause('manual')
  const other = execution.spawnNow('other', 'pad_2')
  await threadIn(execution, 'other', 'PAUSED')
  t.equal(execution.environment.scheduler.whereIs(other.labware.labware_id), undefined)
  execution.resume()
  const events = await over()
  t.ok(events.includes('THREAD other COMPLETED'))
  t.equal(other.state.starts_at, 'pad_2')
  t.throws(() => execution.spawnNow('other'), { code: 'conflict', message: /completed/ })
})

test('a thread that is put into a group begins where the group says, and does not want the barcode of the first', async (t) => {
  const { runtime, execution } = await live(t, { plate: { location: 'pad_2', barcode: 'A-17' }, other: { barcode: 'B-1' } })
  const plate = await threadIn(execution, 'plate', 'AWAITING_MANUAL_PLACE')
  runtime.operator.done(plate, 'place', 'A-17')
  await threadIn(execution, 'plate', 'EXECUTING_ACTION')
  const again = execution.spawnNow('plate')
  t.match(again, { state: { starts_at: 'pad_2' }, labware: { barcode: null } })
  t.equal(execution.spawnNow('other').labware.barcode, 'B-1', 'the first of another plan has its own')
  t.equal(execution.spawnNow('other').labware.barcode, null)
  execution.abort('that was all')
  await runtime.over(execution)
})

// Late calls

const hung: InjectedFault[] = [{ operation: 'mix', call: 1, does: 'hang' }]

/** A run whose mixer does not end. */
async function late(faults: InjectedFault[] = hung, document: object = workflow()) {
  const made = await started(document, faults)
  const plate = await threadIn(made.execution, 'plate', 'PAUSED')
  const id = () => made.told.findLast(({ event_name }) => event_name.endsWith('.RECOVERABLE_TIMEOUT'))!.event_name.split('.')[1]!
  return { ...made, plate, id }
}

test('a device call that takes too long holds the thread, and goes on', async (t) => {
  const { plate, incidents, execution, over } = await late()
  t.equal(plate.control.pausedAt, 'DEVICE_TIMEOUT')
  t.match(plate.last_error, /mix of mixer for plate has not ended within 660 s/)
  t.same(
    incidents.map(({ category }) => category),
    ['RECOVERABLE_TIMEOUT'],
  )
  t.equal(execution.environment.scheduler.holds.holder('mixer'), plate.thread_id, 'nobody else gets the device')
  plate.control.stop()
  const events = await over()
  t.ok(events.includes('ACTION mix ABORTED') && events.includes('THREAD plate ABORTED'))
})

test('abort cuts the call off: it has failed, and somebody decides', async (t) => {
  const { runtime, id, plate, execution, over } = await late()
  const incident = id()
  t.match(runtime.decideLateCall(incident, 'abort'), /mix of mixer/)
  t.throws(() => runtime.decideLateCall(incident, 'abort'), { code: 'conflict' })
  t.throws(() => runtime.decideLateCall('none', 'complete'), { code: 'not_found' })
  await until(() => plate.control.pausedAt === 'DEVICE_OP')
  t.equal(plate.status.current, 'PAUSED')
  plate.control.recover('RETRY_OP')
  const events = await over()
  t.same(only(events, /PAUSED|DEVICE_OP/), ['THREAD plate PAUSED', 'DEVICE_OP FAILED', 'THREAD plate PAUSED'])
  t.ok(events.includes('METHOD mix_it COMPLETED'))
  t.equal(execution.phase.current, 'completed')
})

test('complete takes an operator at his word, and cuts the call off; so does CONTINUE', async (t) => {
  for (const say of ['complete', 'CONTINUE']) {
    const { runtime, id, plate, incidents, over } = await late()
    if (say === 'complete') runtime.decideLateCall(id(), 'complete')
    else plate.control.recover('CONTINUE')
    const events = await over()
    t.ok(events.includes('ACTION mix COMPLETED') && events.includes('METHOD mix_it COMPLETED'))
    t.ok(incidents.some(({ category }) => category === 'ACTION_CONTINUED'))
    t.notOk(events.some((event) => event.startsWith('DEVICE_OP')))
  }
})

test('extend gives it more time, and then it is late once more', async (t) => {
  const { runtime, id, plate, execution, incidents, over } = await late()
  const first = id()
  const at = execution.environment.clock.now()
  runtime.decideLateCall(first, { extend: 90 })
  await until(() => incidents.length === 2 && plate.control.pausedAt === 'DEVICE_TIMEOUT')
  t.equal(execution.environment.clock.now() - at, 90_000)
  t.throws(() => runtime.decideLateCall(first, { extend: 5 }), { code: 'conflict' })
  runtime.decideLateCall(id(), 'complete')
  t.ok((await over()).includes('ACTION mix COMPLETED'))
})

test('a call that ends by itself after all lets the thread go on', async (t) => {
  let hangs: (() => void) | undefined
  class Slow extends PureEquipment {
    override async perform(...args: Parameters<PureEquipment['perform']>): Promise<unknown> {
      if (args[1] === 'mix') await new Promise<void>((resolve) => (hangs = resolve))
      return super.perform(...args)
    }
  }
  const { runtime, told, incidents } = testRuntime([topology, workflow()], {
    simulate: ({ document }, clock) => new Slow({ clock, transporters: document.transporters }),
  })
  const execution = await begin(runtime, { workflow: 'mixed' })
  const plate = await threadIn(execution, 'plate', 'PAUSED')
  t.equal(plate.control.pausedAt, 'DEVICE_TIMEOUT')
  hangs?.()
  await runtime.over(execution)
  t.equal(execution.phase.current, 'completed')
  t.match(incidents.at(-1), { category: 'RECOVERABLE_TIMEOUT', message: /has ended after all/ })
  t.ok(trace(told).includes('ACTION mix COMPLETED'))
})

test('with on_failure ABORT a call that takes too long is cut off, and the thread has failed', async (t) => {
  const document = workflow(plateSteps, { methods: { mix_it: [{ do: 'mix', on: 'mixer', on_failure: 'ABORT' }], read_it: [] } })
  const { execution, over, incidents } = await started(document, hung)
  await over()
  t.equal(execution.phase.current, 'failed')
  t.ok(incidents.some(({ category }) => category === 'RECOVERABLE_TIMEOUT'))
})

test('a call that takes as long as it was asked to is never late', async (t) => {
  const mixer = { shake: null, mix: null, spin: null }
  const shaking = oneArm({ ...arrangement, operations: { ...devices.operations, mixer } })
  const methods = { mix_it: [{ do: 'shake', on: 'mixer', with: { speed: 500, duration: 7200 } }], read_it: [] }
  const { runtime, incidents } = testRuntime([shaking, workflow(plateSteps, { methods })])
  const execution = await begin(runtime, { workflow: 'mixed' })
  await runtime.over(execution)
  t.same(incidents, [])
  t.equal(execution.phase.current, 'completed')
})

// By hand

/** A LIVE run on a bench of which there is nothing but the time it takes. */
async function live(t: Test, members: object = {}, faults: InjectedFault[] = []) {
  const clock = new VirtualTime()
  const equipment = new PureEquipment({ clock, transporters: { arm: { seconds: { pick: 5, move: 2, place: 5 } } }, faults })
  const made = testRuntime([topology, workflow()], { clock, live: equipment, bench: drivenBench(topology) })
  made.runtime.load('bench')
  const group = { group_id: 'g1', members: members as Record<string, { barcode: string }> }
  const { execution_id } = await made.runtime.submit({
    workflow: 'mixed',
    run_mode: 'LIVE',
    groups: [group],
    batch_mode: 'STANDALONE',
    variables: {},
    operator_id: null,
  })
  const execution = made.runtime.runs.get(execution_id)!
  const ringing = setInterval(() => clock.ringNext(), 1)
  t.teardown(() => clearInterval(ringing))
  return { ...made, execution }
}

test('labware with another barcode than was asked for is refused, and the thread goes on waiting', async (t) => {
  const { runtime, execution, incidents } = await live(t, { plate: { barcode: 'A-17' } })
  const plate = await threadIn(execution, 'plate', 'AWAITING_MANUAL_PLACE')
  t.throws(() => runtime.operator.done(plate, 'place', 'A-18'), { code: 'conflict', message: /A-17.*A-18/ })
  t.match(incidents, [{ category: 'BARCODE_MISMATCH', message: /A-17.*A-18/ }])
  t.equal(plate.status.current, 'AWAITING_MANUAL_PLACE')
  t.throws(
    () => runtime.operator.done(plate, 'place', null),
    { code: 'conflict', message: /A-17; read the barcode at pad_1/ },
    'nor is one that nobody read',
  )
  t.equal(plate.status.current, 'AWAITING_MANUAL_PLACE')
  runtime.operator.done(plate, 'place', 'A-17')
  await threadIn(execution, 'plate', 'EXECUTING_ACTION')
  t.equal(plate.labware.barcode, 'A-17')
  execution.abort('that was all')
  await runtime.over(execution)
})

test('labware in a gripper is put by hand where it was going, and CONTINUE goes on from there', async (t) => {
  const { runtime, execution, over } = await started(workflow(), [{ operation: 'place', call: 1, does: 'fail' }])
  const plate = await threadIn(execution, 'plate', 'PAUSED')
  const id = plate.labware.labware_id
  t.throws(() => plate.control.recover('CONTINUE'), { code: 'conflict' })
  t.match(runtime.labware(), [{ labware: { labware_id: id, held_by: 'arm' }, thread: { name: 'plate' } }])
  runtime.relocate(id, { position: 'nest' })
  t.equal(plate.labware.held_by, null)
  t.equal(execution.environment.scheduler.transporters.holder('arm'), undefined, 'the gripper is free for others')
  plate.control.recover('CONTINUE')
  const events = await over()
  t.ok(events.includes('METHOD mix_it COMPLETED'))
  t.equal(execution.phase.current, 'completed')
})

test('labware that is put elsewhere by hand is fetched from there on RETRY', async (t) => {
  const { runtime, execution, over } = await started(workflow(), [{ operation: 'place', call: 1, does: 'fail' }])
  const plate = await threadIn(execution, 'plate', 'PAUSED')
  runtime.relocate(plate.labware.labware_id, { position: 'pad_3' })
  plate.control.recover('RETRY')
  await over()
  const hops = execution.timeline.rows().filter(({ kind }) => kind === 'move')
  t.match(hops.slice(0, 2), [
    { from: 'pad_1', to: 'nest', status: 'ERRORED' },
    { from: 'pad_3', to: 'nest', status: 'COMPLETED' },
  ])
  t.equal(execution.phase.current, 'completed')
})

test('a thread that waits for a device comes from where its labware was put', async (t) => {
  const { runtime, execution, over } = await started()
  const asked = execution.environment.scheduler.request({
    thread_id: 'a stranger',
    priority: 1,
    candidates: [{ device: 'mixer' }],
    granted: () => {},
  })
  const plate = await threadIn(execution, 'plate', 'AWAITING_ACTION_RESERVATION')
  runtime.relocate(plate.labware.labware_id, { position: 'pad_3' })
  asked.withdraw()
  await over()
  t.match(
    execution.timeline.rows().find(({ kind }) => kind === 'move'),
    { from: 'pad_3', to: 'nest' },
  )
})

test('labware that waits for its way begins it where it was put', async (t) => {
  const two = severalArms({ left: ['start', 'middle'], right: ['middle', 'beside', 'end'] })
  const document = workflowOf('mixed', { plate: { ...byHand('start', 'end'), steps: [{ wait_for: 'go' }] } })
  const { runtime } = testRuntime([two, document])
  const execution = await begin(runtime, { workflow: 'mixed' })
  const thread = await threadIn(execution, 'plate', 'AWAITING_EVENT')
  execution.environment.scheduler.put('a stranger', 'middle', null)
  execution.events.emitCustom('go', { value: null, data: {} }, null)
  await until(() => thread.control.waiting?.what === 'the way to end')
  runtime.relocate(thread.labware.labware_id, { position: 'beside' })
  await runtime.over(execution)
  t.match(
    execution.timeline.rows().filter(({ kind }) => kind === 'move'),
    [{ from: 'beside', to: 'end', status: 'COMPLETED' }],
  )
})

test('labware that was taken from its device before the action began is brought there again', async (t) => {
  const { runtime, told } = testRuntime([twoSites, workflow([], shared)])
  const execution = await begin(runtime, { workflow: 'mixed' })
  const plate = await threadIn(execution, 'plate', 'AWAITING_CO_THREADS')
  await until(() => plate.control.waiting?.kind === 'peer')
  plate.control.pause('manual')
  await threadIn(execution, 'plate', 'PAUSED')
  runtime.relocate(plate.labware.labware_id, { position: 'pad_2' })
  plate.control.resume()
  await until(() => plate.control.waiting?.kind === 'peer' && execution.environment.scheduler.whereIs(plate.labware.labware_id) !== 'pad_2')
  execution.events.emitCustom('go', { value: null, data: {} }, null)
  await runtime.over(execution)
  const moves = execution.timeline.rows().filter(({ kind, thread_name }) => kind === 'move' && thread_name === 'plate')
  t.match(moves.slice(0, 2), [{ from: 'pad_1' }, { from: 'pad_2' }])
  t.ok(trace(told).includes('ACTION mix COMPLETED'))
  t.equal(execution.phase.current, 'completed')
})

test('labware is not moved on paper while it is under way, nor to where something stands, nor to nowhere', async (t) => {
  const { runtime, execution, over } = await started(workflow(plateSteps, { start: ['plate', 'other'] }))
  const plate = await threadIn(execution, 'plate', 'EXECUTING_ACTION')
  const { labware_id } = plate.labware
  const put = (position: string | null) => () => runtime.relocate(labware_id, { position })
  t.throws(put('pad_2'), { code: 'conflict', message: /under way: mixer works on it/ })
  t.throws(() => runtime.relocate('none', { position: 'pad_2' }), { code: 'not_found' })
  plate.control.pause('manual')
  await threadIn(execution, 'plate', 'PAUSED')
  t.throws(put('pad_9'), { code: 'not_found', message: /did you mean/ })
  t.throws(put(null), { code: 'conflict', message: /stop it before/ })
  const other = [...execution.threads.values()].find(({ name }) => name === 'other')!
  const there = execution.environment.scheduler.whereIs(other.labware.labware_id)
  if (there !== undefined) t.throws(put(there), { code: 'conflict', message: /other stands there/ })
  put('pad_2')()
  plate.control.resume()
  await over()
  t.equal(execution.phase.current, 'completed')
})

test('labware that nobody moves is put elsewhere, and taken off the bench', async (t) => {
  const document = workflow([], {
    threads: {
      plate: { labware: 'plate', start: { at: 'pad_1' }, end: { at: ['pad_1'], mode: 'LEAVE_IN_PLACE' }, steps: [] },
      other: { labware: 'other', ...byHand('pad_3'), steps: [{ wait_for: 'go' }] },
    },
    start: ['plate', 'other'],
  })
  const { runtime, execution, over } = await started(document)
  await until(() => execution.live().length === 1)
  const [stands] = runtime.labware().filter(({ thread }) => thread === null)
  const { labware_id } = stands!.labware
  runtime.relocate(labware_id, { position: 'pad_2' })
  t.equal(execution.environment.scheduler.whereIs(labware_id), 'pad_2')
  runtime.relocate(labware_id, { position: null })
  t.equal(execution.environment.scheduler.whereIs(labware_id), undefined)
  t.throws(() => runtime.relocate(labware_id, { position: 'pad_2' }), { code: 'not_found' })
  execution.events.emitCustom('go', { value: null, data: {} }, null)
  await over()
})

test('RETRY_OP is refused while the labware is not at the device', async (t) => {
  const { runtime, execution, over } = await started(workflow(), [{ operation: 'mix', call: 1, does: 'fail' }])
  const plate = await threadIn(execution, 'plate', 'PAUSED')
  runtime.relocate(plate.labware.labware_id, { position: 'pad_2' })
  t.throws(() => plate.control.recover('RETRY_OP'), { code: 'conflict', message: /RETRY brings it there/ })
  plate.control.recover('RETRY')
  t.ok((await over()).includes('ACTION mix COMPLETED'))
})
