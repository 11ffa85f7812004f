// The problem as tables of numbers: made once, read by the search for each state. Stops of all jobs have one numbering; after the last
// stop of each job comes one more number, which stands for "done".

import type { Problem } from './problem.ts'

/** Places that are alternatives to each other at some stop, with what is needed of them. */
export type Pool = {
  readonly members: Int16Array
  /** The longest time for which labware that leaves still holds its place. */
  readonly longestOut: number
  /** The shortest rest of a journey after a visit here. */
  readonly shortestTail: number
}

export type Model = {
  readonly problem: Problem
  readonly jobs: number
  readonly places: number
  readonly arms: number
  /** For each job its first stop; the number before the first stop of the next job stands for "done". */
  readonly firstStop: Int32Array
  /** The options of each stop: `optionPlace[firstOption[stop] ... firstOption[stop + 1] - 1]`. */
  readonly firstOption: Int32Array
  readonly optionPlace: Int16Array
  readonly optionSeconds: Float64Array
  /** Infinity without a window. */
  readonly within: Float64Array
  readonly isStorage: Uint8Array
  readonly isBuffer: Uint8Array
  /** The buffers of each job: `buffer[firstBuffer[job] ... firstBuffer[job + 1] - 1]`. */
  readonly firstBuffer: Int32Array
  readonly buffer: Int16Array
  /** For how many jobs a place is a buffer. */
  readonly sharers: Int32Array
  /** For each job and place a number; places of one number are alike for the job: its buffers, and the members of a pool. */
  readonly alike: Int16Array
  /** The legs between two places by their groups: `firstLeg[way] ... firstLeg[way + 1] - 1`; none if there is no way. */
  readonly groupOf: Int16Array
  readonly groups: number
  readonly firstLeg: Int32Array
  readonly legVia: Int16Array
  readonly firstCarrier: Int32Array
  readonly carrierArm: Int16Array
  readonly carrierSeconds: Float64Array
  /** The shortest hop to each stop, the shortest time until labware on its way there has left its place, and the shortest work at the stop. */
  readonly hopIn: Float64Array
  readonly hopOut: Float64Array
  readonly work: Float64Array
  /** The least seconds from the moment at which labware is ready to go to a stop until its end. */
  readonly tail: Float64Array
  /** The least seconds of arms from a stop on: of all arms together, and of each arm for what no other can do (`stop * arms + arm`). */
  readonly armTail: Float64Array
  readonly soleTail: Float64Array
  readonly jobOf: Int32Array
  /** The jobs in the order in which labware of one kind is served. */
  readonly inTurn: Int32Array
  /** For each stop the same stop of the labware of the same kind that is served before; -1 for none. */
  readonly turnOfKind: Int32Array
  /** Jobs of one class can stand for each other. */
  readonly classOf: Int32Array
  /** How important each labware is: 1 for the least important. */
  readonly weight: Float64Array
  /** How much the end of each labware counts. */
  readonly weightOfEnd: Float64Array
  readonly weightOfEnds: number
  /** For the makespan: the number of runs that are more important than others, how much the end of each counts, and the run of each labware; -1 for other labware. */
  readonly runs: number
  readonly weightOfRun: Float64Array
  readonly runOf: Int16Array
  readonly pools: readonly Pool[]
  /** The pools to which a stop brings work: `stopPool[firstPool[stop] ... firstPool[stop + 1] - 1]`. */
  readonly firstPool: Int32Array
  readonly stopPool: Int16Array
  /** The seconds for which a visit takes a place of a pool: hop, work, hop of the labware that leaves. */
  readonly visit: Float64Array
}

/** Lists of numbers one after another, and where each begins. */
function ragged(lists: readonly (readonly number[])[]): { first: Int32Array; flat: number[] } {
  const first = new Int32Array(lists.length + 1)
  lists.forEach((list, index) => {
    first[index + 1] = first[index]! + list.length
  })
  return { first, flat: lists.flat() }
}

