// Whether anything in a run can still move: looked at when all its threads wait.

import { LabError } from '../../errors.ts'
import { isBlocked, type Publisher, type Waiting } from '../threads/carrier.ts'
import { inTheWayAt, type LabwareInTheWay } from './in_the_way.ts'

/** The part of a run that is looked at, and what is done to one that stands. */
interface Run extends Publisher {
  readonly isOver: boolean
  readonly paused: unknown
  readonly liveCount: number
  live(): readonly { readonly name: string; readonly control: { readonly waiting: Waiting | null } }[]
  /** A thread of this run, or of another that shares its places. */
  find(thread_id: string): { readonly isOver: boolean; readonly execution: Publisher } | undefined
  /** Other open runs that share its places. */
  beside(): readonly Run[]
  pause(reason: 'system'): void
}

export class Stall {
  readonly #execution: Run
  /** Threads that wait for others. */
  #blocked = 0
  #isLooking = false
  /** The obstacle that nobody could get past, for a run that stands because of it. */
  picture: string | null = null
  /** The labware in its way that no thread moves. */
  #left: readonly LabwareInTheWay[] = []

  constructor(execution: Run) {
    this.#execution = execution
  }

  /** A thread began or ended to wait for others. */
  blocked(more: 1 | -1): void {
    this.#blocked += more
    if (more > 0) this.suspect()
  }

  /** Looks in one of the next turns; also when a thread of another run has ended, and left something in the way. */
  suspect(): void {
    if (this.#blocked < this.#execution.liveCount || this.#isLooking) return
    this.#isLooking = true
    this.#execution.environment.steps.push(() => {
      this.#isLooking = false
      this.#look()
    })
  }

  /** An operator has seen to the stall: the same stall is reported again. */
  forget(): void {
    this.picture = null
    this.#left = []
  }

  /** The run is another than it was: it may get past what was in its way. */
  reconsider(): void {
    this.#left = []
  }

  /** The labware that has to be taken away before the run can go on, in words; undefined as soon as any of it is gone. */
  get remedy(): string | undefined {
    const { environment } = this.#execution
    const isThere = ({ position, labware_id }: LabwareInTheWay) => inTheWayAt(environment, position)?.labware_id === labware_id
    return this.#left.length > 0 && this.#left.every(isThere) ? inWords(this.#left) : undefined
  }

  /** Throws `conflict` while what it could not get past is still there: it would only stall again. */
  mustBeCleared(): void {
    const { remedy } = this
    if (this.picture !== null && remedy !== undefined) throw new LabError('conflict', `nothing could move: ${remedy}; then resume it`)
  }

  #look(): void {
    if (!isBlockedWhole(this.#execution)) return
    const live = this.#execution.live()
    const obstacles = live.flatMap(({ control: { waiting } }) => waiting!.obstacles())
    const holders = obstacles.flatMap(({ thread_id }) => (thread_id !== null && this.#execution.find(thread_id)) || [])
    const isElsewhere = holders.some(({ isOver, execution }) => !isOver && execution.execution_id !== this.#execution.execution_id)
    if (isElsewhere && !this.#execution.beside().every(isBlockedWhole)) return
    const picture = live.map(({ control: { waiting }, name }) => `${name} waits for ${waiting!.what}`).join('; ')
    if (picture === this.picture) return
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

/** All that moves in it waits for others. One that is paused goes on when somebody says so. */
function isBlockedWhole(execution: Run): boolean {
  const live = execution.live()
  return (
    !execution.paused && !execution.isOver && live.length > 0 && live.every(({ control: { waiting } }) => waiting && isBlocked(waiting))
  )
}

function inWords(left: readonly LabwareInTheWay[]): string {
  return left.map(({ message }) => message).join('; ')
}
