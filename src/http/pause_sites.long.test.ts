// Every place where an error can hold a thread, as an operator comes there on the simulated bench, and what each decision does.

import { type Test, test } from 'tap'
import { noTypeScript } from '../kit/modules.test.typescript.ts'
import { isRefusal } from '../testing/http.ts'
import { atPad1, beginRun, ended, plateRun, type Scripted, seal, shake } from '../testing/http_runs.ts'
import type { ShownThread } from '../workflow/snapshot.ts'
import { type Decision, decisions, type PauseSite } from '../workflow/threads/recovery.ts'

type Held = {
  run: Scripted
  thread: ShownThread
  /** What an operator does before the decision. */
  mend?(decision: Decision): Promise<unknown>
  /** And after it. */
  after?(decision: Decision): Promise<unknown>
}
type Scene = {
  open(t: Test): Promise<Held>
  incident: string | null
  /** Why it is held. */
  why: RegExp
  remedy: RegExp
  /** What is latched on which device meanwhile. */
  latched?: [device_id: string, state: 'faulted' | 'stopped']
  /** What has ended from the decision on, in order. A decision that is not here is refused. */
  ends: Partial<Record<Decision, readonly string[]>>
  /** A decision that is offered only when somebody has said where the labware is. */
  later?: Decision
}

const twoSteps = [{ method: 'shake_it' }, { method: 'seal_it' }]
const cup = { labware: 'cup', start: { at: 'waste', mode: 'DISPENSE' }, end: { at: ['waste'] } }
const joining = { join: ['spin_it', 'spin_on'] }
const spin = { do: 'centrifuge', on: 'centrifuge-1', with: { g: 500, duration: 10 }, labware: ['plate', 'cup'] }
/** A plate that is spun with a cup, twice. */
const spinning = (more: object) =>
  plateRun([], {
    labware: { plate: { type: '96-well' }, cup: { type: 'cup' } },
    methods: { spin_it: [spin], spin_on: [spin] },
    threads: { plate: { labware: 'plate', ...atPad1, steps: [{ method: 'spin_it' }, { method: 'spin_on' }] }, cup: { ...cup, ...more } },
  })

const body = `
let calls = 0
const workflow = ${JSON.stringify(plateRun(twoSteps))}
workflow.methods.shake_it[0] = {
  name: 'look',
  on: 'shaker-1',
  async body(ctx) {
    if (++calls === 1) throw new Error('no such file')
    await ctx.device.shake({ speed: 500, duration: 5 })
  },
}
export default workflow
`

const shaken = ['ACTION shake COMPLETED', 'ACTION emit COMPLETED', 'METHOD shake_it COMPLETED']
const sealed = ['ACTION seal COMPLETED', 'METHOD seal_it COMPLETED']
const spunOn = ['ACTION centrifuge COMPLETED', 'METHOD spin_on COMPLETED']
const over = 'EXECUTION COMPLETED'
const done = ['THREAD plate COMPLETED', over]
const aborted = ['THREAD plate ABORTED', over]
const unshaken = 'METHOD shake_it PARTIAL_COMPLETE'

