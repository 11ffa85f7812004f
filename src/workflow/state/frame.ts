// How far a thread has come in its steps, and where an operator inserted steps or actions.

import * as v from 'valibot'

/** The places of what an operator inserted into steps or actions, in their order. */
export const Inserted = v.optional(v.array(v.object({ at: v.number(), path: v.string() })), () => [])
type Inserted = { at: number; path: string }[]

export const FrameState = v.object({ path: v.string(), next: v.number(), is_loop: v.boolean(), inserted: Inserted })
export type FrameState = v.InferOutput<typeof FrameState>

/** The plans with those that an operator inserted. */
export function withInserted<Plan>(plans: readonly Plan[], inserted: Readonly<Inserted>, planAt: (path: string) => Plan): Plan[] {
  const all = [...plans]
  for (const { at, path } of inserted) all.splice(at, 0, planAt(path))
  return all
}

/** The places with one more, of a plan that is inserted before the one at `at`. */
export function withPlace(inserted: Readonly<Inserted>, at: number, path: string): Inserted {
  const others = inserted.map((other) => (other.at >= at ? { ...other, at: other.at + 1 } : other))
  return [...others, { at, path }].sort((one, other) => one.at - other.at)
}
