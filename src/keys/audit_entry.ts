// A line of the audit files.

import * as v from 'valibot'
import { described } from '../kit/described.ts'

const Word = v.nullable(v.string())

export const auditResults = ['done', 'accepted', 'refused', 'failed'] as const
export type AuditOutcome = (typeof auditResults)[number]

/** The request in words and in members. Each member is absent where it does not apply, and in lines of earlier versions. */
const Details = {
  text: described(v.string(), 'The request and its effect, in a sentence. A line of an earlier version has `what` instead'),
  operation: v.optional(
    described(
      v.string(),
      'The operation of the device, such as `shake`; for other requests the `operationId` of the route, such as `recoverThread`',
    ),
  ),
  params: v.optional(
    described(
      v.record(v.string(), v.unknown()),
      'The parameters, without secrets; long ones are shortened, and members beyond 600 characters are left out',
    ),
  ),
  decision: v.optional(described(v.string(), 'The decision about an error, or the answer to a manual step')),
  place: v.optional(described(v.string(), 'The position of the labware')),
  device_id: v.optional(described(v.string(), 'The device; `*` for every device')),
  execution_id: v.optional(described(v.string(), 'The execution that the request is about, or that it began')),
  outcome: v.optional(
    described(
      v.picklist(auditResults),
      '`accepted`: it goes on after the answer. The outcome of an operation is at `GET /api/operations/{operation_id}`, that of a run at `GET /api/executions/{execution_id}`',
    ),
  ),
}
const DetailsOfDeed = v.strictObject(Details)
/** `undefined` stands for an absent member. */
export type AuditDetails = {
  [Name in keyof v.InferOutput<typeof DetailsOfDeed>]: v.InferOutput<typeof DetailsOfDeed>[Name] | undefined
} & { text: string }

export const AuditEntry = v.strictObject({
  at: described(v.number(), 'Unix time', 's'),
  key_id: described(Word, '`local` is somebody with a shell on this machine, `service` the service itself; null without a good key'),
  name: Word,
  operator: v.optional(
    described(v.string(), 'The name that the person gave as X-Operator; absent without one. Nobody has checked it, and it decides nothing'),
  ),
  client: v.optional(
    described(
      v.string(),
      'The program, as it called itself in X-Client; absent without one. Nobody has checked it, and it decides nothing',
    ),
  ),
  confirmation: v.optional(
    described(
      v.string(),
      'How a person confirmed the request, as the program said in X-Confirmation: `form` or `code`, with the id of the confirmation',
    ),
  ),
  scope: Word,
  from: described(Word, 'The address that the request came from; null where one line stands for requests from several'),
  what: described(v.string(), 'Method and path, or a command'),
  ...Details,
  status: v.nullable(v.number()),
  reason: described(Word, 'Why it was refused, as X-Reason has it'),
  operation_id: Word,
  request_id: v.optional(described(Word, 'X-Request-Id of the request, which its answer had too; null for what was no request')),
  left_out: v.optional(
    described(
      v.number(),
      'The number of lines that were left out before this one: too many requests of one key were refused, or the disk refused the lines',
    ),
  ),
  times: v.optional(
    described(
      v.number(),
      'The number of requests of this key that were alike within ten seconds and are this one line; time and operation are those of the last',
    ),
  ),
})
export type AuditEntry = v.InferOutput<typeof AuditEntry>
