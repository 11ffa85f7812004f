import { test } from 'tap'
import * as v from 'valibot'
import { AddressedTeachpoint, Teachpoint } from './teachpoint.ts'

const coords = { x: 1.5, y: -2, z: 300, yaw: 0, pitch: 90, roll: 180 }
const home = { device_id: 'arm-1', name: 'home', coord_type: 'cartesian', coords }
const joint = { device_id: 'arm-1', name: 'tucked', coord_type: 'joint', coords: { base: 0, shoulder: 10, elbow: 20, wrist: 30 } }

test('a teachpoint comes out as it went in, and what it does not say stays absent', async (t) => {
  const more = { orientation: 'left', access: 'default_vertical', gateway: 'safe' }
  const pattern = { access_type: 'horizontal', gripper_offset: 20 }
  for (const point of [home, { ...home, ...more }, { ...home, access: pattern }, { ...home, orientation: 'right' }]) {
    t.equal(JSON.stringify(v.parse(Teachpoint, point)), JSON.stringify(point))
  }
})

test('a joint point has rail and gripper at 0 unless it says so', async (t) => {
  t.same(v.parse(Teachpoint, joint).coords, { ...joint.coords, rail: 0, gripper: 0 })
  t.match(v.parse(Teachpoint, { ...joint, coords: { ...joint.coords, rail: 7 } }), { coords: { rail: 7, gripper: 0 } })
})

test('a teachpoint that is not whole is refused', async (t) => {
  const { roll: _, ...rest } = coords
  const bad = [
    { ...home, coords: rest },
    { ...home, coords: { ...coords, w: 1 } },
    { ...home, coords: { ...coords, x: Number.POSITIVE_INFINITY } },
    { ...home, coords: { ...coords, x: Number.NaN } },
    { ...home, coords: { ...coords, x: '1' } },
    { ...home, coords: { ...coords, x: null } },
    { ...home, coord_type: 'joint' },
    { ...home, coord_type: 'polar' },
    { ...home, more: 1 },
    { ...home, orientation: 'up' },
    { ...home, access: { gripper_offset: 1 } },
    { ...home, gateway: '..' },
    { ...home, gateway: null },
    { ...home, name: '' },
    { ...home, name: '..' },
    { ...home, name: 'a\nb' },
    { ...home, device_id: 'arm/1' },
    { ...joint, coords: { base: 0, shoulder: 0, elbow: 0 } },
    [home],
  ]
  for (const point of bad) t.notOk(v.is(Teachpoint, point), JSON.stringify(point))
})

test('where the address is known it may be left out', async (t) => {
  const { device_id: _, name: __, ...rest } = home
  t.same(v.parse(AddressedTeachpoint, rest), rest)
  t.same(v.parse(AddressedTeachpoint, home), home)
  t.notOk(v.is(Teachpoint, rest))
})
