// The records that have names of their own in the OpenAPI document.

import * as v from 'valibot'
import { Backup } from '../care/backups.ts'
import { questions } from '../devices/reading_table.ts'
import {
  Capabilities,
  DeviceInfo,
  DeviceSummary,
  Fault,
  Identity,
  Initialized,
  LeaseWish,
  Lock,
  OperationRecord,
  OperationResult,
  Reading,
  StopAllResult,
} from '../devices/records.ts'
import * as contexts from '../events/contexts.ts'
import { RuntimeEvent } from '../events/event.ts'
import { CreatedKey, KeyRequest, PublicKey } from '../keys/keys.ts'
import { PairingAnswer, PairingRequest, PairingWish } from '../keys/pairing.ts'
import { described } from '../kit/described.ts'
import { anyOf } from '../kit/json_schema.ts'
import { Access, AddressedTeachpoint, Teachpoint } from '../teachpoints/teachpoint.ts'
import { JsonAction } from '../workflow/plans/action_schema.ts'
import { Condition } from '../workflow/plans/conditions.ts'
import { JsonMethod, JsonStep, JsonWorkflow } from '../workflow/plans/documents.ts'
import { GroupOutcome, SubmissionRecord } from '../workflow/records/records.ts'
import {
  ExecutionSnapshot,
  ExecutionSummary,
  ShownBacklog,
  ShownLabware,
  ShownMove,
  ShownThread,
  ShownTimelineRow,
  ShownTopology,
} from '../workflow/snapshot.ts'
import { Group, SubmissionBody } from '../workflow/state/submission_request.ts'
import { ShownIncident } from './incidents.ts'
import { SampleMistake } from './samples.ts'

/** The body of every error. */
const ErrorBody = v.strictObject({
  detail: described(v.string(), 'A sentence: what happened, to which device or value, and what to do about it'),
  mistakes: described(v.optional(v.array(SampleMistake)), 'Of a sheet of samples, each mistake; `detail` tells of the first ones'),
})

export const named = {
  Error: ErrorBody,
  DeviceSummary,
  DeviceInfo,
  Fault,
  Identity,
  Initialized,
  Temperature: questions.get_temperature.answer,
  Reading,
  Capabilities,
  OperationResult,
  OperationRecord,
  StopAllResult,
  Teachpoint,
  CartesianTeachpoint: Teachpoint.options[0],
  JointTeachpoint: Teachpoint.options[1],
  TeachpointUpdate: AddressedTeachpoint,
  CartesianTeachpointUpdate: AddressedTeachpoint.options[0],
  JointTeachpointUpdate: AddressedTeachpoint.options[1],
  Access,
  KeyRequest,
  PublicKey,
  CreatedKey,
  PairingWish,
  PairingAnswer,
  PairingRequest,
  Backup,
  LeaseWish,
  Lock,
  SubmissionRequest: SubmissionBody,
  Group,
  SubmissionRecord,
  GroupOutcome,
  ExecutionSummary,
  Execution: ExecutionSnapshot,
  Thread: ShownThread,
  Slot: ShownBacklog,
  Move: ShownMove,
  TimelineRow: ShownTimelineRow,
  Labware: ShownLabware,
  Topology: ShownTopology,
  WorkflowDocument: JsonWorkflow,
  WorkflowStep: anyOf(JsonStep),
  WorkflowCondition: anyOf(Condition),
  WorkflowAction: anyOf(JsonAction),
  WorkflowMethod: anyOf(JsonMethod),
  Incident: ShownIncident,
  RuntimeEvent,
  ...contexts,
}
