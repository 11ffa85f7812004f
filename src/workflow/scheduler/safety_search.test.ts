// The search of the safe-state check, held against a search that tries everything.

import { test } from 'tap'
import { canAllFinish } from '../../testing/brute_force.ts'
import { randomFrom } from '../../testing/scheduler_runs.ts'
import { trials } from '../../testing/trials.ts'
import { alikes, type Configuration, type Traveller } from './safety_problem.ts'
import { isSafe } from './safety_search.ts'

const isSafeUnbounded = (configuration: Configuration) => isSafe(configuration, Number.POSITIVE_INFINITY).verdict === 'safe'

/** Places that all reach each other. */
function deck(count: number, travellers: readonly Partial<Traveller>[], more: Partial<Configuration> = {}): Configuration {
  const usual = { at: [0], stops: [], stays: false, canPark: true, isIdle: false, home: -1 }
  const all = travellers.map((traveller) => ({ ...usual, ...traveller }))
  const conflicts = Array.from({ length: count }, () => [])
  return { kinds: conflicts.map(() => 0), kindCount: 1, ways: [[[]]], conflicts, blocked: [], parking: [], travellers: all, ...more }
}

const ring = [
  { at: [0], stops: [[1]] },
  { at: [1], stops: [[0]] },
]

test('two that must change places need a third one', (t) => {
  t.equal(isSafeUnbounded(deck(2, ring)), false)
  t.equal(isSafeUnbounded(deck(3, ring, { parking: [2] })), true)
  t.equal(isSafeUnbounded(deck(3, ring, { parking: [2], blocked: [2] })), false, 'labware without a thread stands there')
  t.equal(isSafeUnbounded(deck(3, [ring[0]!, { ...ring[1], home: 2 }])), true, 'the place of its own is enough')
  t.equal(isSafeUnbounded(deck(3, [{ at: [0], stops: [[1, 2]] }, ring[1]!])), true, 'one of a pool is free')
  t.end()
})

test('labware that stays at its end is in the way of those that come after it', (t) => {
  const first = { at: [0], stops: [[2]], stays: true }
  t.equal(isSafeUnbounded(deck(4, [first, { at: [1], stops: [[2], [3]] }])), true, 'the other one goes first')
  t.equal(isSafeUnbounded(deck(3, [first, { at: [1], stops: [[2]], stays: true }])), false)
  t.end()
})

test('a way leads past nobody who stands there', (t) => {
  const past: Partial<Configuration> = { kinds: [0, 1, 0], kindCount: 2, ways: [[[]], [[2]], [[2]], [[]]] }
  t.equal(isSafeUnbounded(deck(3, [{ at: [0], stops: [[1]] }], past)), true)
  t.equal(
    isSafeUnbounded(
      deck(
        3,
        [
          { at: [0], stops: [[1]] },
          { at: [2], isIdle: true, canPark: false },
        ],
        past,
      ),
    ),
    false,
  )
  t.end()
})

/** Returns a random configuration of a few travellers. */
function scene(seed: number): Configuration {
  const random = randomFrom(seed)
  const places = 3 + random(4)
  const parking = Array.from({ length: Math.max(0, random(4) - 1) }, (_, i) => places + i)
  const own = places + parking.length
  const count = Math.min(3 + random(3), places)
  const travellers = Array.from({ length: count }, (_, i) => ({
    at: [random(4) === 0 ? own + i : i],
    stops: Array.from({ length: random(5) }, () => [...new Set(Array.from({ length: 1 + random(2) }, () => random(places)))]),
    stays: random(4) === 0,
    canPark: random(6) > 0,
    isIdle: false,
    home: random(4) === 0 ? own + i : -1,
  }))
  const total = own + count
  const isSplit = random(3) === 0
  const kinds = Array.from({ length: total }, () => (isSplit ? random(2) : 0))
  // Nobody passes through a device, so that a place that is passed has no conflicts.
  const passed = 2 + random(total - 2)
  const conflicts = Array.from({ length: total }, (): number[] => [])
  if (random(3) === 0) {
    conflicts[0]!.push(1)
    conflicts[1]!.push(0)
    travellers.splice(1, 1)
  }
  const ways = isSplit ? [[[]], [[passed]], [[passed]], [[]]] : [[[]]]
  return { kinds, kindCount: isSplit ? 2 : 1, ways, conflicts, blocked: [], parking, travellers }
}

test('the search says what a search of everything says, and with a small bound never says safe where it is not', (t) => {
  let safe = 0
  const count = trials(3000, 600)
  for (let seed = 0; seed < count; seed++) {
    const configuration = structuredClone(scene(seed))
    const expected = canAllFinish(configuration)
    if (expected) safe++
    if (isSafeUnbounded(configuration) !== expected)
      t.fail(`seed ${seed}: ${JSON.stringify(configuration)} is ${expected ? 'safe' : 'unsafe'}`)
    const { verdict, looked } = isSafe(configuration, 1)
    if (looked > 1) t.fail(`seed ${seed}: it looked at ${looked}`)
    if (verdict !== 'unknown' && (verdict === 'safe') !== expected) t.fail(`seed ${seed}: with a bound of 1 it is said to be ${verdict}`)
  }
  t.ok(safe > count / 10 && safe < (count * 19) / 20, `${safe} of ${count} are safe`)
  t.end()
})

