// Whole runs of workflows whose plates have lids.

import { test } from 'tap'
import { knowsNoHeights, raised, whyNoLids } from '../devices/way.ts'
import { oneArm, standing, stored, workflowOf } from '../testing/documents.ts'
import { randomFrom } from '../testing/scheduler_runs.ts'
import { trials } from '../testing/trials.ts'
import { begin, drivenBench, instantBench, liveRuntime, run, testRuntime, until } from '../testing/workflow.ts'
import type { Bench } from './plans/bench.ts'
import { compileLibrary, type Source } from './plans/library.ts'
import { refusalFor } from './plans/refusal.ts'
import type { Execution } from './runs/execution.ts'
import { whereaboutsOf } from './whereabouts.ts'

const topology = oneArm({
  ...{ pads: ['pad_1', 'pad_2', 'pad_3'], storages: ['store'], nests: { read_in: 'reader', shake_in: 'shaker' } },
  operations: { reader: { read: 40 }, shaker: { mix: 30 } },
})

const lid = { type: '96-well lid', kind: 'lid', on: 'plate' }
const read = { do: 'read', on: 'reader', lid: 'off' }
const mix = { do: 'mix', on: 'shaker', lid: 'on' }

/** Reads a plate with its lid off, and shakes it with the lid on. */
const lidded = (more: object = {}, pads: string[] = ['pad_3']) =>
  workflowOf(
    'lidded',
    { plate: { ...standing('pad_1'), steps: [{ method: 'work' }], ...more } },
    {
      labware: { plate: { type: '96-well' }, lid },
      methods: { work: [mix, { remove_lid: 'lid', to: pads }, read, { put_lid: 'lid' }, { ...mix, name: 'again' }] },
    },
  )

/** The moves of a run, in the order in which they ended. */
function movesOf({ timeline }: Execution): string[] {
  return timeline
    .rows()
    .flatMap(({ kind, thread_name, from, to, status }) =>
      kind === 'move' ? [`${thread_name} ${from} ${to}${status === 'COMPLETED' ? '' : ` ${status}`}`] : [],
    )
}

test('a lid is taken off its plate and put back, where the plate stands', async (t) => {
  const { runtime, incidents } = testRuntime([topology, lidded()])
  const execution = await run(runtime, { workflow: 'lidded' })
  t.same(incidents, [])
  t.equal(execution.phase.current, 'completed')
  t.same(movesOf(execution), [
    'plate pad_1 shake_in',
    'plate shake_in pad_3',
    'plate shake_in read_in',
    'plate pad_3 read_in',
    'plate read_in shake_in',
    'plate shake_in pad_1',
  ])
  const rows = execution.timeline.rows().filter(({ kind }) => kind === 'action')
  t.same(
    rows.map(({ name, status }) => `${name} ${status}`),
    ['mix COMPLETED', 'remove_lid COMPLETED', 'read COMPLETED', 'put_lid COMPLETED', 'again COMPLETED'],
  )
})

test('plates wait for the place of a lid, and no lid is put where another lies', async (t) => {
  const groups = ['a', 'b', 'c', 'd'].map((group_id) => ({ group_id, members: {} }))
  for (const pads of [['pad_1'], ['pad_1', 'pad_2']]) {
    const { runtime, incidents } = testRuntime([topology, lidded(stored('store'), pads)])
    const execution = await run(runtime, { workflow: 'lidded', groups })
    t.same(incidents, [])
    t.equal(execution.phase.current, 'completed')
    t.equal(movesOf(execution).length, 24)
  }
})

/** Returns what the check says of a workflow with these actions. */
function refused(actions: object[], more: { lid?: object; reader?: object; steps?: object[]; pads?: string[] } = {}): string {
  const operations = { reader: { read: 40 }, shaker: { mix: 30 } }
  const bench = oneArm({
    pads: ['pad_1', 'pad_2', 'pad_3'],
    parking: ['park'],
    storages: ['store'],
    nests: { read_in: 'reader', shake_in: 'shaker' },
    operations,
  })
  Object.assign((bench.devices!.reader!.operations as Record<string, object>).read!, more.reader)
  const document = workflowOf(
    'lidded',
    { plate: { ...standing('pad_1'), steps: more.steps ?? [{ method: 'work' }] } },
    { labware: { plate: { type: '96-well' }, lid: { ...lid, ...more.lid } }, methods: { work: actions }, values: { od: { example: 1 } } },
  )
  try {
    testRuntime([bench, document])
    return ''
  } catch (error) {
    return (error as Error).message
  }
}

