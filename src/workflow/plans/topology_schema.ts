// The schema of the document of a topology.

import * as v from 'valibot'
import { described, Whole } from '../../kit/described.ts'
import { byName, Id, Name } from '../../kit/name.ts'
import { Count, Seconds } from './schema_parts.ts'

/** A place that holds one labware. A device with several sites has one for each: `bravo_96/site-1`. */
const Position = v.strictObject({
  device: described(v.optional(Id), 'The device whose nest this is'),
  parking: described(v.optional(v.boolean(), false), 'Blocked labware may be put here for a while'),
  storage: described(
    v.optional(v.boolean(), false),
    'A stacker or a waste: labware comes out of it and goes into it without taking up the place',
  ),
  slots: described(
    v.optional(Whole(1, 1000)),
    'How many numbered slots a storage has here, for one labware each: `incubator/slot-1`, …. Only the storage itself reaches them: it is a transporter between its transfer station and its slots',
  ),
  handover: described(
    v.optional(v.boolean(), false),
    'Carriers bring labware here from other benches of the lab, and take it from here to them',
  ),
  scanner: described(v.optional(Id), 'The device that reads the barcode of each labware that comes here or begins here'),
})

const Transporter = v.strictObject({
  positions: described(v.pipe(v.array(Name), v.minLength(1)), 'What it reaches; each pair of them is a move'),
  scanner: described(v.optional(Id), 'The device that reads the barcode of each labware that this transporter has picked up'),
  seconds: v.optional(v.strictObject({ pick: v.optional(Seconds, 5), move: v.optional(Seconds, 2), place: v.optional(Seconds, 5) }), {}),
})

const DeclaredDevice = v.strictObject({
  sites: described(v.optional(Count, 1), 'How many labware it holds'),
  operations: described(
    v.optional(
      v.record(
        Id,
        v.strictObject({
          seconds: v.optional(Seconds),
          lid: described(v.optional(v.picklist(['on', 'off'])), 'How the lids of its labware must be; absent where both are right'),
        }),
      ),
      {},
    ),
    'What it can do, for a device that the configuration does not have',
  ),
})

export const TopologyDocument = v.strictObject({
  $schema: v.optional(v.string()),
  format: v.literal(1),
  name: Id,
  transporters: v.optional(v.record(Id, Transporter), {}),
  positions: byName(Position),
  translators: described(
    v.optional(v.record(Id, v.tuple([Name, Name])), {}),
    'Shuttles: two stations that are one pad, so that only one of them is ever taken',
  ),
  pools: v.optional(v.record(Id, v.pipe(v.array(Id), v.minLength(1))), {}),
  devices: v.optional(v.record(Id, DeclaredDevice), {}),
})
/** The document with its defaults. */
export type TopologyDocument = v.InferOutput<typeof TopologyDocument>
export type TopologyInput = v.InferInput<typeof TopologyDocument>
