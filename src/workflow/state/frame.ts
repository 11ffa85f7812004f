// The progress of a thread in its steps, and where an operator inserted steps or actions.

import * as v from 'valibot'

/** The indexes and paths of the steps or actions that an operator inserted, in order. */
export const Inserted = v.optional(v.array(v.object({ at: v.number(), path: v.string() })), () => [])
type Inserted = { at: number; path: string }[]

export const FrameState = v.object({ path: v.string(), next: v.number(), is_loop: v.boolean(), inserted: Inserted })
export type FrameState = v.InferOutput<typeof FrameState>

/** Returns the plans with those that an operator inserted. */
export function withInserted<Plan>(plans: readonly Plan[], inserted: Readonly<Inserted>, planAt: (path: string) => Plan): Plan[] {
  const all = [...plans]
  for (const { at, path } of inserted) all.splice(at, 0, planAt(path))
  return all
}

/** Returns the list after one more insert before index `at`. */
export function withPlace(inserted: Readonly<Inserted>, at: number, path: string): Inserted {
  const others = inserted.map((other) => (other.at >= at ? { ...other, at: other.at + 1 } : other))
  return [...others, { at, path }].sort((one, other) => one.at - other.at)
}
