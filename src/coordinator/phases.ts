// The work of each phase of a journey. A phase asks before it acts: it looks at the bench, and orders only what the bench does not know yet,
// under an id that was kept before. So each phase can be repeated after the coordinator, a bench, the broker or the database has died in it.

import { LabError } from '../errors.ts'
import { Execution, Labware, Submission, type Thread } from './answers.ts'
import { cut, Refused, type RemoteBench } from './benches.ts'
import type { Custody } from './custody.ts'
import { type BenchRun, type Holder, type JourneyState, legOf, newRun, now, type Phase, step } from './state.ts'

export type Trip = { journey_id: string; labware: string; state: JourneyState }

/** Something that a person or a carrier is to do with the labware. */
export type Task = { kind: 'place' | 'take' | 'bring' | 'take_away'; bench: string; position: string; thread_id: string }

/** The journey cannot go on yet. */
export type Waiting = {
  /** A sentence that says for what. */
  waiting: string
  /** Whether somebody has to look. */
  needs_person?: boolean
  task?: Task
  /** No event reports the end of the wait, so the bench is asked sooner than usual. */
  is_soon?: true
}

export type JourneyContext = {
  bench(name: string): RemoteBench
  custody: Pick<Custody, 'give'>
  /** Returns undefined if the journey may begin now, else a sentence that says why not. */
  admit(trip: Trip): Promise<string | undefined>
  /** Claims the positions of a hand-over. Returns a sentence if another journey has them. */
  claim(trip: Trip, spots: readonly string[]): Promise<string | undefined>
  release(trip: Trip): Promise<void>
  /** Withdraws a run from its bench: now, or as soon as the bench answers. */
  withdraw(trip: Trip, run: BenchRun): Promise<void>
}

type Look = (trip: Trip, context: JourneyContext) => Promise<JourneyState | Waiting>

/** The group of a journey's labware in each of its runs. */
export const groupId = 'journey'
const endings = ['COMPLETED', 'STOPPED', 'ABORTED', 'FAILED']

/** The phases that only observe: an event that they find counts for more than a decision. */
export const observing: ReadonlySet<Phase> = new Set<Phase>(['place', 'grant', 'ready', 'take', 'bring', 'work'])

