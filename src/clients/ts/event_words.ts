// Words the events of runs for the person at the bench. States of the engine have no words.

import type { RuntimeEvent } from './api.ts'

type Members = Readonly<Record<string, unknown>>
/** Returns the sentence of an event; undefined for one that says nothing to a person. `who` names the labware of its thread. */
type Words = (its: Members, event: RuntimeEvent, who: string) => string | undefined

/** A template for each operation. A part in brackets is left out where its member is missing. */
const doing: Readonly<Record<string, string>> = {
  initialize: 'initializing {device}',
  shake: 'shaking on {device}[, {speed} rpm][, {duration} s]',
  centrifuge: 'spinning in {device}[, {g} ×g][, {duration} s]',
  seal: 'sealing on {device}[, {temperature} °C][, {duration} s]',
  peel: 'peeling on {device}[, parameter set {parameter_set}][, adhere {adhere}]',
  open: 'opening {device}',
  close: 'closing {device}',
  lock_plate: 'locking the plate in {device}',
  unlock_plate: 'unlocking the plate in {device}',
  set_temperature: 'setting {device}[ to {temperature} °C]',
}

const eventWords: Readonly<Record<string, Words>> = {
  'SUBMISSION.ACCEPTED': ({ workflow_name }) => `${workflow_name}: submitted`,
  'SUBMISSION.FAILED': ({ workflow_name, reason }) => `${workflow_name}: the submission failed${because(reason)}`,
  'SUBMISSION.ABORTED': ({ workflow_name, reason }) => `${workflow_name}: the submission was aborted${because(reason)}`,
  'GROUP.COMPLETED': (_, { entity_id }) => `${entity_id}: done`,
  'THREAD.AWAITING_MANUAL_PLACE': ({ target_location }, _, who) =>
    `${who}: waits for somebody to put it at ${target_location ?? 'its start'}`,
  'THREAD.AWAITING_MANUAL_REMOVE': ({ target_location }, _, who) =>
    `${who}: waits for somebody to take it away from ${target_location ?? 'its end'}`,
  'THREAD.PAUSED': ({ last_error, pause_reason }, _, who) =>
    `${who}: ${pause_reason === 'manual' ? 'paused' : pause_reason === 'system' ? 'paused by the service' : 'waits for a decision'}${because(last_error)}`,
  'THREAD.STOPPED': (_, __, who) => `${who}: stopped`,
  'THREAD.FAILED': ({ last_error }, _, who) => `${who}: failed${because(last_error)}`,
  'THREAD.ABORTED': ({ last_error }, _, who) => `${who}: aborted${because(last_error)}`,
  'THREAD.COMPLETED': (_, __, who) => `${who}: done`,
  'ACTION.EXECUTING_ACTION': (its, _, who) => (its['device_id'] ? `${who}: ${stepIn(its)}` : undefined),
  'ACTION.COMPLETED': (its, _, who) => (its['from'] ? `${who}: ${moveIn(its)}` : valuesIn(its, who)),
  'ACTION.SKIPPED': ({ action_name }, _, who) => `${who}: ${action_name ?? 'a move'} was left out`,
  'ACTION.ABORTED': ({ action_name }, _, who) => `${who}: ${action_name ?? 'a move'} was aborted`,
  'TIP_RACK.LOW': ({ labware_name, tips_left }) => `${labware_name}: ${tips_left} tips left`,
  'TIP_RACK.EMPTY': ({ labware_name }) => `${labware_name}: no tips left`,
  'CUSTOM.EMITTED': ({ event_name, value }, { entity_id }) => `event ${event_name ?? entity_id}${because(value)}`,
  'OPERATOR.INSTRUCTION': ({ instruction, step_id }) => `somebody is asked: ${instruction}; confirm with: benchd runs confirm ${step_id}`,
  'EXECUTION.COMPLETED': ({ workflow_name }) => `${workflow_name}: the run is COMPLETED`,
  'EXECUTION.ABORTED': ({ workflow_name, reason }) => `${workflow_name}: the run is ABORTED${because(reason)}`,
  'EXECUTION.FAILED': ({ workflow_name, reason }) => `${workflow_name}: the run is FAILED${because(reason)}`,
  // A failed operation of a run has an incident, which says more; a stop has none.
  'DEVICE.FAULTED': ({ error, error_type, execution_id }, { entity_id }) =>
    execution_id && error_type !== 'Stopped' ? undefined : about(entity_id, error),
  'DEVICE.STOPPED': ({ by }, { entity_id }) => `${entity_id}: stopped${by ? ` by ${by}` : ''}`,
  'DEVICE.FAULT_CLEARED': (_, { entity_id }) => `${entity_id}: the fault was cleared`,
  'DEVICE.ADDED': (_, { entity_id }) => `${entity_id}: added`,
  'DEVICE.CHANGED': (_, { entity_id }) => `${entity_id}: the settings were changed`,
  'DEVICE.REMOVED': (_, { entity_id }) => `${entity_id}: removed`,
  'RECORD.REMOVED': () => 'a run was deleted with its events',
}

/** Types of which no other event has words: states of the engine. */
const silent: ReadonlySet<string> = new Set([
  ...['EXECUTION', 'SUBMISSION', 'GROUP', 'WORKFLOW', 'THREAD', 'METHOD', 'ACTION', 'SLOT', 'DEVICE_OP', 'RECORD', 'SIM'],
])

