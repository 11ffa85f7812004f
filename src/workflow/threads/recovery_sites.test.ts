// Every place where an error can hold a thread, and every decision there: refused, or what becomes of the run.

import { readFile } from 'node:fs/promises'
import { test } from 'tap'
import { dispensed, severalArms, workflowOf } from '../../testing/documents.ts'
import { begin, Kept, run, testRuntime, threadIn, trace, until } from '../../testing/workflow.ts'
import type { Execution } from '../runs/execution.ts'
import type { Runtime } from '../runtime.ts'
import { type Checkpoint, checkpointOf } from '../state/run.ts'
import { type Decision, decisions, type PauseSite } from './recovery.ts'
import type { LabwareThread } from './thread.ts'

const topology = severalArms(
  { arm: ['pad_1', 'pad_2', 'pad_3', 'gate', 'nest', 'deck', 'rack', 'bin'], crane: ['island', 'shelf'] },
  {
    ...{ parking: ['pad_3'], storages: ['rack', 'bin'], nests: { nest: 'mixer', deck: 'robot' } },
    ...{ sites: { robot: 2 }, operations: { mixer: { mix: 60, spin: 30 }, robot: { pour: null }, scan_1: { scan: 2 } } },
    scanners: { gate: 'scan_1' },
  },
)

const place = { start: { at: 'pad_1' }, end: { at: ['pad_1'], mode: 'LEAVE_IN_PLACE' } }
const twoSteps = [{ method: 'mix_it' }, { method: 'spin_it' }]
const methods = {
  mix_it: [
    { do: 'mix', on: 'mixer' },
    { do: 'spin', on: 'mixer' },
  ],
  spin_it: [{ do: 'spin', on: 'mixer' }],
}
const workflow = (steps: object[] = twoSteps, more: object = {}) => workflowOf('work', { plate: { ...place, steps } }, { methods, ...more })
const cup = { labware: 'cup', ...dispensed('rack', 'bin') }
const joining = { join: ['pour_it', 'pour_on'] }
/** A plate and what it is poured into. */
const pouring = (more: object) =>
  workflow([], {
    labware: { plate: { type: '96-well' }, cup: { type: 'cup' } },
    methods: {
      pour_it: [{ do: 'pour', on: 'robot', labware: ['plate', 'cup'] }],
      pour_on: [{ do: 'pour', on: 'robot', labware: ['plate', 'cup'] }],
    },
    threads: { plate: { labware: 'plate', ...place, steps: [{ method: 'pour_it' }, { method: 'pour_on' }] }, cup: { ...cup, ...more } },
  })

type Held = {
  runtime: Runtime
  execution: Execution
  thread: LabwareThread
  told: Parameters<typeof trace>[0]
  /** Puts right what was wrong. */
  mend?: (decision: Decision) => unknown
  /** Ends what else is there, once it is decided. */
  after?: (decision: Decision) => unknown
}

type Scene = {
  open(): Promise<Held>
  incident: string | null
  /** What has ended from the decision on, in order. A decision that is not here is refused. */
  ends: Partial<Record<Decision, readonly string[]>>
}

const mixed = ['ACTION mix COMPLETED', 'ACTION spin COMPLETED', 'METHOD mix_it COMPLETED']
const spun = ['ACTION spin COMPLETED', 'METHOD spin_it COMPLETED']
const done = ['THREAD plate COMPLETED', 'EXECUTION COMPLETED']
const aborted = ['METHOD mix_it PARTIAL_COMPLETE', 'THREAD plate ABORTED', 'EXECUTION COMPLETED']
const notWhole = ['ACTION spin COMPLETED', 'METHOD mix_it PARTIAL_COMPLETE', ...spun, ...done]
const nextMethod = ['METHOD mix_it PARTIAL_COMPLETE', ...spun, ...done]
const pouredOn = ['ACTION pour COMPLETED', 'METHOD pour_on COMPLETED']

function ended(told: Held['told']): string[] {
  return trace(told).filter((event) =>
    /^(ACTION (?!move)|METHOD|THREAD|EXECUTION).*(COMPLETED|ERRORED|SKIPPED|ABORTED|COMPLETE|STOPPED|FAILED)$/.test(event),
  )
}

