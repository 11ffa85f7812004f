// Keeps people and moving transporters apart: while a person may have their hands at a position, no transporter that reaches it moves.

import type { Graph } from '../plans/graph.ts'

/**
 * A move that wants the space: a person's at its two positions, or a motion of a transporter anywhere in its reach. `only` is the one transporter that the
 * person keeps still; each that reaches the positions if absent.
 */
export type Use = {
  readonly thread_id: string
  readonly transporter: string
  readonly hands: readonly string[] | null
  readonly only?: string
  /** Whether this is a transporter that may still move, and no use of a thread. */
  readonly mayMove?: true
}

export class SharedSpace {
  readonly #reach: ReadonlyMap<string, ReadonlySet<string>>
  readonly #inside = new Set<Use>()
  /** Each waiting use with its `granted`, oldest first: it goes before later ones that it keeps out. */
  readonly #waiting = new Map<Use, () => void>()
  readonly #mayMove: (transporter: string) => boolean
  /** Transporters of which a person has said that their power is off, until they enter again. */
  readonly #off = new Set<string>()

  /** `mayMove` says whether a transporter may still move after a stop or a fault; call `look` when that ends. */
  constructor(graph: Pick<Graph, 'reach'>, mayMove: (transporter: string) => boolean = () => false) {
    this.#reach = graph.reach
    this.#mayMove = mayMove
  }

  /** Enters, if nothing is in the way. Returns whether the use is inside; call `leave` afterwards. */
  enter(use: Use): boolean {
    if (!this.#inside.has(use) && this.obstacles(use).length > 0) return false
    this.#add(use)
    return true
  }

  /** Enters with a person who may be there already, whatever is in the way. */
  stay(use: Use): void {
    this.#inside.add(use)
  }

  /** Takes a person's word that the power of a transporter is off. */
  saidOff(transporter: string): void {
    this.#off.add(transporter)
    this.look()
  }

  /** Lets in whatever may enter since a transporter stands. */
  look(): void {
    this.#grant()
  }

  /** Whether a transporter may still move after a stop or a fault, and nobody has said that its power is off. */
  mayMove(transporter: string): boolean {
    return !this.#off.has(transporter) && this.#mayMove(transporter)
  }

  #add(use: Use): void {
    this.#inside.add(use)
    if (use.hands === null) this.#off.delete(use.transporter)
  }

  /** Enters with a motion that is no move of labware, unless a task is open within its reach. Uses that wait do not keep it out. Returns how to leave. */
  begin(transporter: string): (() => void) | undefined {
    if (this.taskWithin(transporter)) return undefined
    const use: Use = { thread_id: '', transporter, hands: null }
    this.#add(use)
    return () => this.leave(use)
  }

  /** Leaves, or waits no longer. */
  leave(use: Use): void {
    const [wasInside, hasWaited] = [this.#inside.delete(use), this.#waiting.delete(use)]
    if (wasInside || hasWaited) this.#grant()
  }

  /** Calls `granted` once, when the use has entered, which may be before this returns. */
  await(use: Use, granted: () => void): void {
    this.#waiting.set(use, granted)
    this.#grant()
  }

  /** Returns the uses that keep this one out: those inside, those that wait for longer, and transporters that may still move. */
  obstacles(use: Use): Use[] {
    const obstacles = [...this.#inside, ...this.#moving(use)].filter((other) => this.#excludes(use, other))
    for (const other of this.#waiting.keys()) {
      if (other === use) break
      if (this.#excludes(use, other)) obstacles.push(other)
    }
    return obstacles
  }

  /** Returns an open task of a person within reach of a transporter; undefined if there is none. */
  taskWithin(transporter: string): Use | undefined {
    return [...this.#inside].find((other) => this.#keepsStill(other, transporter))
  }

  #moving({ hands }: Use): Use[] {
    if (hands === null) return []
    const moving = [...this.#reach.keys()].filter((transporter) => this.mayMove(transporter))
    return moving.map((transporter) => ({ thread_id: '', transporter, hands: null, mayMove: true }))
  }

  #excludes(one: Use, other: Use): boolean {
    if (one.hands !== null) return other.hands === null && this.#keepsStill(one, other.transporter)
    return this.#keepsStill(other, one.transporter)
  }

  /** Whether a person's use keeps a transporter still. */
  #keepsStill({ hands, only }: Use, transporter: string): boolean {
    if (hands === null || (only !== undefined && only !== transporter)) return false
    const reach = this.#reach.get(transporter)
    return reach !== undefined && hands.some((position) => reach.has(position))
  }

  /** Lets in all that may enter. They enter before any of them is told: what one of them does cannot come between. */
  #grant(): void {
    const entering = [...this.#waiting].filter(([use]) => {
      if (this.obstacles(use).length > 0) return false
      this.#waiting.delete(use)
      this.#add(use)
      return true
    })
    for (const [use, granted] of entering) if (this.#inside.has(use)) granted()
  }
}
