// Random topologies, random journeys, random interleavings: what never may be so, and that every run comes to its end.

import fc from 'fast-check'
import { test } from 'tap'
import { Run, type Shape } from '../../testing/scheduler_runs.ts'

const anyShape: fc.Arbitrary<Shape> = fc.record({
  seed: fc.nat(),
  arms: fc.integer({ min: 1, max: 3 }),
  bridge: fc.constantFrom('shuttle', 'plain', 'pad'),
  devices: fc.integer({ min: 1, max: 5 }),
  pads: fc.integer({ min: 0, max: 3 }),
  storages: fc.integer({ min: 1, max: 3 }),
  threads: fc.integer({ min: 1, max: 9 }),
})

const runs = { numRuns: 400, seed: 20_241_120 }

test('with one place to park every run comes to its end', (t) => {
  fc.assert(
    fc.property(anyShape, (shape) => {
      const run = new Run({ ...shape, pads: Math.max(1, shape.pads) }, { partners: false, aborts: false })
      run.toTheEnd()
      if (run.stuck.length > 0) throw new Error(`stuck: ${run.stuck.join(', ')}`)
    }),
    runs,
  )
  t.end()
})

test('without one it comes to its end, or says who is stuck', (t) => {
  fc.assert(
    fc.property(anyShape, (shape) => new Run({ ...shape, pads: 0 }, { partners: false, aborts: false }).toTheEnd()),
    runs,
  )
  t.end()
})

test('with threads that wait for each other, that idle and that are aborted, it comes to its end, or says who is stuck', (t) => {
  fc.assert(
    fc.property(anyShape, (shape) => new Run(shape, { partners: true, aborts: true }).toTheEnd()),
    runs,
  )
  t.end()
})
