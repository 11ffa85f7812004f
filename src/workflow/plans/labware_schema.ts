// The schema of the labware of a workflow.

import * as v from 'valibot'
import { described } from '../../kit/described.ts'
import { Id } from '../../kit/name.ts'
import { Count } from './schema_parts.ts'

const Grip = v.strictObject({
  width: described(v.pipe(v.number(), v.minValue(1), v.maxValue(500)), 'How wide it is between the fingers', 'mm'),
  force: v.optional(described(v.pipe(v.number(), v.minValue(1), v.maxValue(200)), 'How hard the fingers press', 'N')),
})

export const Labware = v.strictObject({
  type: described(v.pipe(v.string(), v.minLength(1)), 'Of a catalogue: 96-well'),
  kind: v.optional(v.picklist(['plate', 'tip_rack', 'trough', 'lid']), 'plate'),
  on: described(v.optional(Id), 'Of a lid: the plate that it closes, which begins with it on'),
  lid_height_mm: described(
    v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(100))),
    'Of a lid: how much higher the closed plate is than the open one',
    'mm',
  ),
  grip_offset_mm: described(
    v.optional(v.pipe(v.number(), v.minValue(-50), v.maxValue(100))),
    'Of a lid: how much higher the fingers close on it, while it is on its plate, than on the plate itself',
    'mm',
  ),
  pad_offset_mm: described(
    v.optional(v.pipe(v.number(), v.minValue(-50), v.maxValue(100))),
    'Of a lid: the same while it lies on a position; default: 0, the height at which a plate is gripped there',
    'mm',
  ),
  tips: described(v.optional(Count), 'How many a fresh rack holds'),
  grip: described(v.optional(Grip), 'How a transporter grips it, if that can set its fingers; default: the settings of the transporter'),
  group_sharing: v.optional(v.picklist(['PER_GROUP', 'SHARED_ACROSS_GROUPS']), 'PER_GROUP'),
  submission_batching: v.optional(v.picklist(['NOT_BATCHABLE', 'BATCHABLE']), 'NOT_BATCHABLE'),
})
