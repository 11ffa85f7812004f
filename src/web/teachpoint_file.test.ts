import { test } from 'tap'
import type { Teachpoint } from '../clients/ts/benchd.ts'
import { compared, pointsIn } from './teachpoint_file.ts'

function point(name: string, x: number): Teachpoint {
  return { device_id: 'arm-1', name, coord_type: 'cartesian', coords: { x, y: 0, z: 0, yaw: 0, pitch: 0, roll: 0 } }
}

test('an import is shown as what is new, what changes and by how much, and what stays', (t) => {
  const file = JSON.stringify({ device_id: 'arm-1', teachpoints: [point('pad_1', 7), point('pad_2', 2), point('pad_3', 3)] })
  const found = compared(pointsIn(file, 'arm-1'), [point('pad_1', 1), point('pad_2', 2)])
  t.match(found, { created: ['pad_3'], changed: [{ name: 'pad_1', words: 'x 1 → 7' }], same: 1 })
  t.equal(found.points.length, 3)
  const joint = { ...point('pad_2', 2), coord_type: 'joint', coords: { base: 1 } } as unknown as Teachpoint
  t.match(compared([joint], [point('pad_2', 2)]).changed, [{ words: 'cartesian → joint' }])
  t.end()
})

test('a file that is none of teachpoints, or of another robot, says so', (t) => {
  const { device_id: _, ...bare } = point('pad_1', 1)
  t.same(pointsIn(JSON.stringify([bare]), 'arm-1'), [point('pad_1', 1)], 'the bare list')
  t.throws(() => pointsIn('{', 'arm-1'), /it is not JSON.*benchd teachpoints import arm-1 FILE/)
  for (const text of ['{}', 'null', '3', '{"teachpoints":{}}']) t.throws(() => pointsIn(text, 'arm-1'), /no list/)
  for (const text of ['[{}]', '[null]', '[{"name":"a","coords":null}]']) t.throws(() => pointsIn(text, 'arm-1'), /no name or no coords/)
  t.throws(() => pointsIn(JSON.stringify([point('pad_1', 1)]), 'arm-2'), /of arm-1, not of arm-2/)
  t.end()
})
