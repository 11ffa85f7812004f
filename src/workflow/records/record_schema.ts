// The rows of the record of a run, as readers get them.

import * as v from 'valibot'
import { described } from '../../kit/described.ts'
import { readingReasons } from '../threads/used_devices.ts'

const MaybeText = v.nullable(v.string())
const At = described(v.number(), 'Unix time', 's')

export const rowKinds = [
  'submission',
  'incident',
  'action',
  'move',
  'value',
  'values_left_out',
  'rows_left_out',
  'device',
  'teachpoint',
  'readings',
  'decision',
  'window_missed',
  'condition',
  'wait',
  'plan',
  'forecast',
  'note',
  'file',
  'not_done',
  'ended',
  'gap',
] as const

/** A row, whose members depend on its kind. */
export const RecordRow = v.pipe(
  v.record(v.string(), v.unknown()),
  v.description(
    '`kind` says what it is about. `submission`: who (`by`) submitted what, when, in which time zone and with which version, with `project`, `tags` and `notes`, ' +
      'the workflow and the topology as they were, and the variables with their defaults; `queue`, if the queue began it: its entry, when that was added, and who started it by hand. ' +
      '`incident`: an incident of the run. `action`: an attempt at an action, with its device, operations, labware, times and outcome. `move`: an attempt at a hop, with ' +
      '`from`, `to`, `transporter` and its operations. `value`: a value that an operation gave. `values_left_out`: from here on, values are not kept, since the run has too many. ' +
      '`rows_left_out`: from here on, rows of the kind `of` are not kept: with `why` = `size`, since the record is too long; with `disk`, until the disk takes rows again. ' +
      '`device`: a device when the run first used it, or when its identity changed, with the units of its readings. `teachpoint`: a teachpoint at its first use, or when it ' +
      'had changed. `readings`: the readings of a device in use. ' +
      '`decision`: what a person decided, in words (`text`) and as a verb with its `params`, and who (`by`), with `device_id` for what somebody did with a device by hand. ' +
      '`window_missed`: labware whose next action began too late, or never. `condition`: the way that a thread took at an `if`, a `branch` or a round of a `repeat` (`of`), in words (`text`), with the `values` and the `side`. ' +
      '`wait`: a `delay` or an `until_temperature` (`of`), with its `began`, `ended` and `outcome` (reached, timeout, skipped, failed, ended). ' +
      '`plan`: a plan that the bench follows from then on, with the `reason` for which it was made (came: labware came; off_time: labware was early or late; held: labware was held or went on; ' +
      'deadlock: labware waited for each other; priority: a run got another priority), its `makespan_s` and the bound on it, `bound_s`, both from then on, and the `states` that the search looked at. `forecast`: when the run was expected to end (`eta`, Unix time; null with a `reason`), with `left_s` and `progress`, at its start and after each change of more than a twentieth; the first has the `basis`. `note`: a text that somebody added. `file`: a file that a person, a program or a device attached. ' +
      '`not_done`: an operation of `before` or `after` (`part`) that was not done, with the `reason`. `ended`: the end of the run, with its threads by status. ' +
      'Rows about the operations of the run itself have `part` in place of the labware. ' +
      'A row with `by` has `operator` too where the request named a person: nobody has checked that name. ' +
      '`gap`: rows before this one are missing, since a power cut took them or an older version kept none.',
  ),
)

/** A row of the kind `file`. */
export const RecordedFile = v.object({
  kind: v.literal('file'),
  at: At,
  by: described(MaybeText, 'The name of the key of whoever attached it; null for a device'),
  operator: v.optional(described(v.string(), 'The name that the person gave as X-Operator; absent without one. Nobody has checked it')),
  name: v.string(),
  media_type: v.string(),
  bytes: v.number(),
  sha256: v.string(),
  from: described(v.picklist(['operation', 'person']), '`operation`: a device gave it with the result of an operation'),
  note: MaybeText,
  device_id: v.optional(v.string()),
  operation: v.optional(v.string()),
  operation_id: v.optional(MaybeText),
  action_id: v.optional(v.string()),
  action_name: v.optional(v.string()),
  thread_id: v.optional(v.string()),
  labware_id: v.optional(v.string()),
  labware: v.optional(v.string()),
  barcode: v.optional(MaybeText),
  group_id: v.optional(MaybeText),
})

export const RecordedReading = v.strictObject({
  kind: v.literal('readings'),
  at: At,
  device_id: v.string(),
  values: described(v.record(v.string(), v.number()), 'By name; the units are in the row `device` of the record'),
  targets: v.optional(described(v.record(v.string(), v.number()), 'The set points of values that have one; absent without any')),
  why: described(
    v.picklist(readingReasons),
    '`interval`: each 10 s while the run uses the device. `start`, `end`: at the beginning or the end of the action, usually within 2 s',
  ),
  action_id: v.optional(v.string()),
})

export const RecordedValue = v.strictObject({
  kind: v.literal('value'),
  at: At,
  name: v.string(),
  value: v.optional(described(v.unknown(), 'Absent for a value of more than 4 KiB')),
  unit: MaybeText,
  shape: described(
    v.nullable(v.array(v.number())),
    'The lengths of nested arrays, of the outermost first; null for a value that is no array',
  ),
  labware: v.string(),
  barcode: MaybeText,
  group_id: MaybeText,
  thread_name: v.string(),
  method_name: MaybeText,
  action_name: v.string(),
  operation: v.string(),
  device_id: MaybeText,
  labware_id: v.string(),
  thread_id: v.string(),
  submission_id: v.string(),
  action_id: v.string(),
  operation_id: MaybeText,
  sha256: v.optional(described(v.string(), 'The hash of the JSON of a value of more than 4 KiB')),
  part: v.optional(described(v.string(), '`before` or `after`: of an operation of the run itself, whose labware is empty')),
  bytes: v.optional(v.number()),
})