export const looks: Readonly<Record<Exclude<Phase, 'over' | 'person'>, Look>> = {
  async queued(trip, context) {
    const waiting = await context.admit(trip)
    return waiting === undefined ? step(trip.state, 'prepare') : { waiting }
  },

  async claim(trip, context) {
    const { state } = trip
    const { carried } = legOf(state)
    const spots = [`${state.at!.bench}/${carried!.from}`, `${legOf(state).bench}/${carried!.to}`]
    const waiting = await context.claim(trip, spots)
    return waiting === undefined ? step(state, 'prepare') : { waiting }
  },

  async prepare({ state }, context) {
    const { bench } = legOf(state)
    return step(state, 'order', { run: newRun(bench, await context.bench(bench).epoch()) })
  },

  async order({ state, labware }, context) {
    const { workflow, thread, start, variables, bench } = legOf(state)
    const run = state.run!
    const ordered = await order(context.bench(run.bench), run, { workflow, variables, thread, start, labware })
    if (!('execution_id' in ordered)) return ordered
    const isElsewhere = state.at !== null && state.at.bench !== bench
    return step(state, state.is_carried ? 'bring' : isElsewhere ? 'grant' : 'place', { run: ordered })
  },

  async place(trip, context) {
    const { state, labware } = trip
    const { start, bench } = legOf(state)
    const seen = await look(state.run!, context)
    if (!('thread' in seen)) return seen
    if (isOver(seen.thread) && seen.thread.status !== 'COMPLETED') return problem(state, failed(seen, state.run!))
    if (isOver(seen.thread) || seen.thread.position !== null) {
      await give(trip, context, { bench, position: start })
      return step(state, 'work', { at: { bench, position: start } })
    }
    return awaitHand(seen, state.run!, 'AWAITING_MANUAL_PLACE', {
      task: { kind: 'place', bench, position: start, thread_id: seen.thread.thread_id },
      waiting: `${labware} is to be put at ${start} of ${bench}`,
    })
  },

  async grant({ state }, context) {
    const { bench, start } = legOf(state)
    const seen = await look(state.run!, context)
    if (!('thread' in seen)) return seen
    if (isOver(seen.thread)) return problem(state, failed(seen, state.run!))
    if (seen.thread.status === 'AWAITING_MANUAL_PLACE' || seen.thread.position !== null) return step(state, 'release_prepare')
    return stands(seen, state.run!) ?? { waiting: `${bench} does not keep ${start} for it yet` }
  },

  async release_prepare({ state }, context) {
    const { bench } = state.at!
    return step(state, 'release', { release: newRun(bench, await context.bench(bench).epoch()) })
  },

  async release({ state, labware }, context) {
    const { workflow } = state.legs[state.leg - 1]!.out!
    return ordersMove(state, context, { workflow, start: state.at!.position, labware })
  },

  async back({ state, labware }, context) {
    const { back, position } = state.legs[state.leg - 1]!.out!
    const ordered =
      state.release!.execution_id === null
        ? await ordersMove(state, context, { workflow: back, start: position, labware }, 'back')
        : undefined
    if (ordered) return ordered
    const seen = await look(state.release!, context)
    if (!('thread' in seen)) return seen
    if (isOver(seen.thread)) return problem(state, failed(seen, state.release!))
    if (seen.thread.position !== null) return step(state, 'take')
    // With the decision `done` the person has said that the labware stands there.
    if (seen.thread.status === 'AWAITING_MANUAL_PLACE')
      await context.bench(state.release!.bench).ask('POST', `/api/threads/${seen.thread.thread_id}/placed`, { barcode: labware })
    return { waiting: `${labware} is taken back at ${position} of ${state.release!.bench}` }
  },

  async ready({ state }, context) {
    const seen = await look(state.release!, context)
    if (!('thread' in seen)) return seen
    if (seen.thread.status === 'AWAITING_MANUAL_REMOVE' || seen.thread.status === 'COMPLETED') return step(state, 'take')
    if (isOver(seen.thread)) return problem(state, failed(seen, state.release!))
    return stands(seen, state.release!) ?? { waiting: `${state.at!.bench} moves it to ${legOf(state).carried!.from}` }
  },

  async take(trip, context) {
    const { state, labware } = trip
    const { carried, bench } = legOf(state)
    const { position } = state.legs[state.leg - 1]!.out!
    const from = state.at!.bench
    const seen = await look(state.release!, context)
    if (!('thread' in seen)) return seen
    if (seen.thread.status === 'COMPLETED') {
      await give(trip, context, { carrier: carried!.by })
      return step(state, 'bring', { is_carried: true })
    }
    if (isOver(seen.thread)) return problem(state, failed(seen, state.release!))
    return awaitHand(seen, state.release!, 'AWAITING_MANUAL_REMOVE', {
      task: { kind: 'take', bench: from, position, thread_id: seen.thread.thread_id },
      ...late(state, `${carried!.by} is to take ${labware} from ${position} of ${from}, for ${bench}`),
    })
  },

  async bring(trip, context) {
    const { state, labware } = trip
    const { carried, bench, start } = legOf(state)
    const seen = await look(state.run!, context)
    if (!('thread' in seen)) return seen
    if (seen.thread.position !== null || seen.thread.status === 'COMPLETED') {
      await give(trip, context, { bench, position: start })
      await context.release(trip)
      return step(state, 'work', { at: { bench, position: start }, is_carried: false })
    }
    if (isOver(seen.thread)) return problem(state, failed(seen, state.run!))
    return awaitHand(seen, state.run!, 'AWAITING_MANUAL_PLACE', {
      task: { kind: 'bring', bench, position: start, thread_id: seen.thread.thread_id },
      ...late(state, `${carried!.by} has ${labware}, which is to be put at ${start} of ${bench}`),
    })
  },

  async work(trip, context) {
    const { state, labware } = trip
    const { bench } = legOf(state)
    const seen = await look(state.run!, context)
    if (!('thread' in seen)) return seen
    if (isOver(seen.thread) && seen.thread.status !== 'COMPLETED') return problem(state, failed(seen, state.run!))
    if (seen.thread.status === 'COMPLETED')
      return legDone(trip, context, seen.thread.position ?? (await whereIs(context.bench(bench), labware)))
    if (seen.thread.status === 'AWAITING_MANUAL_REMOVE') {
      const position = seen.thread.position ?? ''
      const task: Task = { kind: 'take_away', bench, position, thread_id: seen.thread.thread_id }
      return awaitHand(seen, state.run!, 'AWAITING_MANUAL_REMOVE', {
        task,
        waiting: `${labware} is done, and is to be taken away from ${position} of ${bench}`,
      })
    }
    return stands(seen, state.run!) ?? { waiting: `${bench} runs ${legOf(state).workflow}` }
  },
}

/** The labware has left the run of its leg, and stands at the position, or nowhere on the bench. */
export async function legDone(trip: Trip, context: JourneyContext, position: string | null): Promise<JourneyState> {
  const { state, labware } = trip
  const { bench } = legOf(state)
  const isLast = state.leg === state.legs.length - 1
  if (position === null && !isLast) return problem(state, `${bench} has done its part, and ${labware} does not stand on it any more`)
  const holder: Holder = position === null ? { nobody: 'taken away' } : { bench, position }
  await give(trip, context, holder)
  const at = position === null ? state.at : { bench, position }
  if (isLast) return step(state, 'over', { at, outcome: 'done' })
  await context.release(trip)
  return step(state, 'claim', { at, leg: state.leg + 1, run: null, release: null })
}

export function problem(state: JourneyState, what: string): JourneyState {
  return step(state, 'person', { problem: { what: cut(what), phase: state.phase } })
}

export function give({ journey_id, labware, state }: Trip, context: Pick<JourneyContext, 'custody'>, holder: Holder): Promise<void> {
  return context.custody.give({ labware, holder, journey_id, step: String(state.number) })
}

type RunRequest = { workflow: string; thread: string; start: string; labware: string; variables: Record<string, unknown> }

