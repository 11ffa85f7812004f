// Says in the audit trail what a request did: in a sentence, and in members.

import { operationWords } from '../devices/operation_words.ts'
import type { AuditDetails, AuditOutcome } from '../keys/audit_entry.ts'
import { withoutSecrets } from '../keys/secret.ts'
import { type Sentence, sentence } from '../kit/sentence.ts'
import { auditWords } from './audit_words.ts'
import type { AuditedRequest, Exchange } from './contract.ts'

/** The limits of `params`: members, and characters of JSON of one and of all. */
const most = { members: 20, ofOne: 200, together: 600 }
/** A body of more bytes than this is not parsed for the audit trail alone. */
const mostParsed = 16_384
const secret = /secret|password|passwd|token|api_?key|authorization/i
const isOfDevice = /^\/api\/devices\/:device_id\/(\w+)$/

type Answered = { status: number; reason: string | null; operation_id: string | null; location: string | null }

/** Returns what the request came to. Never throws. */
export function detailsOf(c: Exchange, answered: Answered): AuditDetails {
  const asked = c.get('audited')
  const failure = c.get('has_failed') ?? wrongAfter(answered)
  const outcome = outcomeOf(answered, failure !== undefined)
  const how = typeof failure === 'string' ? failure : 'failed'
  if (!asked)
    return { text: told({ past: `Asked for ${pathOf(c)}`, infinitive: `ask for ${pathOf(c)}` }, outcome, { ...answered, how }), outcome }
  const { route, parameters, query = {}, subject = {} } = asked
  const body = { ...query, ...membersOf(asked) }
  const execution_id = subject.execution_id ?? /^\/api\/executions\/([^/]+)$/.exec(answered.location ?? '')?.[1]
  const short_id = execution_id?.slice(0, 8)
  const known: Record<string, unknown> = {
    ...subject,
    ...body,
    ...parameters,
    place: body.position ?? subject.place,
    short_id,
  }
  const operation = deviceOperationOf(route, body)
  const params = operation !== undefined && operation === body.operation ? body.params : body
  const device_id = textIn(known.device_id) ?? (route.operation_id === 'stopAll' ? '*' : undefined)
  return {
    text: told(operation ? operationWords(device_id ?? '…', operation, objectOf(params)) : wordsOf(route, known), outcome, {
      ...answered,
      how,
    }),
    operation: operation ?? route.operation_id,
    params: bounded(params),
    decision: textIn(body.decision ?? body.answer),
    place: textIn(known.place),
    device_id,
    execution_id: execution_id ?? undefined,
    outcome,
  }
}

/** Returns the operation of a device, for a route that performs one. */
function deviceOperationOf({ operation_id, path }: AuditedRequest['route'], { operation }: Record<string, unknown>): string | undefined {
  const name = auditWords[operation_id] === undefined ? isOfDevice.exec(path)?.[1] : undefined
  return name === 'perform' ? (textIn(operation) ?? name) : name
}

/** Words a route; one without words says its summary. */
function wordsOf({ operation_id, summary }: AuditedRequest['route'], members: Readonly<Record<string, unknown>>): Sentence {
  const words = auditWords[operation_id]
  if (words === undefined) return { past: summary, infinitive: summary.charAt(0).toLowerCase() + summary.slice(1) }
  if (typeof words === 'string') return sentence(words, members)
  const value = String(members[words.by])
  return sentence((Object.hasOwn(words.words, value) && words.words[value]) || words.words.else!, members)
}

function outcomeOf({ status, operation_id }: Answered, hasFailed: boolean): AuditOutcome {
  if (hasFailed || status === 500 || (status >= 400 && operation_id !== null)) return 'failed'
  if (status >= 400) return 'refused'
  return status === 202 ? 'accepted' : 'done'
}

/** Returns how a request failed that may have had its effect: the disk refused what was to be kept of it. */
function wrongAfter({ status, reason }: Answered): string | undefined {
  return status === 503 && reason === 'storage' ? 'was not kept on the disk, and may have happened' : undefined
}

function told({ past, infinitive }: Sentence, outcome: AuditOutcome, { reason, operation_id, how }: Answered & { how: string }): string {
  if (outcome === 'refused') return `Wanted to ${infinitive}, which was refused${reason ? `: ${reason}` : ''}`
  if (outcome === 'failed') return `Tried to ${infinitive}, which ${how}${reason ? `: ${reason}` : ''}`
  return outcome === 'accepted' && operation_id !== null ? `Began to ${infinitive}` : past
}

/** Returns the members of the body, checked or as they came. */
function membersOf({ body, bytes }: AuditedRequest): Record<string, unknown> {
  if (body !== undefined || !bytes || bytes.length === 0 || bytes.length > mostParsed) return objectOf(body)
  try {
    return objectOf(JSON.parse(Buffer.from(bytes).toString()))
  } catch {
    return {}
  }
}

/** Returns the members in so far as they are short, without secrets; undefined without any. */
export function bounded(value: unknown): Record<string, unknown> | undefined {
  const kept: Record<string, unknown> = {}
  let room = most.together
  for (const [name, member] of Object.entries(objectOf(value)).slice(0, most.members)) {
    const json = JSON.stringify(secret.test(name) || isLarge(member) ? '…' : member, withoutSecret)
    if (json === undefined) continue
    const text = json.length <= most.ofOne ? json : JSON.stringify(typeof member === 'string' ? `${json.slice(1, 60)}…` : '…')
    room -= text.length + name.length
    if (room < 0) break
    kept[name] = JSON.parse(text)
  }
  return Object.keys(kept).length > 0 ? kept : undefined
}

/** Whether a member has too many parts to be shown. Stops counting there. */
function isLarge(member: unknown): boolean {
  let left = most.ofOne
  const count = (value: unknown): void => {
    if (left < 0 || typeof value !== 'object' || value === null) return
    for (const part of Object.values(value)) {
      if (--left < 0) return
      count(part)
    }
  }
  count(member)
  return left < 0
}

function withoutSecret(name: string, value: unknown): unknown {
  if (secret.test(name)) return '…'
  return typeof value === 'string' ? withoutSecrets(value) : value
}

function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
}

function textIn(value: unknown): string | undefined {
  return typeof value === 'string' ? value.slice(0, 128) : undefined
}

function pathOf({ req }: Exchange): string {
  return `${req.method} ${req.path}`.slice(0, 80)
}