type Way = { readonly seconds: number; readonly first: number; readonly sole: readonly number[] }

/** The least seconds of one way: until arrival, until the place is free that labware leaves, and of each arm for legs that no other can do. */
function leastOf(problem: Problem, from: number, to: number): Way | null {
  const way = problem.ways[problem.places[from]!.group * problem.groups + problem.places[to]!.group]
  if (from === to) return { seconds: 0, first: 0, sole: problem.arms.map(() => 0) }
  if (!way || way.some((leg) => leg.by.length === 0)) return null
  const least = way.map((leg) => Math.min(...leg.by.map((by) => by.seconds)))
  const seconds = least.reduce((sum, each) => sum + each, 0)
  const sole = problem.arms.map((_, arm) =>
    way.reduce((sum, { by }, leg) => (by.every((one) => one.arm === arm) ? sum + least[leg]! : sum), 0),
  )
  return { seconds, first: least[0]!, sole }
}

type Ways = (from: number, to: number) => Way | null

/** The least over all ways to a stop: from the stop before, from the buffers, and for the first stop from where the labware stands. */
function hopTo(problem: Problem, ways: Ways, job: number, stop: number): Way {
  const { stops, buffers, at } = problem.jobs[job]!
  const before = stop === 0 ? [at] : stops[stop - 1]!.options.map(({ place }) => place)
  const options = stops[stop]!.options.map(({ place }) => place)
  const all = (from: readonly number[], to: readonly number[]) =>
    from.flatMap((place) => to.map((other) => ways(place, other)).filter((way) => way !== null))
  const others = buffers.filter((place) => !options.includes(place))
  const hops = all([...new Set([...before, ...others])], options)
  const least = (numbers: readonly number[]) => numbers.reduce((one, other) => Math.min(one, other), Number.POSITIVE_INFINITY)
  const orNone = (seconds: number) => (seconds === Number.POSITIVE_INFINITY ? 0 : seconds)
  const stays = before.some((place) => options.includes(place))
  return {
    seconds: orNone(least(hops.map((way) => way.seconds))),
    first: stays
      ? 0
      : orNone(
          least(
            all(
              before,
              [...options, ...buffers].filter((place) => !before.includes(place)),
            ).map((way) => way.first),
          ),
        ),
    sole: problem.arms.map((_, arm) => orNone(least(hops.map((way) => way.sole[arm]!)))),
  }
}

/** Labware of one kind is served in order: labware that is further on goes first, then the order of the jobs counts. Stops are the same if so many come after them. */
function turnsOfKinds({ jobs }: Problem, firstStop: Int32Array, inTurn: Int32Array): Int32Array {
  const turns = new Int32Array(firstStop[jobs.length]!).fill(-1)
  const last = new Map<number, number>()
  for (const job of inTurn) {
    const before = last.get(jobs[job]!.kind)
    last.set(jobs[job]!.kind, job)
    if (before === undefined) continue
    for (let left = 1; left <= jobs[before]!.stops.length; left++) turns[firstStop[job + 1]! - 1 - left] = firstStop[before + 1]! - 1 - left
  }
  return turns
}

function classes({ jobs }: Problem): Int32Array {
  const known = new Map<string, number>()
  const of = (job: Problem['jobs'][number]) => JSON.stringify([job.stops, job.buffers, job.priority, job.stays, job.kind])
  return Int32Array.from(jobs, (job) => known.get(of(job)) ?? known.set(of(job), known.size).size - 1)
}

