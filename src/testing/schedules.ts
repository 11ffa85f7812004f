// Schedules that are replayed by rules of their own, and random problems that need one.

import type { Job, Leg, Place, PlannedMove, Problem, Schedule, Stop } from '../workflow/schedule/problem.ts'
import { randomFrom } from './scheduler_runs.ts'

const slack = 1e-6

type Span = { readonly from: number; readonly to: number; readonly whose: string }

/** Replays a schedule, and returns all its faults: moves that cannot be, places and arms that are used twice, and sums that are wrong. */
export function checkSchedule(problem: Problem, schedule: Schedule): string[] {
  const faults: string[] = []
  const places: Span[][] = problem.places.map(() => [])
  const arms: Span[][] = problem.arm_free_s.map((free, arm) => [{ from: Number.NEGATIVE_INFINITY, to: free, whose: `arm ${arm} before` }])
  const ends = problem.jobs.map((job, index) => {
    const moves = schedule.moves.filter((move) => move.job === index)
    return replay(problem, job, moves, places, arms, (fault) => faults.push(`${job.thread_id}: ${fault}`))
  })
  for (const [place, spans] of places.entries())
    if (!problem.places[place]!.isStorage) faults.push(...overlaps(spans).map((text) => `${problem.places[place]!.name}: ${text}`))
  for (const [arm, spans] of arms.entries()) faults.push(...overlaps(spans).map((text) => `${problem.arms[arm]}: ${text}`))
  const makespan = Math.max(0, ...ends)
  if (Math.abs(makespan - schedule.makespan_s) > slack) faults.push(`the last labware ends at ${makespan}, not at ${schedule.makespan_s}`)
  if (schedule.bound_s > makespan + slack) faults.push(`the bound ${schedule.bound_s} is longer than the schedule, ${makespan}`)
  if (schedule.moves.some((move, index) => index > 0 && move.start_s < schedule.moves[index - 1]!.start_s))
    faults.push('the moves are not in order')
  return faults
}

function overlaps(spans: readonly Span[]): string[] {
  const order = [...spans].sort((a, b) => a.from - b.from || a.to - b.to)
  return order.flatMap((span, index) => {
    const before = order[index - 1]
    return before && span.from < before.to - slack ? [`${span.whose} at ${span.from} while ${before.whose} until ${before.to}`] : []
  })
}

/** Follows one labware; returns when it ends. */
function replay(
  problem: Problem,
  job: Job,
  moves: readonly PlannedMove[],
  places: Span[][],
  arms: Span[][],
  fault: (text: string) => void,
): number {
  let [at, since, ready, next] = [job.at, Number.NEGATIVE_INFINITY, job.ready_s, 0]
  for (const move of moves) {
    if (move.from !== at) fault(`leaves ${move.from} but stands at ${at}`)
    if (move.start_s < ready - slack) fault(`leaves at ${move.start_s} but is ready at ${ready}`)
    follow(problem, job, move, places, arms, fault)
    if (move.from !== move.to) {
      places[at]!.push({ from: since, to: move.legs[0]?.end_s ?? move.end_s, whose: job.thread_id })
      since = move.start_s
    }
    at = move.to
    ready = move.end_s
    if (move.stop === null) {
      if (!job.buffers.includes(move.to)) fault(`waits at ${move.to}, which is no buffer`)
      continue
    }
    const option = job.stops[next]?.options.find(({ place }) => place === move.to)
    if (move.stop !== next || !option) fault(`goes to ${move.to} for stop ${move.stop}, not for stop ${next}`)
    ready += option?.seconds ?? 0
    next++
  }
  if (next < job.stops.length) fault(`ends before stop ${next} of ${job.stops.length}`)
  places[at]!.push({ from: since, to: job.stays ? Number.POSITIVE_INFINITY : ready, whose: job.thread_id })
  return ready
}

/** Checks the legs of a move. Each place between them is reserved from the start of the move on. */
function follow(
  problem: Problem,
  { thread_id }: Job,
  move: PlannedMove,
  places: Span[][],
  arms: Span[][],
  fault: (text: string) => void,
): void {
  const { legs, from, to, start_s, end_s } = move
  const way = from === to ? [] : problem.ways[problem.places[from]!.group * problem.groups + problem.places[to]!.group]
  if (!way || way.length !== legs.length) {
    fault(`moves from ${from} to ${to} in ${legs.length} legs`)
    return
  }
  if (legs.length > 0 && (legs[0]!.start_s !== start_s || legs.at(-1)!.end_s !== end_s || legs[0]!.arm !== move.arm))
    fault('its legs are not its move')
  legs.forEach((leg, index) => {
    const seconds = way[index]!.by.find(({ arm }) => arm === leg.arm)?.seconds
    if (seconds === undefined || Math.abs(leg.end_s - leg.start_s - seconds) > slack)
      fault(`leg ${index} by arm ${leg.arm} takes ${leg.end_s - leg.start_s}`)
    if (index > 0 && leg.start_s < legs[index - 1]!.end_s - slack) fault(`leg ${index} begins before the leg before it ends`)
    arms[leg.arm]!.push({ from: leg.start_s, to: leg.end_s, whose: thread_id })
    if (index < legs.length - 1)
      places[way[index]!.via]!.push({ from: start_s, to: legs[index + 1]!.end_s, whose: `${thread_id} on its way` })
  })
}