/** Returns a random configuration in which some labware has a lid, which lies apart from the labware between two stops of it. */
function sceneWithLids(seed: number): Configuration {
  const random = randomFrom(seed * 7 + 1)
  const { travellers, kinds, conflicts, ...rest } = scene(seed)
  // The search lets labware wait at its own place only where nobody passes; the search of everything does not know that rule.
  const passed = new Set(rest.ways.flat(2))
  const pads = 1 + random(2)
  const first = kinds.length
  const taken = new Set(travellers.flatMap(({ at }) => at))
  // No lid lies in a device.
  const free = Array.from({ length: first + pads }, (_, place) => place).filter((place) => place > 1 && !taken.has(place))
  const all = travellers.map((traveller): Traveller => {
    if (random(3) === 0) return traveller
    const stops: (readonly number[])[] = []
    const moves: ('go' | 'off' | 'on')[] = []
    const isOff = random(4) === 0 && free.length > 0
    const lid = isOff ? free.splice(random(free.length), 1)[0] : undefined
    let isOn = !isOff
    // A lid is not put where its own labware will stand, and an end follows each move of it.
    const own = new Set([...traveller.stops.flat(), ...traveller.at, traveller.home, ...rest.parking])
    const others = Array.from({ length: first }, (_, place) => place).filter((place) => place > 1 && !own.has(place))
    for (const stop of traveller.stops) {
      if (random(2) === 0) {
        const other = random(2) === 0 ? others[random(Math.max(1, others.length))] : undefined
        stops.push(isOn ? [first + random(pads), ...(other === undefined ? [] : [other])] : [])
        moves.push(isOn ? 'off' : 'on')
        isOn = !isOn
      }
      stops.push(stop)
      moves.push('go')
    }
    return { ...traveller, stops, moves, lid, home: passed.has(traveller.home) ? -1 : traveller.home }
  })
  const added = Array.from({ length: pads })
  return {
    ...rest,
    travellers: all,
    kinds: [...kinds, ...added.map(() => 0)],
    conflicts: [...conflicts, ...added.map(() => [])],
  }
}

test('a lid that is off keeps its place until it is put back: the search says what a search of everything says', (t) => {
  let [safe, off] = [0, 0]
  const count = trials(1000, 150)
  for (let seed = 0; seed < count; seed++) {
    const configuration = structuredClone(sceneWithLids(seed))
    const expected = canAllFinish(configuration)
    if (expected) safe++
    if (configuration.travellers.some(({ moves }) => moves?.includes('off'))) off++
    if (isSafeUnbounded(configuration) !== expected)
      t.fail(`seed ${seed}: ${JSON.stringify(configuration)} is ${expected ? 'safe' : 'unsafe'}`)
  }
  t.ok(safe > count / 10 && safe < (count * 19) / 20, `${safe} of ${count} are safe`)
  t.ok(off > count / 2)
  t.end()
})

/** Returns a random configuration with sets of places that are alike. Travellers share the lists of their stops, and some hold a place and stand at another. */
function sceneOfPools(seed: number): Configuration {
  const random = randomFrom(seed)
  const pools: number[][] = []
  let places = 0
  for (let pool = 2 + random(2); pool > 0; pool--) pools.push(Array.from({ length: 1 + random(3) }, () => places++))
  const parking = Array.from({ length: random(2) }, () => places++)
  const free = Array.from({ length: places }, (_, place) => place)
  const takeOne = () => free.splice(random(free.length), 1)
  const blocked = random(4) === 0 ? takeOne() : []
  const travellers = Array.from({ length: Math.min(2 + random(2), free.length) }, () => {
    const own = takeOne()
    return {
      at: random(3) === 0 && free.length > 2 ? [...own, ...takeOne()] : own,
      stops: Array.from({ length: 1 + random(3) }, () => pools[random(pools.length)]!),
      stays: random(3) === 0,
      canPark: random(6) > 0,
      isIdle: false,
      home: -1,
    }
  })
  const isSplit = random(3) === 0
  const ofPool = (place: number) =>
    isSplit
      ? Math.max(
          0,
          pools.findIndex((pool) => pool.includes(place)),
        ) % 2
      : 0
  const kinds = Array.from({ length: places }, (_, place) => ofPool(place))
  const passed = random(places)
  const ways = isSplit ? [[[]], [[passed]], [[passed]], [[]]] : [[[]]]
  return { kinds, kindCount: isSplit ? 2 : 1, ways, conflicts: kinds.map(() => []), blocked, parking, travellers }
}

test('places that are alike are one place with room: the search says what a search of everything says', (t) => {
  let [safe, alike, twice] = [0, 0, 0]
  const count = trials(3000, 600)
  for (let seed = 0; seed < count; seed++) {
    const configuration = sceneOfPools(seed)
    const expected = canAllFinish(configuration)
    if (expected) safe++
    const { kinds, travellers } = configuration
    if (new Set(alikes(configuration)).size < kinds.length) alike++
    const [first] = travellers
    if (first && travellers.some(({ stops }) => stops[0] === first.stops[0]) && first.at.length > 1) twice++
    if (isSafeUnbounded(configuration) !== expected)
      t.fail(`seed ${seed}: ${JSON.stringify(configuration)} is ${expected ? 'safe' : 'unsafe'}`)
  }
  t.ok(safe > count / 10 && safe < (count * 19) / 20, `${safe} of ${count} are safe`)
  t.ok(alike > count / 2 && twice > count / 10, `${alike} have places that are alike, ${twice} labware at two places`)
  t.end()
})

test('labware that occupies two places that are alike leaves both', (t) => {
  const both = [0, 1]
  t.equal(
    isSafeUnbounded(
      deck(3, [
        { at: [0, 1], stops: [[2]] },
        { at: [2], stops: [both], stays: true },
      ]),
    ),
    false,
  )
  t.equal(
    isSafeUnbounded(
      deck(
        4,
        [
          { at: [0, 1], stops: [[2]] },
          { at: [2], stops: [both], stays: true },
        ],
        { parking: [3] },
      ),
    ),
    true,
  )
  t.end()
})
