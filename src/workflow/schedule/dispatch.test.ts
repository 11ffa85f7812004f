import { test } from 'tap'
import type { DispatchProblem, Lane, Work } from './dispatch_problem.ts'
import { foretell } from './foretell.ts'

/** Place 0 is a storage where labware comes from, 1 and 2 are devices, 3 is a storage where it ends. A hop takes 10 s, and there is one arm. */
const places = ['stack', 'washer', 'reader', 'waste'].map((name, group) => ({ name, isStorage: group === 0 || group === 3, group }))

function problem(lanes: readonly Lane[], more: Partial<DispatchProblem> = {}): DispatchProblem {
  const leg = [{ by: [{ arm: 0, seconds: 10 }], via: -1 }]
  const ways = Array.from({ length: 16 }, () => leg)
  const empty = { seeds: {}, devices: {}, blocked: {}, order: {} }
  return { places, arms: ['arm'], arm_free_s: [0], ways, groups: 4, runs: 1, lanes, ...empty, ...more }
}

const visit = (place: number, seconds: number, more: object = {}): Work => ({
  ...{ kind: 'visit', name: `at ${place}`, options: [{ place, seconds }], brings: [], method: null, temperature: null, isPark: false },
  ...more,
})

function lane(id: string, works: readonly Work[], more: Partial<Lane> = {}): Lane {
  const here = { at: 0, isOn: false, ready_s: 0, serves: null, held: null }
  return { id, name: id, run: 0, key: id, priority: 0, tips: null, most: null, works, ends: [3], stays: true, ...here, ...more }
}

test('one labware: its hops and its work, and what comes next', (t) => {
  const { runs, lanes, isBrokenOff } = foretell(
    problem([lane('a', [visit(1, 100), { kind: 'pass', name: 'rest', seconds: 50 }, visit(2, 30)])]),
  )
  t.equal(isBrokenOff, false)
  t.same(runs, [{ end_s: 210, left_s: 210, why: null }])
  t.same(lanes[0]?.next, [
    { name: 'at 1', place: 1, from_s: 10, to_s: 110 },
    { name: 'rest', place: null, from_s: 110, to_s: 160 },
    { name: 'at 2', place: 2, from_s: 170, to_s: 200 },
  ])
  t.end()
})

test('labware waits for a device, by priority and by the order of a plan', (t) => {
  const both = [lane('a', [visit(1, 100)]), lane('b', [visit(1, 100)])]
  const ends = (one: DispatchProblem) => foretell(one).lanes.map(({ end_s }) => end_s)
  t.same(ends(problem(both)), [120, 240])
  t.same(ends(problem(both, { order: { 1: ['b', 'a'] } })), [240, 120])
  const three = [lane('a', [visit(1, 100)]), lane('b', [visit(1, 100)]), lane('c', [visit(1, 100)], { priority: 1 })]
  t.same(ends(problem(three)), [120, 360, 240])
  // A plan that names labware that is gone is given up.
  t.same(ends(problem(both, { order: { 1: ['gone', 'a', 'b'] } })), [120, 240])
  t.end()
})

test('the present work keeps its place, and a device is initialized and heated before its first work', (t) => {
  const works = [lane('a', [visit(2, 10)], { at: 1, isOn: true, ready_s: 60 }), lane('b', [visit(1, 100)])]
  t.equal(foretell(problem(works)).lanes[1]?.end_s, 190, 'the arm takes a first, which is free at 70; then b comes at 80')
  const hot = visit(1, 100, { temperature: 125 })
  const devices = { 1: { initialize_s: 30, temperature: 25, heating_s: 2 } }
  t.equal(foretell(problem([lane('a', [hot, hot])], { devices })).lanes[0]?.end_s, 10 + 30 + 200 + 100 + 100 + 10)
  t.end()
})

test('what cannot be foretold: an event that nothing emits, labware that is held, a device that is stopped', (t) => {
  const wait: Work = { kind: 'wait', name: 'go', event: 'go', scope: null }
  const alone = foretell(problem([lane('a', [wait, visit(1, 100)])]))
  t.same(alone.runs, [{ end_s: null, left_s: 120, why: 'a waits for the event go, which nothing emits' }])
  const emitted = foretell(
    problem([lane('a', [wait, visit(1, 100)]), lane('b', [visit(2, 50), { kind: 'emit', event: 'go', scope: 'g1' }])]),
  )
  t.equal(emitted.runs[0]?.why, null)
  t.equal(emitted.lanes[0]?.end_s, 190, 'the arm brings b to its end first')
  const other = foretell(problem([lane('a', [{ ...wait, scope: 'g2' } as Work]), lane('b', [{ kind: 'emit', event: 'go', scope: 'g1' }])]))
  t.equal(other.lanes[0]?.end_s, null, 'another group does not hear it')
  const held = lane('h', [], { at: 1, isOn: true, held: 'is paused' })
  const behind = foretell(problem([held, lane('a', [visit(1, 100)])]))
  t.same(
    behind.lanes.map(({ end_s, why }) => [end_s, why]),
    [
      [null, 'is paused'],
      [null, 'waits for h, which is paused'],
    ],
  )
  t.match(behind.runs, [{ end_s: null, why: 'h is paused' }])
  t.equal(behind.lanes[1]?.left_s, 130, 'as if all went on now')
  const stopped = foretell(problem([lane('a', [visit(1, 100)]), lane('b', [visit(2, 10)])], { blocked: { 1: 'washer is stopped' } }))
  t.same([stopped.lanes[0]?.why, stopped.lanes[1]?.end_s], ['washer is stopped', 30])
  t.end()
})

test('a method sends for labware, which comes, serves, and ends when no more work may come', (t) => {
  const brings = [{ key: 'tips', tips: 8 }]
  const shared = (place: number): Work[] => [visit(place, 100, { brings, method: 'fill' }), { kind: 'over', feeds: ['tips'] }]
  const serve: Work = { kind: 'serve', name: 'join', methods: ['fill'] }
  const seeds = { tips: lane('a new rack', [{ kind: 'loop', body: [serve] }], { key: 'tips', tips: 16 }) }
  const one = foretell(problem([lane('a', shared(1))], { seeds }))
  t.same(one.lanes[0], { id: 'a', end_s: 130, left_s: 130, why: null, next: [{ name: 'at 1', place: 1, from_s: 20, to_s: 120 }] })
  t.equal(one.runs[0]?.end_s, 140, 'the rack is taken away too')
  const two = foretell(problem([lane('a', [...shared(1), ...shared(2)])], { seeds }))
  t.equal(two.runs[0]?.end_s, 260, 'the same rack serves twice')
  const three = foretell(problem([lane('a', [...shared(1), ...shared(2), ...shared(1)])], { seeds }))
  t.ok(three.runs[0]!.end_s! > 370, 'a third method needs another rack')
  t.equal(three.isBrokenOff, false)
  const present = lane('rack', [], { key: 'tips', at: 1, isOn: true, serves: 'a' })
  const going = foretell(problem([lane('a', [{ kind: 'over', feeds: [] }], { at: 1, isOn: true, ready_s: 40 }), present]))
  t.ok(going.runs[0]!.end_s! <= 60, 'labware that takes part now is released when the method ends')
  t.end()
})