function tables(problem: Problem) {
  const { jobs, arms } = problem
  const firstStop = ragged(jobs.map(({ stops }) => [...stops.keys(), stops.length])).first
  const count = firstStop[jobs.length]!
  const column = () => new Float64Array(count)
  const [hopIn, hopOut, work, tail, armTail] = [column(), column(), column(), column(), column()]
  const soleTail = new Float64Array(count * arms.length)
  const known = new Map<number, Way | null>()
  const ways = (from: number, to: number) => {
    const key = from * problem.places.length + to
    const way = known.get(key)
    if (way !== undefined) return way
    known.set(key, leastOf(problem, from, to))
    return known.get(key)!
  }
  jobs.forEach(({ stops }, job) => {
    for (let index = stops.length - 1; index >= 0; index--) {
      const stop = firstStop[job]! + index
      const hop = hopTo(problem, ways, job, index)
      hopIn[stop] = hop.seconds
      hopOut[stop] = hop.first
      work[stop] = Math.min(...stops[index]!.options.map(({ seconds }) => seconds))
      tail[stop] = hop.seconds + work[stop]! + tail[stop + 1]!
      armTail[stop] = hop.seconds + armTail[stop + 1]!
      for (let arm = 0; arm < arms.length; arm++)
        soleTail[stop * arms.length + arm] = hop.sole[arm]! + soleTail[(stop + 1) * arms.length + arm]!
    }
  })
  return { firstStop, hopIn, hopOut, work, tail, armTail, soleTail }
}

/** The pools, each a set of places that is the choice at some stop; a stop brings work to each pool that has all its options. */
function poolsOf(problem: Problem, { firstStop, hopIn, hopOut, work, tail }: ReturnType<typeof tables>) {
  const visit = new Float64Array(work.length)
  const choices: (readonly number[])[] = [...work].map(() => [])
  problem.jobs.forEach(({ stops }, job) => {
    stops.slice(0, -1).forEach(({ options }, index) => {
      const places = [...new Set(options.map(({ place }) => place))].sort((a, b) => a - b)
      const stop = firstStop[job]! + index
      visit[stop] = hopIn[stop]! + work[stop]! + hopOut[stop + 1]!
      if (!places.some((place) => problem.places[place]!.isStorage)) choices[stop] = places
    })
  })
  const members = [...new Map(choices.filter((places) => places.length > 0).map((places) => [places.join(), places])).values()]
  const stopPools = choices.map((places) =>
    places.length === 0 ? [] : [...members.keys()].filter((pool) => places.every((place) => members[pool]!.includes(place))),
  )
  const pools = members.map((places, pool): Pool => {
    const stops = [...stopPools.keys()].filter((stop) => stopPools[stop]!.includes(pool))
    return {
      members: Int16Array.from(places),
      longestOut: Math.max(...stops.map((stop) => hopOut[stop + 1]!)),
      shortestTail: Math.min(...stops.map((stop) => tail[stop + 1]!)),
    }
  })
  const { first, flat } = ragged(stopPools)
  return { visit, pools, firstPool: first, stopPool: Int16Array.from(flat) }
}

function alikeOf({ jobs, places }: Problem, isBuffer: Uint8Array, pools: readonly Pool[]): Int16Array {
  const ofPools = places.map(({ group }, place) =>
    [group, ...[...pools.keys()].filter((pool) => pools[pool]!.members.includes(place))].join(),
  )
  const like = places.map(({ isStorage }, place) =>
    isStorage || !ofPools[place]!.includes(',') ? place : ofPools.indexOf(ofPools[place]!),
  )
  const buffer = (place: number) => places.length + places[place]!.group
  return Int16Array.from(jobs.flatMap((_, job) => like.map((key, place) => (isBuffer[job * places.length + place] ? buffer(place) : key))))
}

/** Whether a hop may have to begin later than it can, so that labware does not stand open, or not for too long. */
export const hasDelays = ({ problem, within }: Model): boolean =>
  problem.objective === 'open_time' || within.some((seconds) => seconds < Number.POSITIVE_INFINITY)

/** The most steps of priority, each of which doubles a weight. Larger weights would drown the others in the rounding of sums. */
const mostSteps = 10

