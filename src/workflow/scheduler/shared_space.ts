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
}

export class SharedSpace {
  readonly #reach: ReadonlyMap<string, ReadonlySet<string>>
  readonly #inside = new Set<Use>()
  /** Each waiting use with its `granted`, oldest first: it goes before later ones that it keeps out. */
  readonly #waiting = new Map<Use, () => void>()

  constructor(graph: Pick<Graph, 'reach'>) {
    this.#reach = graph.reach
  }

  /** Enters, if nothing is in the way. Returns whether the use is inside; call `leave` afterwards. */
  enter(use: Use): boolean {
    if (!this.#inside.has(use) && this.obstacles(use).length > 0) return false
    this.#inside.add(use)
    return true
  }

  /** Enters with a motion that is no move of labware, unless a task is open within its reach. Uses that wait do not keep it out. Returns how to leave. */
  begin(transporter: string): (() => void) | undefined {
    if (this.taskWithin(transporter)) return undefined
    const use: Use = { thread_id: '', transporter, hands: null }
    this.#inside.add(use)
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

  /** Returns the uses that keep this one out: those inside, and those that wait for longer. */
  obstacles(use: Use): Use[] {
    const obstacles = [...this.#inside].filter((other) => this.#excludes(use, other))
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
      this.#inside.add(use)
      return true
    })
    for (const [use, granted] of entering) if (this.#inside.has(use)) granted()
  }
}