async function heldAt(site: PauseSite, document: object, more: Parameters<typeof testRuntime>[1] = {}, name = 'plate'): Promise<Held> {
  const { runtime, told } = testRuntime([topology, document], more)
  const execution = await begin(runtime, { workflow: 'work' })
  const thread = await threadIn(execution, name, 'PAUSED')
  if (thread.control.pausedAt !== site) throw new Error(`it is held at ${thread.control.pausedAt}: ${thread.last_error}`)
  return { runtime, execution, thread, told }
}

const scenes: Record<PauseSite, Scene> = {
  ACTION_BODY: {
    async open() {
      let isBroken = true
      const body = async () => {
        if (isBroken) throw new Error('no such file')
      }
      const looking = { ...methods, mix_it: [{ name: 'look', on: 'mixer', body }, methods.mix_it[1]] }
      const held = await heldAt('ACTION_BODY', workflow(twoSteps, { methods: looking }))
      return { ...held, mend: () => (isBroken = false) }
    },
    incident: 'ACTION_FAILED',
    ends: {
      RETRY: ['ACTION look COMPLETED', ...mixed.slice(1), ...spun, ...done],
      CONTINUE: [...mixed.slice(1), ...spun, ...done],
      ABORT_ACTION: notWhole,
      ABORT_METHOD: nextMethod,
      ABORT_THREAD: aborted,
    },
  },
  DEVICE_OP: {
    open: () => heldAt('DEVICE_OP', workflow(), { faults: [{ operation: 'mix', call: 1, does: 'fail' }] }),
    incident: 'ACTION_FAILED',
    ends: {
      RETRY: ['ACTION mix ERRORED', ...mixed, ...spun, ...done],
      RETRY_OP: [...mixed, ...spun, ...done],
      CONTINUE: [...mixed, ...spun, ...done],
      ABORT_ACTION: ['ACTION mix ERRORED', ...notWhole],
      ABORT_METHOD: ['ACTION mix ERRORED', ...nextMethod],
      ABORT_THREAD: ['ACTION mix ABORTED', ...aborted],
    },
  },
  MOVE: {
    async open() {
      const held = await heldAt('MOVE', workflow(), { faults: [{ operation: 'place', call: 1, does: 'fail' }] })
      const { runtime, thread } = held
      const mend = (decision: Decision) => decision === 'CONTINUE' && runtime.relocate(thread.labware.labware_id, { position: 'nest' })
      return { ...held, mend }
    },
    incident: 'MOVE_FAILED',
    ends: { RETRY: [...mixed, ...spun, ...done], CONTINUE: [...mixed, ...spun, ...done], ABORT_THREAD: ['ACTION mix ABORTED', ...aborted] },
  },
  MOVE_RESOLUTION: {
    async open() {
      const { runtime, told } = testRuntime([topology, workflow([{ wait_for: 'go' }])])
      const execution = await begin(runtime, { workflow: 'work' })
      const thread = await threadIn(execution, 'plate', 'AWAITING_EVENT')
      runtime.relocate(thread.labware.labware_id, { position: 'island' })
      execution.events.emitCustom('go', { value: null, data: {} }, null)
      await threadIn(execution, 'plate', 'PAUSED')
      return { runtime, told, execution, thread, mend: () => runtime.relocate(thread.labware.labware_id, { position: 'pad_2' }) }
    },
    incident: 'MOVE_FAILED',
    ends: { RETRY: done, ABORT_THREAD: aborted.slice(1) },
  },
  IDENTITY: {
    open() {
      const scanned = workflowOf('work', { plate: { start: { at: 'gate' }, end: place.end, steps: [{ method: 'spin_it' }] } }, { methods })
      return heldAt('IDENTITY', scanned, { faults: [{ operation: 'scan', call: 1, does: 'fail' }] })
    },
    incident: 'ACTION_FAILED',
    ends: {
      RETRY: ['ACTION scan COMPLETED', ...spun, ...done],
      CONTINUE: [...spun, ...done],
      ABORT_THREAD: aborted.slice(1),
    },
  },
  ACTION_RESOLUTION: {
    open: () => heldAt('ACTION_RESOLUTION', workflow(), { faults: [{ operation: 'ready', device_id: 'mixer', call: 1, does: 'fail' }] }),
    incident: 'DEVICE_INIT_FAILED',
    ends: {
      RETRY: [...mixed, ...spun, ...done],
      ABORT_ACTION: ['ACTION mix ABORTED', ...aborted],
      ABORT_METHOD: ['ACTION mix ABORTED', ...aborted],
      ABORT_THREAD: ['ACTION mix ABORTED', ...aborted],
    },
  },
  DEADLOCK: {
    async open() {
      const plate = { ...cup, labware: 'plate', immovable: true, steps: [{ wait_for: 'go' }] }
      const { runtime, told } = testRuntime([topology, workflow([], { threads: { plate } })])
      const execution = await begin(runtime, { workflow: 'work', groups: ['g1', 'g2'].map((group_id) => ({ group_id, members: {} })) })
      const first = await threadIn(execution, 'plate', 'AWAITING_EVENT')
      const thread = await threadIn(execution, 'plate-2', 'PAUSED')
      return {
        runtime,
        told,
        execution,
        thread,
        mend: () => first.control.stop(),
        after: () => execution.events.emitCustom('go', { value: null, data: {} }, null),
      }
    },
    incident: 'UNRESOLVABLE_DEADLOCK',
    ends: {
      RETRY: ['THREAD plate STOPPED', 'THREAD plate-2 COMPLETED', 'EXECUTION COMPLETED'],
      ABORT_ACTION: ['THREAD plate-2 ABORTED', 'THREAD plate STOPPED', 'EXECUTION COMPLETED'],
      ABORT_METHOD: ['THREAD plate-2 ABORTED', 'THREAD plate STOPPED', 'EXECUTION COMPLETED'],
      ABORT_THREAD: ['THREAD plate-2 ABORTED', 'THREAD plate STOPPED', 'EXECUTION COMPLETED'],
    },
  },
  THREAD_STEP: {
    async open() {
      const { runtime, told } = testRuntime([topology, pouring({ steps: [{ wait_for: 'go' }, { while_more_work: [joining] }] })])
      const execution = await begin(runtime, { workflow: 'work' })
      const thread = await threadIn(execution, 'cup', 'AWAITING_EVENT')
      runtime.relocate(thread.labware.labware_id, { position: 'island' })
      execution.events.emitCustom('go', { value: null, data: {} }, null)
      await threadIn(execution, 'cup', 'PAUSED')
      const mend = () => runtime.relocate(thread.labware.labware_id, { position: 'pad_2' })
      // The plate is asked about too when nobody brings the cup any more.
      const after = async (decision: Decision) => {
        if (decision !== 'ABORT_THREAD') return
        await threadIn(execution, 'plate', 'PAUSED')
        execution.resume()
      }
      return { runtime, told, execution, thread, mend, after }
    },
    incident: 'OTHER',
    ends: {
      RETRY: ['ACTION pour COMPLETED', 'METHOD pour_it COMPLETED', ...pouredOn, done[0]!, 'THREAD cup COMPLETED', done[1]!],
      ABORT_THREAD: [
        'THREAD cup ABORTED',
        'ACTION pour ERRORED',
        'METHOD pour_it PARTIAL_COMPLETE',
        ...pouredOn,
        done[0]!,
        'THREAD cup-2 COMPLETED',
        done[1]!,
      ],
    },
  },
  WAIT_EVENT_TIMEOUT: {
    async open() {
      const held = await heldAt('WAIT_EVENT_TIMEOUT', workflow([{ wait_for: 'go', timeout: 60 }, { method: 'spin_it' }]))
      return { ...held, after: () => held.execution.events.emitCustom('go', { value: null, data: {} }, null) }
    },
    incident: 'RECOVERABLE_TIMEOUT',
    ends: { RETRY: [...spun, ...done], ABORT_THREAD: aborted.slice(1) },
  },
  SPAWN_CAPACITY: {
    async open() {
      const full = { capacity: { max: 1, when_full: 'RECOVERABLE_REJECT' }, steps: [{ while_more_work: [joining] }, { wait_for: 'go' }] }
      const held = await heldAt('SPAWN_CAPACITY', pouring(full))
      const { execution } = held
      const first = () => [...execution.threads.values()].find(({ name }) => name === 'cup')!
      const mend = async () => {
        execution.events.emitCustom('go', { value: null, data: {} }, null)
        await until(() => first().isOver)
      }
      return { ...held, mend }
    },
    incident: 'AUTO_SPAWN_FAILED',
    ends: {
      RETRY: ['THREAD cup COMPLETED', ...pouredOn, done[0]!, 'THREAD cup-2 COMPLETED', done[1]!],
      ABORT_THREAD: ['THREAD cup COMPLETED', 'ACTION pour ABORTED', 'METHOD pour_on PARTIAL_COMPLETE', ...aborted.slice(1)],
    },
  },
  DEVICE_TIMEOUT: {
    open: () => heldAt('DEVICE_TIMEOUT', workflow(), { faults: [{ operation: 'mix', call: 1, does: 'hang' }] }),
    incident: 'RECOVERABLE_TIMEOUT',
    ends: { CONTINUE: [...mixed, ...spun, ...done], ABORT_THREAD: ['ACTION mix ABORTED', ...aborted] },
  },
  RESTART: {
    async open() {
      const kept = new Kept()
      await run(testRuntime([topology, workflow()], { keep: () => kept }).runtime, { workflow: 'work' })
      const isBegun = ({ threads }: Checkpoint) => threads.some(({ interrupted }) => interrupted?.status === 'EXECUTING_ACTION')
      const saved = kept.all.map((keys) => checkpointOf(keys)!).find(isBegun)!
      const { runtime, told } = testRuntime([topology, workflow()], { ids: 1_000_000 })
      const execution = await runtime.restore(saved)
      const thread = await threadIn(execution, 'plate', 'PAUSED')
      return { runtime, told, execution, thread, after: () => execution.resume() }
    },
    incident: null,
    ends: {
      RETRY: [...mixed, ...spun, ...done],
      CONTINUE: [...mixed.slice(1), ...spun, ...done],
      ABORT_ACTION: notWhole,
      ABORT_METHOD: nextMethod,
      ABORT_THREAD: aborted,
    },
  },
}