const scenes: Record<PauseSite, Scene> = {
  ACTION_BODY: {
    async open(t) {
      const run = await beginRun(t, { workflow: body })
      return { run, thread: await run.thread('plate', 'PAUSED') }
    },
    incident: 'ACTION_FAILED',
    why: /^no such file$/,
    remedy: /^recover the thread/,
    ends: {
      RETRY: ['ACTION look COMPLETED', ...shaken.slice(1), ...sealed, ...done],
      CONTINUE: [...shaken.slice(1), ...sealed, ...done],
      ABORT_ACTION: ['ACTION emit COMPLETED', unshaken, ...sealed, ...done],
      ABORT_METHOD: [unshaken, ...sealed, ...done],
      ABORT_THREAD: [unshaken, ...aborted],
    },
  },
  DEVICE_OP: {
    async open(t) {
      const run = await beginRun(t, { workflow: plateRun(twoSteps) })
      await run.does('shaker-1', 'shake')
      await run.breaks('shaker-1', 'jam')
      return { run, thread: await run.thread('plate', 'PAUSED'), mend: () => run.mends('shaker-1') }
    },
    incident: 'ACTION_FAILED',
    why: /shaker-1 .*error 102/,
    remedy: /^recover the thread/,
    latched: ['shaker-1', 'faulted'],
    ends: {
      RETRY: ['ACTION shake ERRORED', ...shaken, ...sealed, ...done],
      RETRY_OP: [...shaken, ...sealed, ...done],
      CONTINUE: [...shaken, ...sealed, ...done],
      ABORT_ACTION: ['ACTION shake ERRORED', 'ACTION emit COMPLETED', unshaken, ...sealed, ...done],
      ABORT_METHOD: ['ACTION shake ERRORED', unshaken, ...sealed, ...done],
      ABORT_THREAD: ['ACTION shake ABORTED', unshaken, ...aborted],
    },
  },
  MOVE: {
    async open(t) {
      const run = await beginRun(t, { workflow: plateRun(twoSteps) })
      await run.until('placing', async () => (await run.snapshot()).moves.some(({ status }) => status === 'PLACING'), 100)
      await run.breaks('arm-1', 'jam')
      const mend = async (decision: Decision) => {
        await run.mends('arm-1')
        if (decision === 'CONTINUE') await run.carries('plate', 'shaker_in')
      }
      return { run, thread: await run.thread('plate', 'PAUSED'), mend }
    },
    incident: 'MOVE_FAILED',
    why: /arm-1: place failed: something is in its way/,
    remedy: /not held by arm-1.*PUT \/api\/labware\/[0-9a-f-]+\/location/,
    latched: ['arm-1', 'faulted'],
    ends: {
      RETRY: [...shaken, ...sealed, ...done],
      CONTINUE: [...shaken, ...sealed, ...done],
      ABORT_THREAD: ['ACTION shake ABORTED', unshaken, ...aborted],
    },
    later: 'CONTINUE',
  },
  MOVE_RESOLUTION: {
    async open(t) {
      const run = await beginRun(t, { workflow: plateRun([{ wait_for: 'go' }]) })
      await run.thread('plate', 'AWAITING_EVENT')
      await run.carries('plate', 'isle_1')
      await run.emits('go')
      return { run, thread: await run.thread('plate', 'PAUSED'), mend: () => run.carries('plate', 'pad_2') }
    },
    incident: 'MOVE_FAILED',
    why: /there is no way from isle_1 to pad_1; carry plate/,
    remedy: /carry plate to where there is a way.*PUT \/api\/labware/,
    ends: { RETRY: done, ABORT_THREAD: aborted },
  },
  IDENTITY: {
    async open(t) {
      const document = plateRun([{ method: 'seal_it' }])
      const run = await beginRun(t, { workflow: document, has_scanner: true })
      await run.does('scan-1', 'scan')
      await run.breaks('scan-1', 'jam')
      return { run, thread: await run.thread('plate', 'PAUSED'), mend: () => run.mends('scan-1') }
    },
    incident: 'ACTION_FAILED',
    why: /^scan-1: .*jammed.*; plate at pad_1 was not scanned$/,
    remedy: /look at the labware at pad_1. Put plate there, and decide RETRY/,
    latched: ['scan-1', 'faulted'],
    // It comes back to the scanner at its end.
    ends: {
      RETRY: ['ACTION scan COMPLETED', ...sealed, 'ACTION scan COMPLETED', ...done],
      CONTINUE: [...sealed, 'ACTION scan COMPLETED', ...done],
      ABORT_THREAD: aborted,
    },
  },
  ACTION_RESOLUTION: {
    async open(t) {
      const run = await beginRun(t, { workflow: plateRun([{ wait_for: 'go' }, { method: 'seal_it' }, { method: 'shake_it' }]) })
      await run.thread('plate', 'AWAITING_EVENT')
      await run.post('/api/devices/sealer-1/stop')
      await run.emits('go')
      return { run, thread: await run.thread('plate', 'PAUSED'), mend: () => run.mends('sealer-1') }
    },
    incident: 'DEVICE_INIT_FAILED',
    why: /sealer-1 was stopped; .*initialize/,
    remedy: /initialize a device/,
    latched: ['sealer-1', 'stopped'],
    ends: {
      RETRY: [...sealed, ...shaken, ...done],
      ABORT_ACTION: ['ACTION seal ABORTED', 'METHOD seal_it PARTIAL_COMPLETE', ...aborted],
      ABORT_METHOD: ['ACTION seal ABORTED', 'METHOD seal_it PARTIAL_COMPLETE', ...aborted],
      ABORT_THREAD: ['ACTION seal ABORTED', 'METHOD seal_it PARTIAL_COMPLETE', ...aborted],
    },
  },
  DEADLOCK: {
    async open(t) {
      const plate = { ...cup, labware: 'plate', immovable: true, steps: [{ wait_for: 'go' }] }
      const groups = ['g1', 'g2'].map((group_id) => ({ group_id }))
      const run = await beginRun(t, { workflow: plateRun([], { threads: { plate } }), submission: { groups } })
      const first = await run.thread('plate', 'AWAITING_EVENT')
      const mend = async () => {
        await run.post(`/api/threads/${first.thread_id}/stop`)
        await run.thread('plate', 'STOPPED')
      }
      return {
        run,
        thread: await run.thread('plate-2', 'PAUSED'),
        mend,
        after: (decision) => (decision === 'RETRY' ? run.emits('go') : Promise.resolve()),
      }
    },
    incident: 'UNRESOLVABLE_DEADLOCK',
    why: /waste cannot be had: plate stands there/,
    remedy: /make room/,
    ends: {
      RETRY: ['THREAD plate STOPPED', 'THREAD plate-2 COMPLETED', over],
      ABORT_ACTION: ['THREAD plate STOPPED', 'THREAD plate-2 ABORTED', over],
      ABORT_METHOD: ['THREAD plate STOPPED', 'THREAD plate-2 ABORTED', over],
      ABORT_THREAD: ['THREAD plate STOPPED', 'THREAD plate-2 ABORTED', over],
    },
  },
  THREAD_STEP: {
    async open(t) {
      const run = await beginRun(t, { workflow: spinning({ steps: [{ wait_for: 'go' }, { while_more_work: [joining] }] }) })
      await run.thread('cup', 'AWAITING_EVENT')
      await run.carries('cup', 'isle_1')
      await run.emits('go')
      const after = async (decision: Decision) => {
        if (decision !== 'ABORT_THREAD') return
        await run.thread('plate', 'PAUSED')
        await run.post(`/api/executions/${run.execution_id}/resume`)
      }
      return { run, thread: await run.thread('cup', 'PAUSED'), mend: () => run.carries('cup', 'pad_2'), after }
    },
    incident: 'OTHER',
    why: /there is no way from isle_1 to centrifuge_gate; carry cup/,
    remedy: /^recover the thread/,
    ends: {
      RETRY: ['ACTION centrifuge COMPLETED', 'METHOD spin_it COMPLETED', ...spunOn, done[0]!, 'THREAD cup COMPLETED', over],
      ABORT_THREAD: [
        'THREAD cup ABORTED',
        'ACTION centrifuge ERRORED',
        'METHOD spin_it PARTIAL_COMPLETE',
        ...spunOn,
        done[0]!,
        'THREAD cup-2 COMPLETED',
        over,
      ],
    },
  },
  WAIT_EVENT_TIMEOUT: {
    async open(t) {
      const run = await beginRun(t, { workflow: plateRun([{ wait_for: 'go', timeout: 60 }, { method: 'seal_it' }]) })
      return {
        run,
        thread: await run.thread('plate', 'PAUSED'),
        after: async (decision) => {
          if (decision === 'RETRY') await run.emits('go')
        },
      }
    },
    incident: 'RECOVERABLE_TIMEOUT',
    why: /^go was not emitted within 60 s$/,
    remedy: /RETRY, which waits as long again/,
    ends: { RETRY: [...sealed, ...done], ABORT_THREAD: aborted },
  },
  SPAWN_CAPACITY: {
    async open(t) {
      const full = { capacity: { max: 1, when_full: 'RECOVERABLE_REJECT' }, steps: [{ while_more_work: [joining] }, { wait_for: 'go' }] }
      const run = await beginRun(t, { workflow: spinning(full) })
      const mend = async () => {
        await run.emits('go')
        await run.thread('cup', 'COMPLETED')
      }
      return { run, thread: await run.thread('plate', 'PAUSED'), mend }
    },
    incident: 'AUTO_SPAWN_FAILED',
    why: /needs cup, and the thread that brings it takes on no more methods/,
    remedy: /wait until the thread that brings it has ended/,
    ends: {
      RETRY: ['THREAD cup COMPLETED', ...spunOn, done[0]!, 'THREAD cup-2 COMPLETED', over],
      ABORT_THREAD: ['THREAD cup COMPLETED', 'ACTION centrifuge ABORTED', 'METHOD spin_on PARTIAL_COMPLETE', ...aborted],
    },
  },
  DEVICE_TIMEOUT: {
    async open(t) {
      const slow = { ...shake, with: { speed: 500, duration: 600 } }
      const run = await beginRun(t, {
        workflow: plateRun(twoSteps, { methods: { shake_it: [slow, { emit: 'shaken' }], seal_it: [seal] } }),
        time_scale: 0.8,
      })
      // What was cut off is stopped, and gives the plate away once it is initialized.
      const after = async (decision: Decision) => {
        if (decision !== 'CONTINUE') return
        const { last_error } = await run.heldAgain('plate', 'MOVE')
        t.match(last_error, /shaker-1 was stopped/)
        await run.post('/api/devices/shaker-1/initialize')
        await run.recover(thread.thread_id, 'RETRY')
      }
      const thread = await run.thread('plate', 'PAUSED')
      return { run, thread, after }
    },
    incident: 'RECOVERABLE_TIMEOUT',
    why: /^shake of shaker-1 for plate has not ended within 630 s$/,
    remedy: /POST \/api\/incidents\/[0-9a-f-]+\/extend .*stopped until it is initialized/,
    ends: { CONTINUE: [...shaken, ...sealed, ...done], ABORT_THREAD: ['ACTION shake ABORTED', unshaken, ...aborted] },
  },
  RESTART: {
    async open(t) {
      const before = await beginRun(t, { workflow: plateRun(twoSteps) })
      await before.does('shaker-1', 'shake')
      const run = await before.afterPowerCut()
      const after = async (decision: Decision) => {
        if (decision !== 'ABORT_THREAD') await run.post(`/api/executions/${run.execution_id}/resume`)
      }
      return { run, thread: await run.thread('plate', 'PAUSED'), after }
    },
    incident: null,
    why: /^the service restarted$/,
    remedy: /see how far shake has come/,
    ends: {
      RETRY: [...shaken, ...sealed, ...done],
      CONTINUE: [...shaken.slice(1), ...sealed, ...done],
      ABORT_ACTION: ['ACTION emit COMPLETED', unshaken, ...sealed, ...done],
      ABORT_METHOD: [unshaken, ...sealed, ...done],
      ABORT_THREAD: [unshaken, ...aborted],
    },
  },
}

