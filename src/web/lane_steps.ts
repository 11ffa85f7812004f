// The lane of one labware in a run: its steps that are done, the present one, and what comes next.

import type { Thread, TimelineRow } from '../clients/ts/benchd.ts'

/** A step of a lane. `from` is Unix time, s; null where it is not known. */
export type LaneStep = { key: string; text: string; state: 'done' | 'failed' | 'now' | 'next'; from: number | null }

type Next = NonNullable<Thread['next']>[number]

/** The most steps before the present one that are shown. */
const mostDone = 3

/** Returns the steps of a thread in their order: the newest that are done, the present one, and those that are foretold. Moves are shown only while they are under way. */
export function laneSteps(rows: readonly TimelineRow[], next: readonly Next[], began_at: number): LaneStep[] {
  const begun = rows.filter(({ started }) => started !== null).sort((one, other) => one.started! - other.started!)
  const steps = begun.flatMap(({ action_id, kind, name, device, to, started, ended, status }): LaneStep[] => {
    if (kind === 'move' && ended !== null) return []
    const text = kind === 'move' ? `moves to ${to}` : labelOf(name ?? '', device)
    const state = ended === null ? 'now' : status === 'ERRORED' || status === 'ABORTED' ? 'failed' : 'done'
    return [{ key: action_id, text, state, from: began_at + started! }]
  })
  const past = steps.filter(({ state }) => state !== 'now').slice(-mostDone)
  const present = steps.filter(({ state }) => state === 'now')
  const ahead = next.map(({ name, at, from }, i): LaneStep => ({ key: `next ${i}`, text: labelOf(name, at), state: 'next', from }))
  return [...past, ...present, ...ahead]
}

function labelOf(name: string, device: string | null): string {
  return device === null ? name.replaceAll('_', ' ') : `${name.replaceAll('_', ' ')} at ${device}`
}
