// Takes labware to a place: requests the place from the scheduler, then the route to it. While a thread waits, its labware may be parked.

import { LabError } from '../../../errors.ts'
import type { Hop } from '../../plans/graph.ts'
import type { Again, Candidate, Obstacle, Request, RequestHandle } from '../../scheduler/request.ts'
import type { Scheduler } from '../../scheduler/scheduler.ts'
import type { Signal } from '../../scheduler/signal.ts'
import { knowLid } from '../lid_carrier.ts'
import { ActionExit } from '../recovery.ts'
import type { LabwareThread } from '../thread.ts'
import { takeFreeArm } from './free_arm.ts'
import { ride } from './hop.ts'
import { identify } from './identify.ts'

type Answer = { granted: Candidate | undefined } | { position: string; again: Again } | { stuck: string }

export type ThreadRequest = Pick<Request, 'candidates' | 'after' | 'lidStops' | 'forLid' | 'use' | 'urgency_s' | 'keeps' | 'stands'> & {
  what: string
  /** See `Request`; read again each time `guests` tells. */
  inputs?(): readonly string[]
  guests?: Signal
  /** Whether the labware may be parked elsewhere meanwhile; true by default. */
  mayPark?: boolean
  priority?: Request['priority']
  /** `abort`: only an abort interrupts the wait. By default a pause and a stop do too. */
  interruptedBy?: 'abort'
  /** Called when nothing can be granted at once. */
  onWait?(): void
  /** Calls `tell` when the request is no longer needed. The returned function stops that. */
  unless?(tell: () => void): () => void
}

/**
 * Requests one of several places. Resolves with the granted one, or with undefined if `unless` ended the request. A deadlock that cannot be resolved
 * holds the thread until somebody decides. Rejects with `conflict` if no route leads to any of the places.
 */
export function request(
  thread: LabwareThread,
  wanted: ThreadRequest & { unless: NonNullable<ThreadRequest['unless']> },
): Promise<Candidate | undefined>
export function request(thread: LabwareThread, wanted: ThreadRequest): Promise<Candidate>
export async function request(thread: LabwareThread, wanted: ThreadRequest): Promise<Candidate | undefined> {
  let again: Again | undefined
  for (;;) {
    mustLead(thread, wanted.what, wanted.candidates)
    const asking = new Asking(thread, wanted)
    const { what, interruptedBy } = wanted
    const waiting = { kind: 'reservation', what, ...(interruptedBy && { interruptedBy }), obstacles: () => asking.obstacles() } as const
    const answer = await thread.control.wait<Answer>(waiting, (resolve) => asking.begin(resolve, again))
    if ('granted' in answer) return answer.granted
    if ('stuck' in answer) {
      asking.end()
      await decideDeadlock(thread, answer.stuck)
      continue
    }
    await park(thread, answer.position)
    again = answer.again
  }
}

/** A thread's request to the scheduler. One object in place of many closures, to save memory: hundreds of requests wait at once. */
class Asking implements Request {
  readonly thread_id: string
  readonly priority: 0 | 1
  readonly alone: boolean
  readonly stays: boolean
  readonly stands: boolean
  readonly from: Request['from']
  readonly candidates: Request['candidates']
  readonly after: Request['after']
  readonly lidStops: NonNullable<Request['lidStops']>
  readonly forLid: boolean
  readonly use: Request['use']
  readonly urgency_s: number
  readonly home: Request['home']
  readonly keeps: Request['keeps']
  readonly park: Request['park']
  inputs: readonly string[]
  readonly #wanted: ThreadRequest
  readonly #scheduler: Scheduler
  #asked: RequestHandle | undefined
  #resolve: ((answer: Answer) => void) | undefined
  #isUnneeded = false
  #callOff: (() => void) | undefined
  #unwatch: (() => void) | undefined

  constructor(thread: LabwareThread, wanted: ThreadRequest) {
    const { lidStops = [], forLid = false } = wanted
    const { candidates, after, use, urgency_s = 0, keeps, inputs, priority = 1, mayPark = true, stands = false } = wanted
    this.thread_id = thread.thread_id
    this.priority = priority
    this.alone = thread.execution.workflow.isAlone
    this.stays = staysAtEnd(thread)
    this.stands = stands
    this.from = stands ? undefined : storageOf(thread)
    this.candidates = candidates
    this.after = after
    this.lidStops = lidStops
    this.forLid = forLid
    this.use = use
    this.urgency_s = urgency_s
    this.home = thread.state.starts_at || undefined
    this.keeps = keeps
    this.inputs = inputs?.() ?? []
    this.park = mayPark && isParkable(thread) ? this.#toPark : undefined
    this.#wanted = wanted
    this.#scheduler = thread.environment.scheduler
  }

