// The context of an event, by the type of its entity. Closed records: a member that is not here is refused.

import * as v from 'valibot'

const MaybeText = v.nullable(v.string())

export const WorkflowExecutionContext = v.strictObject({ execution_id: v.string(), workflow_name: v.string() })
export type WorkflowExecutionContext = v.InferOutput<typeof WorkflowExecutionContext>

/** The members that say which sample the labware of a thread is. */
const Sample = {
  group_id: v.optional(v.pipe(MaybeText, v.description('The group of the labware; absent without one'))),
  barcode: v.optional(v.pipe(MaybeText, v.description('The barcode of the labware; absent without one'))),
}

export const ThreadExecutionContext = v.strictObject({
  ...WorkflowExecutionContext.entries,
  ...Sample,
  thread_id: v.string(),
  thread_name: v.string(),
  template_name: v.string(),
  pause_reason: MaybeText,
  last_error: v.pipe(MaybeText, v.description('Why it stands: on PAUSED, FAILED and ABORTED')),
})
export type ThreadExecutionContext = v.InferOutput<typeof ThreadExecutionContext>

/** The thread is the one that used the tips; the labware is the rack. */
export const TipRackContext = v.strictObject({
  ...ThreadExecutionContext.entries,
  labware_id: v.string(),
  labware_name: v.string(),
  labware_template_name: v.string(),
  position: v.pipe(MaybeText, v.description('Where the rack stands')),
  tips_left: v.number(),
})
export type TipRackContext = v.InferOutput<typeof TipRackContext>

export const MethodExecutionContext = v.strictObject({
  ...WorkflowExecutionContext.entries,
  method_id: MaybeText,
  method_name: MaybeText,
  thread_id: MaybeText,
  thread_name: MaybeText,
  participating_thread_ids: v.array(v.string()),
})
export type MethodExecutionContext = v.InferOutput<typeof MethodExecutionContext>

const Action = {
  action_id: v.string(),
  action_status: v.string(),
  action_name: v.pipe(MaybeText, v.description('The command; null for a move')),
}

const ValueInEvent = v.strictObject({
  name: v.string(),
  unit: MaybeText,
  value: v.optional(
    v.pipe(
      v.unknown(),
      v.description('Absent where the values of the event have more than 4 KiB together: it is in the record of the execution'),
    ),
  ),
})

/** The members of ACTION.EXECUTING_ACTION at a device alone. */
const Begun = {
  operation: v.optional(v.pipe(v.string(), v.description('On EXECUTING_ACTION: the operation that the action does; absent for code'))),
  params: v.optional(
    v.pipe(
      v.record(v.string(), v.unknown()),
      v.description(
        'On EXECUTING_ACTION: the parameters of the operation, with the values of variables; absent where they have more than 1 KiB',
      ),
    ),
  ),
}

/** The members of ACTION.COMPLETED and ACTION.ERRORED. ACTION.EXECUTING_ACTION at a device has `device_id` and those of the labware. */
const Ended = {
  operation_id: v.optional(
    v.pipe(MaybeText, v.description('On COMPLETED and ERRORED, as the members after it: the last operation at the device')),
  ),
  device_id: v.optional(v.pipe(MaybeText, v.description('The device; of a move the transporter. Also on EXECUTING_ACTION'))),
  from: v.optional(v.pipe(MaybeText, v.description('Where a move began; null for an action'))),
  to: v.optional(v.pipe(MaybeText, v.description('Where a move goes; null for an action'))),
  labware_id: v.optional(v.string()),
  labware: v.optional(v.pipe(v.string(), v.description('The name of the labware'))),
  ...Sample,
  part: v.optional(v.pipe(v.string(), v.description('`before` or `after`: an operation of the run itself, which has no labware'))),
  others: v.optional(
    v.pipe(
      v.array(v.strictObject({ labware_id: v.string(), labware: v.string(), barcode: MaybeText, group_id: MaybeText })),
      v.description('The other labware of an action that several share; absent without any'),
    ),
  ),
  values: v.optional(v.pipe(v.array(ValueInEvent), v.description('The values that the operations gave, at most 100'))),
}

export const LocationActionExecutionContext = v.strictObject({ ...MethodExecutionContext.entries, ...Action, ...Begun, ...Ended })
export type LocationActionExecutionContext = v.InferOutput<typeof LocationActionExecutionContext>

export const MoveActionExecutionContext = v.strictObject({ ...ThreadExecutionContext.entries, ...Action, ...Ended })
export type MoveActionExecutionContext = v.InferOutput<typeof MoveActionExecutionContext>

