// Keeps people and moving transporters apart: while a person may have their hands at a position, no transporter that reaches it moves.

import type { Graph } from '../plans/graph.ts'

/** A move that wants the space: a person's at its two positions, or a motion of a transporter anywhere in its reach. */
export type Use = { readonly thread_id: string; readonly transporter: string; readonly hands: readonly string[] | null }

type Waiting = { readonly use: Use; readonly tryAgain: () => void }

export class SharedSpace {
  readonly #reach: ReadonlyMap<string, ReadonlySet<string>>
  readonly #inside = new Set<Use>()
  /** Oldest first. A waiting use goes before later ones that it keeps out. */
  readonly #waiting = new Set<Waiting>()

  constructor(graph: Pick<Graph, 'reach'>) {
    this.#reach = graph.reach
  }

  /** Enters, if nothing is in the way. Call `leave` afterwards. */
  enter(use: Use): boolean {
    if (this.obstacles(use).length > 0) return false
    this.#inside.add(use)
    return true
  }

  leave(use: Use): void {
    if (this.#inside.delete(use)) this.#changed()
  }

  /** Calls `tryAgain` once, when nothing keeps the use out any more; the caller then tries to enter. The returned function calls that off. */
  await(use: Use, tryAgain: () => void): () => void {
    const waiting = { use, tryAgain }
    this.#waiting.add(waiting)
    this.#changed()
    return () => {
      if (this.#waiting.delete(waiting)) this.#changed()
    }
  }

  /** Returns the uses that keep this one out: those inside, and those that wait for longer. */
  obstacles(use: Use): Use[] {
    const obstacles = [...this.#inside].filter((other) => this.#excludes(use, other))
    for (const { use: other } of this.#waiting) {
      if (other === use) break
      if (this.#excludes(use, other)) obstacles.push(other)
    }
    return obstacles
  }

  /** Returns an open task of a person within reach of a transporter; undefined if there is none. */
  taskWithin(transporter: string): Use | undefined {
    return [...this.#inside].find((other) => other.hands !== null && this.#reaches(transporter, other.hands))
  }

  #excludes(one: Use, other: Use): boolean {
    if (one.hands !== null) return other.hands === null && this.#reaches(other.transporter, one.hands)
    return other.hands !== null && this.#reaches(one.transporter, other.hands)
  }

  #reaches(transporter: string, positions: readonly string[]): boolean {
    const reach = this.#reach.get(transporter)
    return reach !== undefined && positions.some((position) => reach.has(position))
  }

  #changed(): void {
    for (const waiting of [...this.#waiting]) {
      if (!this.#waiting.has(waiting) || this.obstacles(waiting.use).length > 0) continue
      this.#waiting.delete(waiting)
      waiting.tryAgain()
    }
  }
}
