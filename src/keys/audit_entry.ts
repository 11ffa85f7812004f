// A line of the audit files.

import * as v from 'valibot'
import { described } from '../kit/described.ts'

const Word = v.nullable(v.string())

export const AuditEntry = v.strictObject({
  at: described(v.number(), 'Unix time', 's'),
  key_id: described(Word, '`local` is somebody with a shell on this machine, `service` the service itself; null without a good key'),
  name: Word,
  scope: Word,
  from: described(Word, 'The address that the request came from; null where one line stands for requests from several'),
  what: described(v.string(), 'Method and path, or a command'),
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
