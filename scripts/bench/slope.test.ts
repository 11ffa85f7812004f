import { test } from 'tap'
import { slope } from './slope.ts'

test('a slope is told though a tenth of the points are far off, and none where there is but one', (t) => {
  const points = Array.from({ length: 60 }, (_, x) => [x, 5 + 3 * x + (x % 10 === 7 ? 1000 : 0)] as const)
  t.equal(slope(points), 3)
  t.equal(
    slope([
      [0, 7],
      [1, 7],
      [2, 7],
      [3, 40],
    ]),
    5.5,
  )
  t.equal(slope(Array.from({ length: 20_000 }, (_, x) => [x, 2 * x])), 2)
  t.ok(Number.isNaN(slope([[1, 2]])))
  t.end()
})
