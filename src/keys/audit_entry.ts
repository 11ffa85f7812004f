// A line of the audit files.

import * as v from 'valibot'

const Word = v.nullable(v.string())

export const AuditEntry = v.strictObject({
  at: v.pipe(v.number(), v.description('Unix time'), v.metadata({ unit: 's' })),
  key_id: v.pipe(
    Word,
    v.description('`local` is somebody with a shell on this machine, `service` the service itself; null without a good key'),
  ),
  name: Word,
  scope: Word,
  from: v.pipe(Word, v.description('The address that the request came from; null where one line stands for requests from several')),
  what: v.pipe(v.string(), v.description('Method and path, or a command')),
  status: v.nullable(v.number()),
  reason: v.pipe(Word, v.description('Why it was refused, as X-Reason has it')),
  operation_id: Word,
  request_id: v.optional(
    v.pipe(Word, v.description('X-Request-Id of the request, which its answer had too; null for what was no request')),
  ),
  left_out: v.optional(
    v.pipe(
      v.number(),
      v.description(
        'The number of lines that were left out before this one: too many requests of one key were refused, or the disk refused the lines',
      ),
    ),
  ),
  times: v.optional(
    v.pipe(
      v.number(),
      v.description(
        'The number of requests of this key that were alike within ten seconds and are this one line; time and operation are those of the last',
      ),
    ),
  ),
})
export type AuditEntry = v.InferOutput<typeof AuditEntry>