export const SubmissionExecutionContext = v.strictObject({
  ...WorkflowExecutionContext.entries,
  submission_id: v.string(),
  group_count: v.pipe(v.number(), v.integer(), v.minValue(0)),
  reason: MaybeText,
})
export type SubmissionExecutionContext = v.InferOutput<typeof SubmissionExecutionContext>

export const GroupLifecycleContext = v.strictObject({
  ...WorkflowExecutionContext.entries,
  submission_id: v.string(),
  group_id: v.string(),
  ended: v.pipe(v.record(v.string(), v.number()), v.description('How many threads of the group ended in each status')),
})
export type GroupLifecycleContext = v.InferOutput<typeof GroupLifecycleContext>

/** A device of the run that still heats; the target is in °C, null if unknown. */
export const StillHeating = v.strictObject({ device_id: v.string(), target: v.nullable(v.number()) })
export type StillHeating = v.InferOutput<typeof StillHeating>

const LeftHeating = v.pipe(
  v.array(StillHeating),
  v.description('The devices of the run that still heat at its end; absent where none does'),
)

/** An operation of the run itself that was not done. */
export const OperationNotDone = v.strictObject({
  part: v.picklist(['before', 'after']),
  operation: v.string(),
  on: v.pipe(v.string(), v.description('The device or the pool')),
  reason: v.string(),
})
export type OperationNotDone = v.InferOutput<typeof OperationNotDone>

const LeftOut = v.pipe(
  v.array(OperationNotDone),
  v.description('The operations of `before` and `after` that were not done, with the reasons; absent without any'),
)

export const ExecutionLifecycleContext = v.strictObject({
  ...WorkflowExecutionContext.entries,
  reason: MaybeText,
  still_heating: v.optional(LeftHeating),
  not_done: v.optional(LeftOut),
})
export type ExecutionLifecycleContext = v.InferOutput<typeof ExecutionLifecycleContext>

export const OperatorInstructionContext = v.strictObject({
  ...WorkflowExecutionContext.entries,
  thread_id: MaybeText,
  instruction: v.string(),
  step_id: v.string(),
})
export type OperatorInstructionContext = v.InferOutput<typeof OperatorInstructionContext>

export const ManualInterventionContext = v.strictObject({
  ...ThreadExecutionContext.entries,
  labware_id: MaybeText,
  labware_name: MaybeText,
  labware_template_name: MaybeText,
  target_location: MaybeText,
})
export type ManualInterventionContext = v.InferOutput<typeof ManualInterventionContext>

export const CustomEventContext = v.strictObject({
  ...WorkflowExecutionContext.entries,
  thread_id: v.pipe(
    MaybeText,
    v.description('The thread that owns the action or method that emits; null for an event that came over the API'),
  ),
  group_id: v.pipe(MaybeText, v.description('The group that it reaches; null for all groups')),
  event_name: v.pipe(v.string(), v.description('As it was emitted, dots kept')),
  value: MaybeText,
  data: v.record(v.string(), v.unknown()),
})
export type CustomEventContext = v.InferOutput<typeof CustomEventContext>

export const IncidentContext = v.strictObject({
  incident_id: v.string(),
  category: v.string(),
  severity: v.string(),
  message: v.string(),
  recovery_action: v.string(),
  execution_id: MaybeText,
  thread_id: MaybeText,
})
export type IncidentContext = v.InferOutput<typeof IncidentContext>

export const DeviceFaultContext = v.strictObject({
  device_name: v.string(),
  cleared: v.boolean(),
  command: MaybeText,
  outcome: v.nullable(v.picklist(['failed', 'unknown'])),
  error: MaybeText,
  error_type: MaybeText,
  may_still_be_moving: v.boolean(),
  message: MaybeText,
  execution_id: MaybeText,
})
export type DeviceFaultContext = v.InferOutput<typeof DeviceFaultContext>

export const DeviceReloadContext = v.strictObject({
  device_name: v.string(),
  /** The settings that differ, by their place in the device's configuration. */
  changed: v.array(v.string()),
})
export type DeviceReloadContext = v.InferOutput<typeof DeviceReloadContext>

/** Reports that the events of an execution up to a sequence number were removed from the log, so that copies can be removed too. */
export const RecordRemovalContext = v.strictObject({ execution_id: v.string(), through: v.number() })
export type RecordRemovalContext = v.InferOutput<typeof RecordRemovalContext>
