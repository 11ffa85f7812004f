// An event: a closed record that nothing can change any more.

import * as v from 'valibot'
import { LabError } from '../errors.ts'

export const RuntimeEvent = v.pipe(
  v.strictObject({
    event_name: v.pipe(v.string(), v.description('THREAD.<id>.MOVING, OPERATOR.INSTRUCTION')),
    execution_id: v.pipe(v.string(), v.description('The system id when it belongs to no execution')),
    timestamp: v.pipe(v.number(), v.description('Unix time; rises with every event'), v.metadata({ unit: 's' })),
    entity_type: v.string(),
    entity_id: v.pipe(v.string(), v.description('Empty for a name of two parts')),
    status: v.string(),
    context: v.pipe(v.record(v.string(), v.unknown()), v.description('The members of this type of event')),
  }),
  v.readonly(),
)
export type RuntimeEvent = v.InferOutput<typeof RuntimeEvent>

export type Context = Readonly<Record<string, unknown>>

/** The parts of the name of an event, as `parseEventName` takes them out of it. */
export type NameParts = Pick<RuntimeEvent, 'entity_type' | 'entity_id' | 'status'>

/** Three parts are type, id and status; two are type and status; anything else is a type. */
export function parseEventName(event_name: string): NameParts {
  const first = event_name.indexOf('.')
  const second = event_name.indexOf('.', first + 1)
  if (first === -1 || (second !== -1 && event_name.includes('.', second + 1))) return { entity_type: event_name, entity_id: '', status: '' }
  return {
    entity_type: event_name.slice(0, first),
    entity_id: second === -1 ? '' : event_name.slice(first + 1, second),
    status: event_name.slice((second === -1 ? first : second) + 1),
  }
}

/**
 * Makes an event, and deep-freezes the context. Throws `invalid` for a context that JSON cannot
 * hold: a number that is not finite, a BigInt, a function, an instance of a class, a cycle. A caller that composed the name passes
 * its parts, because parsing the name takes a quarter of the time of firing an event.
 */
export function runtimeEvent(
  event_name: string,
  execution_id: string,
  timestamp: number,
  context: Context,
  { entity_type, entity_id, status }: NameParts = parseEventName(event_name),
): RuntimeEvent {
  freeze(context, event_name, 1)
  return Object.freeze({ event_name, execution_id, timestamp, entity_type, entity_id, status, context: context as Record<string, unknown> })
}

/** Freezes a member of a context in advance. Throws as `runtimeEvent` does. */
export function freezeMember(value: unknown, event_name: string): void {
  freeze(value, event_name, 2)
}

/** Name of an event that a client of the simulation may make: two or three parts, none of them empty. */
export const eventNameRule = v.pipe(
  v.string(),
  v.maxLength(256),
  v.regex(/^[^.\p{Cc}]+(\.[^.\p{Cc}]+){1,2}$/u, 'a name has two or three parts with dots between them, none of them empty'),
  v.check((name) => !name.startsWith('OPERATOR.CONFIRM.'), 'OPERATOR.CONFIRM.* is a wait inside the runtime, not an event'),
)

const ends = new Set(['COMPLETED', 'FAILED', 'ABORTED'])
/** Keyed by type of event: whether the event has to be synced before it is shown. */
const syncedFirst = new Map<string, (event: RuntimeEvent) => boolean>([
  ['INCIDENT', () => true],
  ['DEVICE', ({ status }) => status === 'FAULTED' || status === 'FAULT_CLEARED'],
  ['OPERATOR', ({ event_name }) => event_name === 'OPERATOR.INSTRUCTION'],
  ['EXECUTION', ({ status }) => ends.has(status)],
  ['SUBMISSION', ({ status }) => ends.has(status)],
])

/** Whether an event must be synced to the disk before it is shown. */
export function isSyncedFirst(event: RuntimeEvent): boolean {
  return syncedFirst.get(event.entity_type)?.(event) ?? false
}

const deepest = 32

function freeze(value: unknown, event_name: string, depth: number): void {
  if (typeof value !== 'object' || value === null) {
    checkPlain(value, event_name)
    return
  }
  if (depth > deepest) throw unfit(event_name, `is nested deeper than ${deepest}`)
  if (Array.isArray(value)) {
    for (const item of value) freeze(item, event_name, depth + 1)
  } else {
    const prototype = Object.getPrototypeOf(value)
    if (prototype !== Object.prototype && prototype !== null) throw unfit(event_name, `holds a ${value.constructor?.name}`)
    for (const key in value) {
      const member = (value as Context)[key]
      // Nearly all members are strings, and the check is cheaper than a call.
      if (typeof member !== 'string') freeze(member, event_name, depth + 1)
    }
  }
  Object.freeze(value)
}

function checkPlain(value: unknown, event_name: string): void {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null || value === undefined) return
  if (typeof value === 'number' && Number.isFinite(value)) return
  throw unfit(event_name, `holds ${typeof value === 'number' ? value : `a ${typeof value}`}`)
}

function unfit(event_name: string, what: string): LabError {
  return new LabError('invalid', `the context of ${event_name} ${what}; give it values that JSON can hold`)
}