test('the manual has every place, and what is possible there', async (t) => {
  const readme = await readFile(new URL('../../../../src/workflow/README.md', import.meta.url), 'utf8')
  const rows = [...readme.matchAll(/^\| `([A-Z_]+)` +\|.*\| ((?:[A-Z_]+, )+[A-Z_]+) +\|$/gm)].map(
    ([, site, possible]) => `${site}: ${possible}`,
  )
  t.same(
    rows,
    Object.entries(scenes).map(([site, { ends }]) => `${site}: ${decisions.filter((decision) => ends[decision]).join(', ')}`),
  )
})

for (const [site, { open, incident, ends }] of Object.entries(scenes) as [PauseSite, Scene][]) {
  const honoured = decisions.filter((decision) => ends[decision])

  test(`at ${site} what is not one of ${honoured.join(', ')} is refused, and changes nothing`, async (t) => {
    const { thread, told, execution, runtime } = await open()
    // Nothing is named that would be refused now: the labware is not at its target yet.
    const now = honoured.filter((decision) => site !== 'MOVE' || decision !== 'CONTINUE')
    t.same(thread.control.decisions, now)
    t.equal(told.findLast(({ entity_type }) => entity_type === 'INCIDENT')?.status ?? null, incident)
    const own = () => told.filter(({ context }) => context.thread_id === thread.thread_id)
    const before = own()
    for (const decision of decisions.filter((decision) => !ends[decision])) {
      const message = `${decision} is not possible at ${site}; possible are ${honoured.join(', ')}`
      t.throws(() => thread.control.recover(decision), { code: 'conflict', message })
    }
    await new Promise(setImmediate)
    t.equal(thread.status.current, 'PAUSED')
    t.same(own(), before)
    execution.abort('the test is over')
    await runtime.over(execution)
  })

  for (const decision of honoured) {
    test(`${decision} at ${site} comes to its own end`, async (t) => {
      const { thread, told, execution, runtime, mend, after } = await open()
      const before = told.length
      await mend?.(decision)
      thread.control.recover(decision)
      await after?.(decision)
      await runtime.over(execution)
      t.same(ended(told.slice(before)), ends[decision])
      t.equal(
        thread.last_error !== null,
        thread.status.current === 'ABORTED',
        'an error that is dealt with is over, and an end keeps its cause',
      )
    })
  }
}
