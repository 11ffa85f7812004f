// A named place of a robot.

import * as v from 'valibot'
import { described } from '../kit/described.ts'
import { Id, Name, StoredName } from '../kit/name.ts'

const Millimetres = v.pipe(v.number(), v.finite(), v.metadata({ unit: 'mm' }))
const Degrees = v.pipe(v.number(), v.finite(), v.metadata({ unit: '°' }))

const Cartesian = v.strictObject({ x: Millimetres, y: Millimetres, z: Millimetres, yaw: Degrees, pitch: Degrees, roll: Degrees })

const Joint = v.strictObject({
  base: Degrees,
  shoulder: Degrees,
  elbow: Degrees,
  wrist: Degrees,
  rail: v.optional(Millimetres, 0),
  gripper: v.optional(Degrees, 0),
})

/** How an arm comes to a point and leaves it. */
export const Access = v.strictObject({
  name: v.optional(Name),
  access_type: v.picklist(['vertical', 'horizontal']),
  gripper_offset: v.optional(Millimetres),
  vertical_clearance: v.optional(Millimetres),
  horizontal_clearance: v.optional(Millimetres),
})
export type Access = v.InferOutput<typeof Access>

/** The optional members of a point; a member that is left out stays absent. */
const advice = {
  orientation: v.optional(described(v.picklist(['left', 'right']), 'To which side the elbow bends')),
  access: v.optional(described(v.union([Name, Access]), 'How to come and go: the name of a pattern, or the pattern')),
  gateway: v.optional(described(Name, 'Another point of the device, passed on the way')),
}

/** Makes the schema of a teachpoint whose name has this schema. */
const named = (name: typeof Name | typeof StoredName) =>
  v.variant('coord_type', [
    v.strictObject({ device_id: Id, name, coord_type: v.literal('cartesian'), coords: Cartesian, ...advice }),
    v.strictObject({ device_id: Id, name, coord_type: v.literal('joint'), coords: Joint, ...advice }),
  ])

export const Teachpoint = named(Name)
export type Teachpoint = v.InferOutput<typeof Teachpoint>

/** A teachpoint in a file of the service. */
export const StoredTeachpoint = named(StoredName)

const addressed = { device_id: v.optional(Id), name: v.optional(Name) }

/** A teachpoint whose address is known from elsewhere, and may be left out. */
export const AddressedTeachpoint = v.variant('coord_type', [
  v.strictObject({ ...addressed, coord_type: v.literal('cartesian'), coords: Cartesian, ...advice }),
  v.strictObject({ ...addressed, coord_type: v.literal('joint'), coords: Joint, ...advice }),
])
export type AddressedTeachpoint = v.InferOutput<typeof AddressedTeachpoint>