function weightsOf({
  jobs,
  objective,
}: Problem): Pick<Model, 'weight' | 'weightOfEnd' | 'weightOfEnds' | 'runs' | 'weightOfRun' | 'runOf'> {
  // Labware without stops stands in the way, and is of no run.
  const least = Math.min(...jobs.flatMap(({ stops, priority }) => (stops.length > 0 ? priority : [])))
  const weight = Float64Array.from(jobs, ({ priority, stops }) => (stops.length > 0 ? 2 ** Math.min(mostSteps, priority - least) : 1))
  const more = objective === 'makespan' ? weight.map((each) => each - 1) : weight.map(() => 0)
  const important = [...new Set(jobs.flatMap(({ run }, job) => (more[job]! > 0 ? run : [])))]
  // The end of a run counts as much as the mean of the ends of its labware: with its end alone, labware with time to spare would go last.
  const sizeOf = (run: number) => jobs.filter((job) => job.run === run).length
  const ofEnd = (each: number, job: number) => (each > 0 ? each / sizeOf(jobs[job]!.run) : 1e-6 / jobs.length)
  const weightOfEnd = important.length > 0 ? more.map(ofEnd) : weight
  return {
    weight,
    weightOfEnd,
    weightOfEnds: weightOfEnd.reduce((sum, each) => sum + each, 0),
    runs: important.length,
    weightOfRun: Float64Array.from(important, (run) => Math.max(...jobs.map((job, index) => (job.run === run ? more[index]! : 0)))),
    runOf: Int16Array.from(jobs, ({ run }, job) => (more[job]! > 0 ? important.indexOf(run) : -1)),
  }
}

export function modelOf(problem: Problem): Model {
  const { jobs, places, arms, ways, groups } = problem
  const each = tables(problem)
  const stops = jobs.flatMap((job) => [...job.stops, { options: [], within_s: null }])
  const options = ragged(stops.map((stop) => stop.options.map(({ place }) => place)))
  const legs = ways.flatMap((way) => way ?? [])
  const isBuffer = new Uint8Array(jobs.length * places.length)
  jobs.forEach(({ buffers }, job) => {
    for (const place of buffers) if (!places[place]!.isStorage) isBuffer[job * places.length + place] = 1
  })
  const buffers = ragged(jobs.map((job) => [...new Set(job.buffers.filter((place) => !places[place]!.isStorage))].sort((a, b) => a - b)))
  const made = poolsOf(problem, each)
  const inTurn = Int32Array.from(jobs.keys()).sort((a, b) => jobs[a]!.stops.length - jobs[b]!.stops.length || a - b)
  return {
    problem,
    jobs: jobs.length,
    places: places.length,
    arms: arms.length,
    firstOption: options.first,
    optionPlace: Int16Array.from(options.flat),
    optionSeconds: Float64Array.from(stops.flatMap((stop) => stop.options.map(({ seconds }) => seconds))),
    within: Float64Array.from(stops, ({ within_s }) => within_s ?? Number.POSITIVE_INFINITY),
    isStorage: Uint8Array.from(places, ({ isStorage }) => Number(isStorage)),
    isBuffer,
    firstBuffer: buffers.first,
    buffer: Int16Array.from(buffers.flat),
    groupOf: Int16Array.from(places, ({ group }) => group),
    groups,
    firstLeg: ragged(ways.map((way) => (way ?? []).map(() => 0))).first,
    legVia: Int16Array.from(legs, ({ via }) => via),
    firstCarrier: ragged(legs.map(({ by }) => by.map(() => 0))).first,
    carrierArm: Int16Array.from(legs.flatMap(({ by }) => by.map(({ arm }) => arm))),
    carrierSeconds: Float64Array.from(legs.flatMap(({ by }) => by.map(({ seconds }) => seconds))),
    jobOf: Int32Array.from(jobs.flatMap(({ stops }, job) => [...stops, null].map(() => job))),
    inTurn,
    turnOfKind: turnsOfKinds(problem, each.firstStop, inTurn),
    classOf: classes(problem),
    ...weightsOf(problem),
    sharers: Int32Array.from(places, (_, place) => jobs.reduce((sum, _, job) => sum + isBuffer[job * places.length + place]!, 0)),
    alike: alikeOf(problem, isBuffer, made.pools),
    ...each,
    ...made,
  }
}
