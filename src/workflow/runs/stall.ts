// Detects a stalled run: all its threads wait, and nothing can move any more.

import { LabError } from '../../errors.ts'
import { someOf } from '../../kit/listed.ts'
import { isBlocked, type Publisher, type Waiting } from '../threads/carrier.ts'
import { inTheWayAt, type LabwareInTheWay } from './in_the_way.ts'

/** The part of a run that this file uses. */
interface Run extends Publisher {
  readonly isOver: boolean
  readonly paused: unknown
  readonly liveCount: number
  live(): readonly { readonly name: string; readonly control: { readonly waiting: Waiting | null } }[]
  /** Finds a thread of this run, or of another run on the same bench. */
  find(thread_id: string): { readonly isOver: boolean; readonly execution: Publisher } | undefined
  /** Lists the other open runs on the same bench. */
  beside(): readonly Run[]
  readonly operations: { leaveStuck(why: string): boolean }
  pause(reason: 'system'): void
}

export class Stall {
  readonly #execution: Run
  /** The number of threads that wait for others. */
  #blocked = 0
  #isLooking = false
  /** The wait of each thread when the run stalled, in words; null if it has not. */
  picture: string | null = null
  /** The labware in the way that no thread moves. */
  #left: readonly LabwareInTheWay[] = []

  constructor(execution: Run) {
    this.#execution = execution
  }

  /** Counts a thread that begins (1) or ends (-1) to wait for others. */
  blocked(more: 1 | -1): void {
    this.#blocked += more
    if (more > 0) this.suspect()
  }

  /** Checks for a stall in a later turn, if all threads wait. Also called when a thread of another run has ended, which may have left labware in the way. */
  suspect(): void {
    if (this.#blocked < this.#execution.liveCount || this.#isLooking) return
    this.#isLooking = true
    this.#execution.environment.steps.push(() => {
      this.#isLooking = false
      this.#look()
    })
  }

  /** Forgets the stall after an operator has dealt with it, so that the same stall is reported again. */
  forget(): void {
    this.picture = null
    this.#left = []
  }

  /** Forgets the labware in the way, because the run has changed and may get past it. */
  reconsider(): void {
    this.#left = []
  }

  /** Says which labware must be taken away before the run can continue; undefined once any of it is gone. */
  get remedy(): string | undefined {
    const { environment } = this.#execution
    const isThere = ({ position, labware_id }: LabwareInTheWay) => inTheWayAt(environment, position)?.labware_id === labware_id
    return this.#left.length > 0 && this.#left.every(isThere) ? inWords(this.#left) : undefined
  }

  /** Throws `conflict` while the labware in the way is still there, because the run would stall again. */
  mustBeCleared(): void {
    const { remedy } = this
    if (this.picture !== null && remedy !== undefined) throw new LabError('conflict', `nothing could move: ${remedy}; then resume it`)
  }

  #look(): void {
    if (!isBlockedWhole(this.#execution)) return
    // Requests wait for a plan that is being made, and not for each other.
    if (this.#execution.environment.planner.isDue) return
    // A storage that moves labware for a person comes to its end, and then this is looked at again.
    if (this.#execution.environment.labware.inTransfer.size > 0) return
    const live = this.#execution.live()
    const obstacles = live.flatMap(({ control: { waiting } }) => waiting!.obstacles())
    const holders = obstacles.flatMap(({ thread_id }) => (thread_id !== null && this.#execution.find(thread_id)) || [])
    // Labware waits for its time or its turn in the plan. Where that stops everybody, the scheduler drops the plan, and this is looked at again.
    const isPlanned = obstacles.some(({ reason }) => reason === 'planned' || reason === 'early')
    if (isPlanned && this.#execution.environment.scheduler.advice.isInForce) return
    const isElsewhere = holders.some(({ isOver, execution }) => !isOver && execution.execution_id !== this.#execution.execution_id)
    if ((isElsewhere || isPlanned) && !this.#execution.beside().every(isBlockedWhole)) return
    const picture = live.map(({ control: { waiting }, name }) => `${name} waits for ${waiting!.what}`).join('; ')
    if (picture === this.picture || this.#execution.operations.leaveStuck(picture)) return
    this.picture = picture
    const { environment } = this.#execution
    const positions = obstacles.flatMap(({ thread_id, labware_id }) =>
      thread_id !== null
        ? (environment.labware.get(thread_id)?.placing ?? [])
        : labware_id !== null
          ? (environment.scheduler.whereIs(labware_id) ?? [])
          : [],
    )
    this.#left = [...new Set(positions)].flatMap((position) => inTheWayAt(environment, position) ?? [])
    const words = this.#left.length > 0 ? `${picture}; ${inWords(this.#left)}` : picture
    this.#execution.events.incident('SYSTEM_STALL', `nothing can move any more: ${words}`, null, { recovery_action: 'RESUME_EXECUTION' })
    this.#execution.pause('system')
  }
}

/** Whether all threads of a run wait for others. Not for a paused run, which continues when somebody resumes it. */
function isBlockedWhole(execution: Run): boolean {
  const live = execution.live()
  return (
    !execution.paused && !execution.isOver && live.length > 0 && live.every(({ control: { waiting } }) => waiting && isBlocked(waiting))
  )
}

function inWords(left: readonly LabwareInTheWay[]): string {
  return someOf(left.map(({ message }) => message)).join('; ')
}