  /** Sends the request. `resolve` may be called before this returns. The returned function withdraws the request. */
  begin(resolve: (answer: Answer) => void, again: Again | undefined): () => void {
    const { unless, guests, onWait } = this.#wanted
    this.#resolve = resolve
    this.#callOff = unless?.(() => this.#needless())
    if (this.#isUnneeded) return this.#callOff!
    this.#unwatch = guests?.watch(() => this.#look())
    this.#asked = this.#scheduler.request(this, again)
    try {
      if (this.#asked.state === 'waiting') onWait?.()
    } catch (error) {
      this.end()
      throw error
    }
    return () => this.end()
  }

  granted(granted: Candidate): void {
    this.#answer({ granted })
  }

  stuck(stuck: string): void {
    this.#answer({ stuck })
  }

  obstacles(): Obstacle[] {
    return this.#asked?.explain() ?? []
  }

  /** Withdraws the request. */
  end(): void {
    this.#leave()
    this.#asked?.withdraw()
  }

  #toPark(position: string, again: Again): void {
    this.#answer({ position, again })
  }

  #needless(): void {
    this.#isUnneeded = true
    this.#unwatch?.()
    this.#asked?.withdraw()
    this.#resolve?.({ granted: undefined })
  }

  /** Tells the scheduler if the set of labware that may stand there has changed. */
  #look(): void {
    const now = this.#wanted.inputs?.() ?? []
    if (isSame(now, this.inputs)) return
    this.inputs = now
    this.#asked?.admit(now)
  }

  #answer(answer: Answer): void {
    this.#leave()
    this.#resolve?.(answer)
  }

  /** Stops watching `unless` and `guests`. */
  #leave(): void {
    this.#callOff?.()
    this.#unwatch?.()
  }
}

function isSame(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every((one, i) => one === others[i])
}

async function decideDeadlock(thread: LabwareThread, stuck: string): Promise<void> {
  const why = inNames(stuck, thread)
  thread.execution.events.incident('UNRESOLVABLE_DEADLOCK', `${thread.name}: ${why}`, thread, { recovery_action: 'THREAD_RECOVER_RETRY' })
  await thread.control.decisionAt('DEADLOCK', new Error(why))
  thread.control.recovered()
}

/** Replaces ids with names, because the scheduler knows only ids. */
function inNames(text: string, { execution, environment }: LabwareThread): string {
  return text.replace(/\b(labware|thread) ([\w-]+)/g, (whole, kind: string, id: string) => {
    const name = kind === 'labware' ? environment.labware.get(id)?.name : execution.find(id)?.name
    return name ?? whole
  })
}

/** Waits for other threads. Meanwhile the labware may be parked to make room for them. */
export async function idle<Value>(
  thread: LabwareThread,
  waiting: Parameters<LabwareThread['control']['wait']>[0],
  begin: (resolve: (value: Value) => void, reject: (error: unknown) => void) => () => void,
): Promise<Value> {
  const status = thread.status.current
  let again: Again | undefined
  for (;;) {
    const answer = await thread.control.wait<{ value: Value } | { position: string; again: Again }>(waiting, (resolve, reject) => {
      let asked: RequestHandle | undefined
      let isOver = false
      const end = () => {
        isOver = true
        asked?.withdraw()
      }
      const callOff = begin(
        (value) => {
          end()
          resolve({ value })
        },
        (error) => {
          end()
          reject(error)
        },
      )
      // The wait may have ended at once; then no parking is needed.
      if (isOver) return callOff
      const park = (position: string, again: Again) => {
        callOff()
        resolve({ position, again })
      }
      const out = isParkable(thread) ? { park } : {}
      asked = thread.environment.scheduler.request(
        {
          thread_id: thread.thread_id,
          priority: 1,
          candidates: [],
          alone: thread.execution.workflow.isAlone,
          endsByItself: waiting.kind === 'device',
          granted: () => {},
          ...out,
        },
        again,
      )
      return () => {
        asked?.withdraw()
        callOff()
      }
    })
    if ('position' in answer) {
      await park(thread, answer.position)
      thread.become(status)
      again = answer.again
      continue
    }
    return answer.value
  }
}

/**
 * Brings the labware to a position that is reserved for it. The scheduler grants the whole route at once, so that no labware waits where it blocks
 * others. A stop waits for the arrival. `reserve` is called again for each attempt. Rejects with `conflict` if the position is no longer reserved.
 * Resolves with false if labware to be parked cannot get there and another position is possible.
 */