test('what cannot be with lids is refused when the workflow is loaded, with the place and the remedy', (t) => {
  const off = { remove_lid: 'lid', to: 'pad_3' }
  const on = { put_lid: 'lid' }
  t.match(
    refused([read]),
    /methods.work\[0\]: read at reader wants the lid of plate off, and it is on there; write {"remove_lid": "lid", "to": "…"} before it/,
  )
  t.match(refused([{ do: 'read', on: 'reader' }], { reader: { lid: 'off' } }), /wants the lid of plate off/, 'the topology declares it')
  t.match(
    refused([off, mix]),
    /methods.work\[1\]: mix at shaker wants the lid of plate on, and it is off there; write {"put_lid": "lid"} before it/,
  )
  t.match(refused([off, { ...off, name: 'again' }]), /methods.work\[1\]: lid is off already on each way to here/)
  t.match(refused([on]), /lid is on already/)
  t.match(refused([{ remove_lid: 'lid', to: 'read_in' }]), /methods.work\[0\].to: a lid cannot lie at read_in: it is the nest of reader/)
  t.match(refused([{ remove_lid: 'lid', to: 'store' }]), /a lid cannot lie at store: it is a storage/)
  t.match(
    refused([{ remove_lid: 'lid', to: 'park' }]),
    /the plate itself may be parked at park; name a position that is no parking position too/,
  )
  t.match(refused([{ remove_lid: 'lid', to: 'pad_4' }]), /there is no position pad_4/)
  t.match(refused([{ remove_lid: 'lid', to: 'pad_1' }]), /its plate may stand at that position/)
  t.match(refused([{ remove_lid: 'plate', to: 'pad_3' }]), /plate is a plate; its kind must be lid/)
  t.match(refused([{ ...mix, max_wait_after: 60 }, off]), /mix has max_wait_after, and no time is kept for the move of a lid/)
  t.match(refused([], { lid: { on: 'lid' } }), /labware.lid.on: lid is a lid, and only a plate has a lid/)
  t.match(refused([], { lid: { kind: 'plate' } }), /labware.lid.on: lid is a plate, and only a lid has on/)
  t.match(refused([{ ...mix, labware: ['plate', 'lid'] }]), /lid is a lid, and goes with plate/)
  t.equal(refused([mix, off, read, on]), '')
  const choice = { if: { value: 'od', above: 2 }, then: [{ action: off }] }
  const first = { action: { ...mix, save: { od: 'od' } } }
  const both = [first, choice, { action: read }]
  t.equal(refused([], { steps: both }), '', 'one way through the branch is right, so the run looks')
  const neither = [first, choice, { action: on }, { action: read }]
  t.match(refused([], { steps: neither }), /steps\[3\].action: read at reader wants the lid of plate off/)
  t.match(
    refused([], { steps: [{ repeat: { times: 2 }, steps: [{ action: off }, { action: read }] }] }),
    /^$/,
    'a lid that is off stays off',
  )
  t.end()
})

