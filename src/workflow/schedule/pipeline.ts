// Orders for labware of one kind that comes to the same devices several times: how many labware begin their first visit there before the first of them begins
// its second. Labware that waits a little between its visits makes room for more labware at once, as long as its windows hold.

import { Forecast } from './forecast.ts'
import type { Model } from './model.ts'
import type { States } from './state.ts'

const pipelinesAtMost = 3

export type Pipeline = {
  /** For a stop the stop that must have been begun before. */
  readonly turn: Int32Array
  /** For each stop a time before which no labware has to arrive, and the end: as it is foretold. */
  readonly arrivals: Float64Array
  readonly end: number
}

/** The visits of one kind to one device or pool: of each labware, in the order in which labware is served. */
type Visits = { seconds: number; readonly units: number; readonly stops: Map<number, number[]> }

/** Returns the orders whose windows can be held, as far as it is foretold: the shortest first. */
export function pipelinesOf(states: States): Pipeline[] {
  const { model } = states
  const visits = busiest(model)
  if (!visits) return []
  states.begin(0)
  const found: Pipeline[] = []
  for (let depth = visits.stops.size; depth > visits.units; depth--) {
    const turn = turnsOf(model, [...visits.stops.values()], depth)
    const arrivals = new Forecast(states, [model.turnOfKind, turn]).arrivals(0)
    if (arrivals) found.push({ turn, arrivals, end: arrivals.reduce((one, other) => Math.max(one, other), 0) })
  }
  return found.sort((a, b) => a.end - b.end).slice(0, pipelinesAtMost)
}

/** The visits of one kind to the devices that have the most to do, if labware comes there more than once. */
function busiest({ problem, inTurn, firstStop, firstOption, optionPlace, visit }: Model): Visits | null {
  const found = new Map<string, Visits>()
  for (const job of inTurn)
    for (let stop = firstStop[job]!; stop < firstStop[job + 1]! - 1; stop++) {
      const places = optionPlace.subarray(firstOption[stop]!, firstOption[stop + 1]!)
      const key = `${problem.jobs[job]!.kind} ${places.join()}`
      const visits = found.get(key) ?? { seconds: 0, units: places.length, stops: new Map<number, number[]>() }
      visits.seconds += visit[stop]! / places.length
      visits.stops.set(job, [...(visits.stops.get(job) ?? []), stop])
      found.set(key, visits)
    }
  const best = [...found.values()].reduce<Visits | null>((one, other) => (one && one.seconds >= other.seconds ? one : other), null)
  return best && [...best.stops.values()].some((stops) => stops.length > 1) ? best : null
}

/** Labware that has begun its journey already has fewer visits left: visits are counted from the last. */
function turnsOf({ firstStop, jobs }: Model, visits: readonly (readonly number[])[], depth: number): Int32Array {
  const turns = new Int32Array(firstStop[jobs]!).fill(-1)
  const most = Math.max(...visits.map((stops) => stops.length))
  const order = visits
    .flatMap((stops, job) => stops.map((stop, index) => ({ stop, index, at: job + (most - stops.length + index) * depth })))
    .sort((a, b) => a.at - b.at || b.index - a.index)
  for (let index = 1; index < order.length; index++) turns[order[index]!.stop] = order[index - 1]!.stop
  return turns
}