export async function goTo(thread: LabwareThread, reserve: string | (() => string), isParking = false): Promise<boolean> {
  const { scheduler } = thread.environment
  const { labware, thread_id } = thread
  const { labware_id } = labware
  await leaveStorage(thread)
  for (;;) {
    const unknown = identify(thread)
    if (unknown) await unknown
    const position = typeof reserve === 'string' ? reserve : reserve()
    if (scheduler.whereIs(labware_id) === position) return true
    // A person put the labware there and then elsewhere, which used the reservation up.
    if (scheduler.position(position).reserved_for !== thread_id)
      throw new LabError(
        'conflict',
        `${position} is no longer reserved for ${labware.name}, because somebody put it elsewhere, or other labware there; try again`,
      )
    mustLead(thread, position, [{ position }])
    thread.become('AWAITING_MOVE_RESERVATION')
    let travel: ReturnType<typeof scheduler.requestRoute> | undefined
    const route = await thread.control.wait<readonly Hop[] | undefined>(
      { kind: 'reservation', what: `the way to ${position}`, interruptedBy: 'abort', obstacles: () => travel?.explain() ?? [] },
      (resolve) => {
        const divert = isParking ? () => resolve(undefined) : undefined
        travel = scheduler.requestRoute(thread.thread_id, labware_id, position, resolve, divert)
        return travel.withdraw
      },
    )
    if (!route) {
      travel?.withdraw()
      return false
    }
    try {
      for (const hop of route) {
        if (scheduler.whereIs(labware_id) !== hop.from) break
        thread.become('AWAITING_MOVE_RESERVATION')
        const taking = takeFreeArm(thread, hop)
        const taken = taking ? await taking : hop
        // A person moved the labware while it waited for a transporter.
        if (taking && scheduler.whereIs(labware_id) !== hop.from) {
          scheduler.transporters.giveBack(taken.transporter, thread.thread_id)
          break
        }
        thread.become('AWAITING_MOVE_TARGET_AVAILABILITY')
        thread.become('MOVING')
        thread.setLabware({ state: 'IN_JOURNEY' })
        const mustNotGoOn = await ride(thread, taken)
        if (mustNotGoOn) await thread.holdAt('MOVE_RESOLUTION', mustNotGoOn)
        const unknown = identify(thread)
        if (unknown) await unknown
      }
    } catch (error) {
      // The labware must go to another device.
      if (error instanceof ActionExit) travel?.withdraw()
      throw error
    }
    // No effect on a completed route; needed if a person moved the labware.
    travel?.withdraw()
  }
}

/** Returns the storage in which the labware still waits; undefined if it is on the deck, or starts elsewhere. */
export function storageOf({ labware, state, plan, environment }: LabwareThread): string | undefined {
  const { scheduler } = environment
  if (labware.state !== 'AVAILABLE' || plan.template.start.mode === 'MANUAL_PLACE') return undefined
  if (!scheduler.graph.positions.get(state.starts_at)?.storage || scheduler.whereIs(labware.labware_id) !== undefined) return undefined
  return state.starts_at
}

/** Takes the labware out of its storage, after its first place was granted: until then it occupies nothing there, so that other labware can pass. */
async function leaveStorage(thread: LabwareThread): Promise<void> {
  const position = storageOf(thread)
  if (position === undefined) return
  await request(thread, { what: position, candidates: [{ position }], stands: true, mayPark: false, interruptedBy: 'abort' })
  await appear(thread, position)
}

/** Puts the labware onto the deck. The disk must record that the position was free before it records that the position is taken. */
export async function appear(thread: LabwareThread, position: string): Promise<void> {
  const { environment, labware, execution, thread_id } = thread
  const kept = execution.gate.beforeMotion()
  if (kept) await kept
  environment.labware.set(labware.labware_id, labware)
  environment.scheduler.put(labware.labware_id, position, thread_id)
  knowLid(thread)
  thread.setLabware({ state: 'IN_JOURNEY' })
}

/** Throws `conflict` if no route leads from the labware's position to any of the candidates, because somebody carried the labware there. */
export function mustLead(thread: LabwareThread, what: string, candidates: readonly Candidate[]): void {
  const { thread_id, labware, environment } = thread
  const storage = storageOf(thread)
  if (environment.scheduler.canReach(thread_id, candidates, storage)) return
  const from = environment.scheduler.whereIs(labware.labware_id) ?? storage
  throw new LabError(
    'conflict',
    `there is no way from ${from} to ${what}; carry ${labware.name} to where there is one, and say that it stands there`,
  )
}

async function park(thread: LabwareThread, position: string): Promise<void> {
  if (await goTo(thread, position, true)) thread.setLabware({ state: 'PARKED' })
}

function staysAtEnd({ plan }: LabwareThread): boolean {
  return plan.template.end.mode === 'LEAVE_IN_PLACE'
}

function isParkable({ plan, labware, environment }: LabwareThread): boolean {
  return !plan.template.immovable && environment.scheduler.whereIs(labware.labware_id) !== undefined
}
