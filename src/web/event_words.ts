// A sentence for each event.

import type { RuntimeEvent } from '../clients/ts/benchd.ts'
import { onPage, sentence, stillHeating, threadWord } from './words.ts'

type Words = (context: Record<string, unknown>, event: RuntimeEvent) => string

const who = ({ thread_name }: Record<string, unknown>) => String(thread_name ?? 'A thread')
const step = ({ action_name, thread_name }: Record<string, unknown>) =>
  action_name ? `${action_name} of ${thread_name}` : `A move of ${thread_name}`
/** Returns `: the reason.`, or a full stop. */
const because = (reason: unknown) => (reason ? `: ${reason}` : '.')

const eventSentences: Record<string, Words> = {
  'DEVICE.FAULTED': ({ error }, { entity_id }) => (`${error}`.startsWith(entity_id) ? sentence(`${error}`) : `${entity_id}: ${error}`),
  'DEVICE.STOPPED': ({ by }, { entity_id }) => `${entity_id} was stopped${by ? ` by ${by}` : ''}.`,
  'DEVICE.FAULT_CLEARED': (_, { entity_id }) => `The fault of ${entity_id} was cleared.`,
  'DEVICE.ADDED': (_, { entity_id }) => `${entity_id} was added.`,
  'DEVICE.CHANGED': (_, { entity_id }) => `The settings of ${entity_id} were changed.`,
  'DEVICE.REMOVED': (_, { entity_id }) => `${entity_id} was removed.`,
  'THREAD.CREATED': (its) => `${who(its)} was created.`,
  'THREAD.COMPLETED': (its) => `${who(its)} has completed.`,
  'THREAD.STOPPING': (its) => `${who(its)} is being stopped.`,
  'THREAD.STOPPED': (its) => `${who(its)} was stopped.`,
  'THREAD.ABORTED': (its) => `${who(its)} was aborted${because(its['last_error'])}`,
  'THREAD.FAILED': (its) => `${who(its)} failed${because(its['last_error'])}`,
  'THREAD.PAUSED': (its) => `${who(its)} is held${because(its['last_error'])}`,
  'ACTION.CREATED': (its) => `${step(its)} is next.`,
  'ACTION.AWAITING_LOCATION_RESERVATION': (its) => `${step(its)} waits for a device.`,
  'ACTION.RESOLVED': (its) => `${step(its)} has its device.`,
  'ACTION.AWAITING_CO_THREADS': (its) => `${step(its)} waits until all its labware is there.`,
  'ACTION.EXECUTING_ACTION': (its) => `${step(its)} begins.`,
  'ACTION.AWAITING_MOVE_RESERVATION': (its) => `${step(its)} waits for its route.`,
  'ACTION.PREPARING_TO_MOVE': (its) => `${step(its)} is prepared.`,
  'ACTION.PICKING': (its) => `${who(its)} is picked up.`,
  'ACTION.PLACING': (its) => `${who(its)} is put down.`,
  'ACTION.COMPLETED': (its) => `${step(its)} is done.`,
  'ACTION.ERRORED': (its) => `${step(its)} failed${because(its['last_error'])}`,
  'ACTION.SKIPPED': (its) => `${step(its)} is skipped.`,
  'ACTION.ABORTED': (its) => `${step(its)} was aborted.`,
  'METHOD.CREATED': ({ method_name }) => `The method ${method_name} is next.`,
  'METHOD.IN_PROGRESS': ({ method_name }) => `The method ${method_name} begins.`,
  'METHOD.COMPLETED': ({ method_name }) => `The method ${method_name} is done.`,
  'METHOD.SKIPPED': ({ method_name }) => `The method ${method_name} is skipped.`,
  'METHOD.PARTIAL_COMPLETE': ({ method_name }) => `The method ${method_name} is done in part.`,
  'WORKFLOW.CREATED': ({ workflow_name }) => `A run of ${workflow_name} was created.`,
  'WORKFLOW.IN_PROGRESS': ({ workflow_name }) => `${workflow_name} runs.`,
  'WORKFLOW.COMPLETED': ({ workflow_name }) => `${workflow_name} has completed.`,
  'WORKFLOW.ERRORED': ({ workflow_name }) => `${workflow_name} ended with an error.`,
  'SUBMISSION.ACCEPTED': ({ workflow_name }) => `${workflow_name} was submitted.`,
  'SUBMISSION.COMPLETED': ({ workflow_name }) => `The submission of ${workflow_name} is done.`,
  'SUBMISSION.FAILED': ({ workflow_name, reason }) => `The submission of ${workflow_name} failed${because(reason)}`,
  'SUBMISSION.ABORTED': ({ workflow_name, reason }) => `The submission of ${workflow_name} was aborted${because(reason)}`,
  'GROUP.COMPLETED': ({ workflow_name }, { entity_id }) => `${entity_id} of ${workflow_name} is done.`,
  'EXECUTION.COMPLETED': (its) => `The run of ${its['workflow_name']} has completed.${stillHeating(its)}`,
  'EXECUTION.ABORTED': ({ workflow_name, reason }) => `The run of ${workflow_name} was aborted${because(reason)}`,
  'EXECUTION.FAILED': ({ workflow_name, reason }) => `The run of ${workflow_name} failed${because(reason)}`,
  'OPERATOR.INSTRUCTION': ({ instruction }) => `Somebody is asked: ${instruction}`,
  'CUSTOM.EMITTED': ({ value, message }, { entity_id }) => `The event ${entity_id} was emitted${because(value ?? message)}`,
  'TIP_RACK.LOW': ({ labware_name, tips_left }) => `${labware_name} has ${tips_left} tips left.`,
  'TIP_RACK.EMPTY': ({ labware_name }) => `${labware_name} has no tips left.`,
  'RECORD.REMOVED': () => 'A run was deleted with its events.',
}

/** Returns a sentence for an event; for an event without one, its subject and status. */
export function eventSentence(event: RuntimeEvent): string {
  const { entity_type, entity_id, status } = event
  const context = event.context as Record<string, unknown>
  const own = eventSentences[`${entity_type}.${status}`]
  if (own) return onPage(own(context, event))
  if (typeof context['message'] === 'string' && context['message']) return onPage(context['message'])
  const name = context['thread_name'] ?? context['workflow_name']
  const subject = typeof name === 'string' ? name : entity_id
  if (entity_type === 'THREAD') return `${subject} ${threadWord(status)}.`
  const what = `${entity_type} ${status}`.toLowerCase().replaceAll('_', ' ')
  return subject ? `${subject}: ${what}` : what
}