test('a plate whose lid is not as the action wants it holds its thread, and a person who took it off by hand decides RETRY', async (t) => {
  const steps = [{ if: { value: 'od', above: 2 }, then: [{ action: { remove_lid: 'lid', to: 'pad_3' } }] }, { action: read }]
  const set = { values: { od: { example: 1 } }, labware: { plate: { type: '96-well' }, lid } }
  const document = workflowOf(
    'lidded',
    { plate: { ...standing('pad_1'), steps: [{ action: { ...mix, save: { od: 'od' } } }, ...steps] } },
    set,
  )
  const { runtime, incidents } = liveRuntime(topology, [document], {
    live: instantBench({ perform: async () => ({ success: true, message: 'done', data: { od: 1 } }) }),
  })
  const execution = await begin(runtime, { workflow: 'lidded', run_mode: 'LIVE' })
  await until(() => incidents.length > 0)
  t.match(incidents[0]!.message, /read at reader wants the lid of plate off, and it is on; take it off by hand, and say where it is/)
  const lidded = runtime.labware().find(({ labware }) => labware.kind === 'lid')!
  t.match(whereaboutsOf(lidded), { position: 'read_in', on: execution.live()[0]!.labware.labware_id, thread_name: 'plate' })
  runtime.relocate(lidded.labware.labware_id, { position: 'pad_2' })
  t.match(whereaboutsOf(lidded), { position: 'pad_2', on: null })
  t.throws(() => runtime.relocate(lidded.labware.labware_id, { position: 'shake_in' }), { message: /it is the nest of shaker/ })
  execution.live()[0]!.control.recover('RETRY')
  await runtime.over(execution)
  t.equal(execution.phase.current, 'completed')
  const left = runtime.labware().map((piece) => whereaboutsOf(piece))
  t.same(left.map(({ name, position, on, thread_id }) => [name, position, on, thread_id]).sort(), [
    ['lid', 'pad_2', null, null],
    ['plate', 'pad_1', null, null],
  ])
})

test('a lid stays known on a plate that stays, and a workflow that knows no lid of it is refused', async (t) => {
  const plain = workflowOf('plain', { plate: { ...standing('pad_1'), steps: [{ action: { do: 'mix', on: 'shaker' } }] } })
  const { runtime } = liveRuntime(topology, [lidded(), plain])
  const first = await begin(runtime, { workflow: 'lidded', run_mode: 'LIVE' })
  await runtime.over(first)
  const ids = () =>
    runtime
      .labware()
      .map(({ labware }) => labware.labware_id)
      .sort()
  const before = ids()
  t.equal(before.length, 2)
  await t.rejects(begin(runtime, { workflow: 'plain', run_mode: 'LIVE' }), {
    message: /plate stands with lid on, and the workflow knows no lid of plate/,
  })
  const second = await begin(runtime, { workflow: 'lidded', run_mode: 'LIVE' })
  await runtime.over(second)
  t.equal(second.phase.current, 'completed')
  t.same(ids(), before, 'the same plate and the same lid')
})

test('a move of a lid that failed holds the thread, and RETRY makes it again', async (t) => {
  let failures = 1
  const carried: string[] = []
  const live = instantBench({
    carry: async (_, verb, { position, labware }) => {
      if (labware.type === '96-well lid' && verb === 'place' && failures-- > 0) throw new Error('it slipped')
      carried.push(`${verb} ${labware.name} ${position} ${labware.lift_mm ?? ''}`.trim())
    },
  })
  const offsets = lidded()
  Object.assign(offsets.labware.lid, { grip_offset_mm: 6, pad_offset_mm: -4 })
  const { runtime, incidents } = liveRuntime(topology, [offsets], { live })
  const execution = await begin(runtime, { workflow: 'lidded', run_mode: 'LIVE' })
  await until(() => incidents.length > 0)
  const [thread] = execution.live()
  t.equal(thread!.control.pausedAt, 'MOVE')
  t.match(incidents[0]!.message, /lid was not brought from shake_in to pad_3 by arm: it slipped; as far as is known it is held by arm/)
  t.equal(execution.environment.scheduler.position('pad_3').reserved_for, thread!.thread_id)
  thread!.control.recover('RETRY')
  await runtime.over(execution)
  t.equal(execution.phase.current, 'completed')
  t.same(
    carried.filter((one) => one.includes(' lid ')),
    ['pick lid shake_in 6', 'place lid pad_3 -4', 'pick lid pad_3 -4', 'place lid read_in 6'],
  )
})

