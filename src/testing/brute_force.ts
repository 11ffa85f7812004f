// For tests: an answer to whether all labware of a configuration can finish, that shares no code with the search: every move is tried from every configuration.

import type { Configuration, Traveller } from '../workflow/scheduler/safety_problem.ts'

/** `lid`: the place of its lid, -1 while it lies nowhere. */
type State = readonly { readonly at: readonly number[]; readonly next: number; readonly lid: number }[]

/** Whether all can finish. It tries all that may be done, so that it is only for a few travellers. */
export function canAllFinish(configuration: Configuration): boolean {
  const { travellers } = configuration
  const first: State = travellers.map(({ at, lid = -1 }) => ({ at, next: 0, lid }))
  const seen = new Set([JSON.stringify(first)])
  for (const open = [first]; open.length > 0; ) {
    const state = open.pop()!
    if (state.every(({ next }, i) => travellers[i]!.isIdle || next === travellers[i]!.stops.length)) return true
    for (const after of followers(state, configuration)) {
      const key = JSON.stringify(after)
      if (seen.has(key)) continue
      seen.add(key)
      open.push(after)
    }
  }
  return false
}

function* followers(state: State, configuration: Configuration): Generator<State> {
  const { travellers, parking } = configuration
  for (let i = 0; i < state.length; i++) {
    const { stops, canPark, home, moves = [] } = travellers[i]!
    const { at, next, lid } = state[i]!
    const kind = moves[next] ?? 'go'
    const others = takenBy(state, i, configuration)
    const may = (place: number) => !others.has(place) && at.some((from) => isWay(from, place, others, configuration))
    const moved = (place: number, stop: number) => state.map((one, other) => (other === i ? { at: [place], next: stop, lid } : one))
    const lidAt = (place: number) => state.map((one, other) => (other === i ? { at, next: next + 1, lid: place } : one))
    if (kind === 'on') yield lidAt(-1)
    for (const place of stops[next] ?? []) {
      if (kind === 'go' && may(place)) yield moved(place, next + 1)
      if (kind === 'off' && !others.has(place) && !at.includes(place)) yield lidAt(place)
    }
    if (!canPark || isGone(travellers[i]!, next)) continue
    for (const place of parking) if (may(place)) yield moved(place, next)
    const isOnlyMine = !travellers.some((other, o) => o !== i && other.stops.slice(state[o]!.next).some((stop) => stop.includes(home)))
    if (home >= 0 && isOnlyMine && may(home)) yield moved(home, next)
  }
}

function isGone({ stops, isIdle }: Traveller, next: number): boolean {
  return !isIdle && next === stops.length
}

/** Returns the places that others occupy, with those that cannot be taken at the same time. */
function takenBy(state: State, i: number, { travellers, blocked, conflicts }: Configuration): Set<number> {
  const taken = new Set(blocked)
  state.forEach(({ at, next, lid }, other) => {
    // Also its own lid is in the way of labware.
    if (lid >= 0) taken.add(lid)
    if (other === i || (isGone(travellers[other]!, next) && !travellers[other]!.stays)) return
    for (const place of at) taken.add(place)
  })
  for (const place of [...taken]) for (const conflict of conflicts[place]!) taken.add(conflict)
  return taken
}

function isWay(from: number, to: number, taken: ReadonlySet<number>, { kinds, kindCount, ways }: Configuration): boolean {
  return (
    from === to || ways[kinds[from]! * kindCount + kinds[to]!]!.some((passed) => passed.every((place) => place === to || !taken.has(place)))
  )
}
