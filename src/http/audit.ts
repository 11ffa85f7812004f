// The route of the audit trail: who did what.

import * as v from 'valibot'
import { type Audit, auditFiles, auditOutcomes } from '../keys/audit.ts'
import { AuditEntry } from '../keys/audit_entry.ts'
import { csvHead, csvLine } from '../kit/csv.ts'
import { described } from '../kit/described.ts'
import { json, type Route, routesOf } from './contract.ts'
import { csvType, wantsCsv } from './headers.ts'
import { Limit } from './numeral.ts'
import { answerHeaders } from './open_stream.ts'
import { Before, isWithin, mustBeSpan, Next, pageOf, spanOf } from './time_span.ts'

type Rooms = { audit: Audit }
type Line = AuditEntry & { hash: string }

const route = routesOf<Rooms>('system')

const Hash = described(v.string(), 'SHA-256 of the hash before it and of the line')
const Head = v.strictObject({ seq: v.number(), hash: Hash })
const Part = (description: string) => v.optional(described(v.pipe(v.string(), v.maxLength(200)), description))

/** More than the two files keep in memory. */
const all = 10_000
const columns = [
  ...['at', 'utc', 'name', 'key_id', 'operator', 'scope', 'text', 'outcome', 'status', 'reason', 'device_id', 'execution_id'],
  ...['operation_id', 'operation', 'params', 'from', 'request_id', 'times', 'left_out', 'file', 'seq', 'hash', 'client', 'confirmation'],
]

export const auditRoutes: Route<Rooms>[] = [
  route('GET', '/api/system/audit', {
    operation_id: 'getAudit',
    summary: 'The audit trail: the newest requests that changed something, or were refused',
    description:
      'A thousand of each at most; in the data folder `audit.jsonl` has more of what was done, and `audit-refused.jsonl` of what was refused. ' +
      'An operation that has begun was done, however it ended, and so was what was answered with 500. `text` says what was done in words. ' +
      '`benchd audit verify` follows both chains of hashes. As JSON, or with `Accept: text/csv` as CSV, the newest first.',
    scope: 'admin',
    query: v.object({
      limit: Limit,
      outcome: v.optional(described(v.picklist(auditOutcomes), 'Only requests that were done, or only refused ones; both by default')),
      device_id: v.optional(described(v.string(), 'Only requests about this device, or about every device, such as a stop of all')),
      who: Part('Only requests whose key, by its name or id, or whose operator has this part in the name, in any case of letters'),
      text: Part('Only requests with this part in `text`, in any case of letters'),
      ...spanOf('Only requests'),
      before: Before,
    }),
    success: {
      description: 'The oldest of them first, and the heads of both chains',
      schema: v.strictObject({
        head: described(Head, 'Of `audit.jsonl`'),
        refused_head: described(Head, 'Of `audit-refused.jsonl`'),
        entries: v.array(v.strictObject({ file: v.picklist(Object.values(auditFiles)), ...Head.entries, ...AuditEntry.entries })),
        next: Next,
      }),
      also_media_type: 'text/csv',
    },
    errors: [400],
    async handle({ rooms, c, query }) {
      const { limit, outcome, device_id, who, text, since, until, before } = query()
      mustBeSpan({ since, until })
      const { head, refused_head, entries } = await rooms.audit.newest(all, outcome, device_id)
      const matches = ({ at, name, key_id, operator, text: its }: Line) =>
        isWithin(at, { since, until }) && has([name, key_id, operator], who) && has([its], text)
      const { items, next } = pageOf<(typeof entries)[number]>(entries.reverse(), { limit, before, idOf: ({ hash }) => hash, matches })
      if (!wantsCsv(c)) return json({ head, refused_head, entries: items.reverse(), next })
      const lines = items.map((line) => csvLine(columns, { ...line, utc: new Date(line.at * 1000).toISOString() }))
      return new Response([csvHead(columns), ...lines].join(''), { headers: answerHeaders(csvType) })
    },
  }),
]

/** Whether one of the texts has this part, in any case of letters. */
function has(texts: readonly (string | null | undefined)[], part: string | undefined): boolean {
  return part === undefined || texts.some((text) => text?.toLowerCase().includes(part.toLowerCase()))
}