/** Returns a random workflow of plates with lids, on a bench with few positions. */
function randomLids(seed: number) {
  const random = randomFrom(seed)
  const pads = ['pad_1', 'pad_2', 'pad_3'].slice(0, 1 + random(3))
  const devices = ['a', 'b', 'c'].slice(0, 2 + random(2))
  const operations = Object.fromEntries(devices.map((device) => [device, { work: 5 + random(40) }]))
  const bench = oneArm({ pads, parking: ['park_1', 'park_2'].slice(0, random(3)), storages: ['store'], nests: devices, operations })
  const stepsOf = (name: string) => {
    const steps: object[] = []
    let isOn = true
    const turn = () => {
      const to = random(2) === 0 ? pads : [pads[random(pads.length)]!]
      steps.push({ action: isOn ? { remove_lid: name, to } : { put_lid: name } })
      isOn = !isOn
    }
    for (let left = 2 + random(5); left > 0; left--) {
      steps.push({ action: { do: 'work', on: devices[random(devices.length)], lid: isOn ? 'on' : 'off' } })
      if (random(2) === 0) turn()
    }
    if (!isOn) turn()
    return steps
  }
  const kinds = ['p', 'q'].slice(0, 1 + random(2))
  const threads = Object.fromEntries(kinds.map((kind) => [kind, { ...stored('store'), steps: stepsOf(`lid_of_${kind}`) }]))
  const labware = Object.fromEntries(
    kinds.flatMap((kind): [string, object][] => [
      [kind, { type: '96-well' }],
      [`lid_of_${kind}`, { type: 'lid', kind: 'lid', on: kind }],
    ]),
  )
  const groups = Array.from({ length: 1 + random(4) }, (_, i) => ({ group_id: `g${i}`, members: {} }))
  return {
    documents: [bench, workflowOf('lidded', threads, { labware })],
    groups,
    plan: seed % 2 === 0 ? ('on' as const) : ('off' as const),
  }
}

test('random plates with lids and few positions all finish, with a plan and without', async (t) => {
  for (let seed = 0; seed < trials(60, 20); seed++) {
    const { documents, groups, plan } = randomLids(seed)
    const { runtime, incidents } = testRuntime(documents)
    const execution = await begin(runtime, { workflow: 'lidded', groups, plan })
    await until(() => execution.isOver || incidents.length > 0, `the end of seed ${seed}`)
    if (execution.phase.current !== 'completed')
      t.same(
        incidents.map(({ message }) => message),
        [],
        `seed ${seed}`,
      )
    const left = execution.environment.scheduler
      .positions()
      .filter(({ labware_id, reserved_for }) => labware_id !== null || reserved_for !== null)
    if (left.length > 0) t.same(left, [], `seed ${seed} leaves something`)
  }
  t.pass()
})

test('a transporter that cannot be told how high it grips a lid is refused before the run, and a person is not', (t) => {
  const document = lidded()
  const made = (grip_offset_mm?: number) => {
    Object.assign(document.labware.lid, { grip_offset_mm })
    const bench = drivenBench(topology)
    const sources: Source[] = [topology, document].map((input, i) => ({
      origin: `document ${i}`,
      form: 'typescript',
      input: structuredClone(input),
    }))
    const [workflow] = [...compileLibrary(sources, bench).workflows.values()]
    return (lids: Bench['lids']) => refusalFor(workflow!, 'LIVE', { ...bench, lids: lids! })
  }
  const arm = () => ({ why: undefined, needsOffset: true })
  t.match(made()(arm), /arm would close its fingers on the plate: say in labware.lid.grip_offset_mm how much higher it grips lid/)
  t.equal(made(6)(arm), undefined)
  const named = () => ({ why: knowsNoHeights('arm'), needsOffset: true })
  t.match(made(6)(named), /arm knows its positions by their names, and cannot be told to grip a lid higher/)
  t.equal(
    made()(() => ({ why: undefined, needsOffset: false })),
    undefined,
    'a person',
  )
  t.end()
})

test('the way to a lid is that to its position, raised; joint coordinates cannot be raised', (t) => {
  const pose = { x: 1, y: 2, z: 100, yaw: 0, pitch: 0, roll: 0 }
  t.match(raised({ at: 'pad_1', pose }, 6), { at: 'pad_1', pose: { ...pose, z: 106 } })
  const bent = { at: 'bent', joints: { base: 0, shoulder: 0, elbow: 0, wrist: 0, rail: 0, gripper: 0 } }
  t.equal(raised(bent, 6), undefined)
  t.equal(raised(bent, 0), bent)
  t.match(whyNoLids([bent], 'arm-1'), /arm-1 cannot grip a lid at bent, because that point is taught in joint coordinates/)
  t.end()
})