for (const [site, scene] of Object.entries(scenes)) {
  const honoured = decisions.filter((decision) => scene.ends[decision])
  const options = { skip: site === 'ACTION_BODY' && noTypeScript }

  test(`at ${site} an operator sees why and what to do; all but ${honoured.join(', ')} is refused`, options, async (t) => {
    const { run, thread } = await scene.open(t)
    const offered = honoured.filter((decision) => decision !== scene.later)
    const pause_reason = site === 'RESTART' ? 'system' : 'error'
    t.match(thread, { status: 'PAUSED', pause_reason, last_error: scene.why })
    t.same(thread.decisions, offered)
    t.equal((await run.incidents()).at(-1)?.category ?? null, scene.incident)
    const blockers = await run.blockers()
    t.match(
      blockers.find(({ thread_id }) => thread_id === thread.thread_id),
      { kind: site === 'RESTART' ? 'paused' : 'error', message: /possible decisions: |resume/, remedy: scene.remedy },
    )
    if (scene.latched) {
      const [device_id, state] = scene.latched
      t.match(await run.get(`/api/devices/${device_id}`), { state, lock: null, fault: {} })
      const first = state === 'stopped' ? 'see that it is safe' : 'remove the cause'
      t.match(blockers[0], { kind: 'device_fault', device_id, remedy: `${first}, then initialize ${device_id}` })
      t.equal((await run.named(`DEVICE.${device_id}.FAULTED`)).length, 1)
    }
    const own = async () => (await run.events()).filter(({ context }) => context.thread_id === thread.thread_id)
    const before = await own()
    for (const decision of decisions.filter((decision) => !scene.ends[decision])) {
      const reply = await run.recover(thread.thread_id, decision)
      isRefusal(t, reply, 409, 'conflict')
      t.match(reply.body, { detail: `${decision} is not possible at ${site}; possible are ${honoured.join(', ')}` })
    }
    t.same(await own(), before)
    const { waiting: _, progress: __, ...still } = await run.thread(thread.thread_name, 'PAUSED')
    t.match(thread, still, 'nothing has changed')
  })

  for (const decision of honoured) {
    test(`${decision} at ${site} comes to its own end on the bench`, options, async (t) => {
      const { run, thread, mend, after } = await scene.open(t)
      const before = (await run.events()).length
      await mend?.(decision)
      t.match(await run.recover(thread.thread_id, decision), {
        status: 200,
        body: { success: true, message: `the decision about ${thread.thread_name} is ${decision}` },
      })
      await after?.(decision)
      t.equal(await run.over(), 'COMPLETED')
      t.same(ended((await run.events()).slice(before)), scene.ends[decision])
      const { threads } = await run.snapshot()
      const { status, last_error } = threads.find(({ thread_id }) => thread_id === thread.thread_id)!
      t.equal(last_error !== null, status === 'ABORTED', 'an error that is dealt with is over, and an end keeps its cause')
      if (!scene.latched || !mend) return
      const [device_id] = scene.latched
      t.match(await run.get(`/api/devices/${device_id}`), { state: 'ready', fault: null })
      t.equal((await run.named(`DEVICE.${device_id}.FAULT_CLEARED`)).length, 1)
    })
  }
}