/** Orders a run unless the bench knows it. A bench that was put back from a backup is not ordered from. */
async function order(bench: RemoteBench, run: BenchRun, wanted: RunRequest): Promise<BenchRun | Waiting> {
  const known = await bench.find(`/api/submissions/${run.submission_id}`, Submission)
  try {
    const { execution_id } = known ?? (await submitted(bench, run, wanted))
    const { threads } = await bench.get(`/api/executions/${execution_id}`, Execution)
    const thread = threads.find(({ template_name, group_id }) => template_name === wanted.thread && group_id === groupId)
    // A bench lists a thread only after the run is stored.
    if (!thread) return { waiting: `${bench.name} begins run ${execution_id.slice(0, 8)}`, is_soon: true }
    return { ...run, execution_id, thread_id: thread.thread_id }
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    // A conflict passes when other labware has moved on. A person has to resolve any other refusal at the bench.
    return {
      waiting: `the run was refused, and is asked for again: ${error.message}`,
      needs_person: error.status !== 409 && error.status !== 503,
    }
  }
}

async function submitted(
  bench: RemoteBench,
  run: BenchRun,
  { workflow, thread, start, labware, variables }: RunRequest,
): Promise<{ execution_id: string }> {
  const epoch = await bench.epoch()
  if (epoch !== run.epoch) throw new Restored(bench.name)
  const groups = [{ group_id: groupId, members: { [thread]: { location: start, barcode: labware } } }]
  const order = { submission_id: run.submission_id, workflow, run_mode: 'LIVE', groups, variables, operator_id: 'lab' }
  return bench.ask('POST', '/api/submissions', order, Submission)
}

/** The history of the bench is not the one in which the run was ordered. */
export class Restored extends LabError {
  constructor(bench: string) {
    super(
      'conflict',
      `${bench} was put back from a backup, or has begun anew: what it did for this journey since then it does not know; look where the labware is`,
    )
  }
}

type Move = { workflow: string; start: string; labware: string }

async function ordersMove(
  state: JourneyState,
  context: JourneyContext,
  { workflow, start, labware }: Move,
  next: Phase = 'ready',
): Promise<JourneyState | Waiting> {
  const release = state.release!
  const ordered = await order(context.bench(release.bench), release, { workflow, thread: 'labware', start, labware, variables: {} })
  return 'execution_id' in ordered ? step(state, next, { release: ordered }) : ordered
}

type SeenThread = { thread: Thread; execution: Execution }

/** Reads the thread of the run. Throws `Restored` if the bench has another history than the run. */
async function look(run: BenchRun, context: JourneyContext): Promise<SeenThread | Waiting> {
  const bench = context.bench(run.bench)
  const execution = await bench.find(`/api/executions/${run.execution_id}`, Execution)
  if ((await bench.epoch()) !== run.epoch) throw new Restored(run.bench)
  if (!execution) throw new Restored(run.bench)
  const thread = execution.threads.find(({ thread_id }) => thread_id === run.thread_id)
  return thread
    ? { thread, execution }
    : { waiting: `${run.bench} does not show the thread of run ${run.execution_id!.slice(0, 8)}`, needs_person: true }
}

export function isOver({ status }: Pick<Thread, 'status'>): boolean {
  return endings.includes(status)
}

function failed({ thread, execution }: SeenThread, run: BenchRun): string {
  const why = execution.reason ?? thread.last_error
  return `run ${run.execution_id!.slice(0, 8)} on ${run.bench} ended ${thread.status.toLowerCase()}${why === null ? '' : `: ${why}`}`
}

/** Returns what a run waits for that stands until a person acts at its bench. */
function stands({ thread, execution }: SeenThread, run: BenchRun): Waiting | undefined {
  const name = `run ${run.execution_id!.slice(0, 8)} on ${run.bench}`
  if (execution.paused) {
    const since = execution.paused.reason === 'system' ? ' since a restart' : ''
    return { waiting: `${name} is paused${since}; resume it there`, needs_person: true }
  }
  if (thread.status !== 'PAUSED') return undefined
  const why =
    thread.pause_reason === 'error'
      ? `an error holds it: ${thread.last_error}; decide about it there`
      : 'its thread is paused; resume it there'
  return { waiting: `${name}: ${why}`, needs_person: true }
}

/** Waits until the bench asks for a hand; before that there is no task. */
function awaitHand(seen: SeenThread, run: BenchRun, status: string, { task, ...waiting }: Waiting): Waiting {
  if (seen.thread.status === status) return { ...waiting, ...(task && { task }) }
  return stands(seen, run) ?? { ...waiting }
}

function late({ since, legs, leg }: JourneyState, waiting: string): Waiting {
  const { max_wait } = legs[leg]!.carried!
  return now() - since > max_wait ? { waiting: `${waiting}, and waits for longer than ${max_wait} s`, needs_person: true } : { waiting }
}

async function whereIs(bench: RemoteBench, barcode: string): Promise<string | null> {
  const { labware } = await bench.get('/api/labware', Labware)
  return labware.find((one) => one.barcode === barcode && one.run_mode === 'LIVE')?.position ?? null
}