/** The states in which a thread or an action waits. */
const waits: Readonly<Record<string, string>> = {
  'ACTION.AWAITING_LOCATION_RESERVATION': 'a device',
  'ACTION.AWAITING_MOVE_RESERVATION': 'a free way',
  'ACTION.AWAITING_CO_THREADS': 'other labware',
  'THREAD.AWAITING_MOVE_RESERVATION': 'a free place',
  'THREAD.AWAITING_MOVE_TARGET_AVAILABILITY': 'a free place',
  'THREAD.AWAITING_EVENT': 'an event',
}
/** The shortest wait that has words, s. */
const longWait_s = 5

/** Returns a function that words the end of a long wait, of which the event is the first after it. */
function waitWords(): (event: RuntimeEvent) => string | undefined {
  const began = new Map<string, { at: number; what: string }>()
  return ({ entity_type, entity_id, status, timestamp }) => {
    if (entity_type !== 'ACTION' && entity_type !== 'THREAD') return undefined
    const wait = began.get(entity_id)
    const what = waits[`${entity_type}.${status}`]
    if (what === undefined) began.delete(entity_id)
    else if (wait?.what !== what) began.set(entity_id, { at: timestamp, what })
    if (!wait || wait.what === what) return undefined
    const seconds = Math.round(timestamp - wait.at)
    return seconds < longWait_s ? undefined : `waited ${seconds} s for ${wait.what}`
  }
}

/**
 * Returns a function that words the events of one or more runs in their order: the end of a long wait, and what happens. An event that says nothing to a
 * person at the bench has no sentences. It remembers the barcodes of the threads, which not all events have.
 */
export function operatorWords(): (event: RuntimeEvent) => string[] {
  const barcodes = new Map<unknown, string>()
  const waitOf = waitWords()
  let incident = ''
  return (event) => {
    const its: Members = event.context
    const { thread_id, thread_name, barcode, last_error, message } = its
    if (typeof barcode === 'string') barcodes.set(thread_id, barcode)
    const who = [thread_name ?? 'a thread', barcodes.get(thread_id)].filter(Boolean).join(' ')
    if (event.entity_type === 'THREAD' && event.status === 'COMPLETED') barcodes.delete(thread_id)
    if (event.entity_type === 'INCIDENT') incident = String(message)
    // An incident has told this error already.
    const isKnown = typeof last_error === 'string' && last_error !== '' && incident.includes(last_error.replace(/\.$/, ''))
    const wait = waitOf(event)
    const words = sentenceOf(event, isKnown ? { ...its, last_error: null } : its, who)
    return [...(wait === undefined ? [] : [`${who}: ${wait}`]), ...(words === undefined ? [] : [words])]
  }
}

function sentenceOf(event: RuntimeEvent, its: Members, who: string): string | undefined {
  const { entity_type, entity_id, status } = event
  const { message } = its
  if (entity_type === 'INCIDENT') return `incident: ${message}`
  const own = eventWords[`${entity_type}.${status}`]
  if (own) return own(its, event, who)
  if (silent.has(entity_type)) return undefined
  if (typeof message === 'string' && message) return message
  const what = `${entity_type} ${status}`.toLowerCase().replaceAll('_', ' ')
  return entity_id ? about(entity_id, what) : what
}

function because(reason: unknown): string {
  return reason === undefined || reason === null || reason === '' ? '' : `: ${reason}`
}

function about(subject: string, words: unknown): string {
  return `${words}`.startsWith(subject) ? `${words}` : `${subject}: ${words}`
}

export function stepIn({ device_id, operation, action_name, params }: Members): string {
  const members: Members = { ...(params as Members | undefined), device: device_id }
  if (operation === 'set_temperature' && members['temperature'] === null) return `switching the heater of ${device_id} off`
  const template = typeof operation === 'string' && Object.hasOwn(doing, operation) ? doing[operation]! : undefined
  if (template !== undefined) return filledIn(template, members)
  const listed = Object.entries((params as Members | undefined) ?? {}).map(([name, value]) => `, ${name} ${shown(value)}`)
  return `${operation ?? action_name} on ${device_id}${listed.join('')}`
}

export function moveIn({ from, to, device_id }: Members): string {
  return `moved from ${from} to ${to}${device_id ? ` by ${device_id}` : ''}`
}

type Value = { name: string; unit: string | null; value?: unknown }

function valuesIn({ values, device_id }: Members, who: string): string | undefined {
  const found = (values as readonly Value[] | undefined) ?? []
  if (found.length === 0) return undefined
  const words = found.slice(0, 5).map(({ name, unit, value }) => `${name} ${shown(value)}${unit ? ` ${unit}` : ''}`)
  const more = found.length > words.length ? `, and ${found.length - words.length} more` : ''
  return `${who}: ${device_id} gave ${words.join(', ')}${more}`
}

function filledIn(template: string, members: Members): string {
  const isThere = (part: string) => [...part.matchAll(/\{(\w+)\}/g)].every(([, name]) => members[name!] !== undefined)
  return template
    .replace(/\[([^\]]*)\]/g, (_, part: string) => (isThere(part) ? part : ''))
    .replace(/\{(\w+)\}/g, (_, name: string) => shown(members[name]))
}

/** Words a value; … for one that is too long for a line. */
function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text === undefined || text.length > 60 ? '…' : text
}