/** The arrivals of each labware at its stops: `arrivals[job][stop]`. */
export function arrivals(problem: Problem, { moves }: Schedule): number[][] {
  return problem.jobs.map((_, job) => moves.filter((move) => move.job === job && move.stop !== null).map(({ end_s }) => end_s))
}

/** The seconds by which windows are missed, of all labware together. */
export function missedWindows(problem: Problem, schedule: Schedule): number {
  const all = schedule.moves.filter((move) => move.stop !== null)
  return problem.jobs.reduce((sum, job, index) => {
    let since = job.since_s
    for (const move of all.filter((one) => one.job === index)) {
      const { within_s, options } = job.stops[move.stop!]!
      sum += Math.max(0, move.end_s - since - (within_s ?? Number.POSITIVE_INFINITY))
      since = move.end_s + options.find(({ place }) => place === move.to)!.seconds
    }
    return sum
  }, 0)
}

export type ProblemShape = {
  readonly seed: number
  readonly jobs: number
  readonly devices: number
  readonly parks: number
  readonly arms: number
  /** Each arm has half of the devices, and the hand-over place between the halves; otherwise each arm reaches everything. */
  readonly isHalved?: boolean
  readonly ownPads?: boolean
  readonly storages?: boolean
  /** Some labware is in the middle of its journey. */
  readonly isUnderWay?: boolean
  readonly windows?: boolean
  readonly kinds?: boolean
}

/** Makes a random bench and random journeys. A device may be a pool of two. */
export function randomProblem(shape: ProblemShape): Problem {
  const below = randomFrom(shape.seed)
  const isHalved = shape.isHalved === true && shape.arms === 2
  const places: Place[] = []
  const add = (name: string, group: number, isStorage = false) => places.push({ name, group, isStorage }) - 1
  const side = () => (isHalved ? below(2) : 0)
  const devices = Array.from({ length: shape.devices }, (_, device) => {
    const group = side()
    return Array.from({ length: below(4) === 0 ? 2 : 1 }, (_, unit) => add(`device-${device}-${unit}`, group))
  })
  const handOver = isHalved ? add('hand-over', 2) : -1
  const parks = Array.from({ length: shape.parks }, (_, park) => add(`park-${park}`, side()))
  const [source, sink] = [add('source', side(), true), add('sink', side(), true)]
  const taken = new Set<number>()
  const journeys = Array.from({ length: shape.jobs }, () => randomStops(shape, devices, below))
  const jobs = Array.from({ length: shape.jobs }, (_, index): Job => {
    const work = shape.kinds && index % 2 === 1 ? journeys[index - 1]! : journeys[index]!
    const start = shape.storages && below(2) === 0 ? source : add(`pad-${index}`, side())
    const end = start === source || below(4) === 0 ? sink : start
    const stops: Stop[] = [...work, { options: [{ place: end, seconds: 0 }], within_s: null }]
    const buffers = [...parks, ...(shape.ownPads && start !== source ? [start] : [])]
    const kind = shape.kinds ? index - (index % 2) : index
    const job = {
      thread_id: `plate-${index}`,
      kind,
      run: index,
      priority: below(6) === 0 ? 1 : 0,
      buffers,
      stays: end !== sink,
      ready_s: 0,
      since_s: 0,
    }
    const done = shape.isUnderWay && !shape.kinds ? 1 + below(stops.length - 1) : 0
    const place = done > 0 ? stops[done - 1]!.options[0]!.place : start
    if (done === 0 || taken.has(place)) return { ...job, at: start, stops }
    taken.add(place)
    const ready_s = below(200)
    return { ...job, at: place, ready_s, since_s: ready_s, stops: stops.slice(done) }
  })
  const arms = Array.from({ length: shape.arms }, (_, arm) => `arm-${arm}`)
  return {
    places,
    arms,
    arm_free_s: arms.map(() => (shape.isUnderWay ? below(30) : 0)),
    jobs,
    ways: isHalved ? halves(handOver) : [[{ by: arms.map((_, arm) => ({ arm, seconds: 12 + below(2) * 3 })), via: -1 }]],
    groups: isHalved ? 3 : 1,
    objective: 'makespan',
    overtaking: null,
  }
}

function randomStops(shape: ProblemShape, devices: readonly (readonly number[])[], below: (most: number) => number): Stop[] {
  const order = devices.map((units) => ({ units, key: below(1000) })).sort((a, b) => a.key - b.key)
  return order.slice(0, 1 + below(devices.length)).map(({ units }, index) => {
    const seconds = 20 + below(200)
    return {
      options: units.map((place) => ({ place, seconds })),
      within_s: shape.windows && index > 0 && below(2) === 0 ? 40 + below(100) : null,
    }
  })
}

/** Groups 0 and 1 are reached by one arm each, group 2 by both. */
function halves(handOver: number): (Leg[] | null)[] {
  const leg = (arms: readonly number[], via = -1): Leg => ({ by: arms.map((arm) => ({ arm, seconds: 12 })), via })
  const of = (group: number) => (group === 2 ? [0, 1] : [group])
  return [0, 1, 2].flatMap((from) =>
    [0, 1, 2].map((to) => {
      const both = of(from).filter((arm) => of(to).includes(arm))
      return both.length > 0 ? [leg(both)] : [leg(of(from), handOver), leg(of(to))]
    }),
  )
}
