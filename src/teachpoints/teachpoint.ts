// A named place of a robot.

import * as v from 'valibot'
import { described } from '../kit/described.ts'
import { Id, Name } from '../kit/name.ts'

const Millimetres = v.pipe(v.number(), v.finite(), v.metadata({ unit: 'mm' }))
const Degrees = v.pipe(v.number(), v.finite(), v.metadata({ unit: '°' }))

type NameSchema = v.GenericSchema<string, string>

const Cartesian = v.strictObject({ x: Millimetres, y: Millimetres, z: Millimetres, yaw: Degrees, pitch: Degrees, roll: Degrees })

const Joint = v.strictObject({
  base: Degrees,
  shoulder: Degrees,
  elbow: Degrees,
  wrist: Degrees,
  rail: v.optional(Millimetres, 0),
  gripper: v.optional(Degrees, 0),
})

/** Makes the schema of an access pattern whose name has this schema. */
const accessNamed = (name: NameSchema) =>
  v.strictObject({
    name: v.optional(name),
    access_type: v.picklist(['vertical', 'horizontal']),
    gripper_offset: v.optional(Millimetres),
    vertical_clearance: v.optional(Millimetres),
    horizontal_clearance: v.optional(Millimetres),
  })

/** How an arm comes to a point and leaves it. */
export const Access = accessNamed(Name)
export type Access = v.InferOutput<typeof Access>

/** Makes the optional members of a point; a member that is left out stays absent. */
const adviceNamed = (name: NameSchema, access: typeof Access) => ({
  orientation: v.optional(described(v.picklist(['left', 'right']), 'To which side the elbow bends; for cartesian coordinates')),
  access: v.optional(
    described(v.union([name, access]), 'How to come and go: the pattern, or the name of one in another point of the device'),
  ),
  gateway: v.optional(described(name, 'Another point of the device, which the arm passes when it comes and when it leaves')),
})
const advice = adviceNamed(Name, Access)

/** Makes the schema of a teachpoint whose names have this schema. */
const named = (name: NameSchema, its: typeof advice) =>
  v.variant('coord_type', [
    v.strictObject({ device_id: Id, name, coord_type: v.literal('cartesian'), coords: Cartesian, ...its }),
    v.strictObject({ device_id: Id, name, coord_type: v.literal('joint'), coords: Joint, ...its }),
  ])

export const Teachpoint = named(Name, advice)
export type Teachpoint = v.InferOutput<typeof Teachpoint>

/** A teachpoint in a file of the service: earlier versions took names with white space at their ends, and of white space alone. */
export const StoredTeachpoint = named(v.string(), adviceNamed(v.string(), accessNamed(v.string())))

const addressed = { device_id: v.optional(Id), name: v.optional(Name) }

/** A teachpoint whose address is known from elsewhere, and may be left out. */
export const AddressedTeachpoint = v.variant('coord_type', [
  v.strictObject({ ...addressed, coord_type: v.literal('cartesian'), coords: Cartesian, ...advice }),
  v.strictObject({ ...addressed, coord_type: v.literal('joint'), coords: Joint, ...advice }),
])
export type AddressedTeachpoint = v.InferOutput<typeof AddressedTeachpoint>
