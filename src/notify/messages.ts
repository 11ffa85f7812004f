// The events that are reported to people who are not at the bench, and their sentences.

import type { NotifyKind } from '../config/notify.ts'
import type { Context, RuntimeEvent } from '../events/event.ts'

/** A message. `thing` is its subject: at most one message a minute is sent about a thing. */
export type Message = { kinds: NotifyKind[]; thing: string; text: string; execution_id: string | null }

/** `screen` is the part of the page's address at which a person answers; it holds no key, and opening it answers nothing. */
type Wording = Omit<Message, 'execution_id'> & { screen?: string }
type Teller = (event: RuntimeEvent) => Wording | undefined

/** Matches the route to answer a task in the sentence of its reminder. A phone has the page instead. */
const taskRoute = / \(POST \/api\/operator\/steps\/([^/\s]+)\/confirm\)/

/** Keyed by type and status of an event, or by the type alone. */
const tellers = new Map<string, Teller>(
  Object.entries<Teller>({
    INCIDENT: ({ entity_id, context }) => {
      const message = textOf(context, 'message')
      const step_id = taskRoute.exec(message)?.[1]
      return {
        kinds: context.category === 'STORAGE' ? ['incident', 'storage'] : ['incident'],
        thing: `incident ${context.category} ${context.thread_id ?? entity_id}`,
        text: message.replace(taskRoute, ' on the page of the bench: press “Done”, “Put elsewhere” or “Cannot”'),
        ...(step_id && { screen: `runs/${context.execution_id}/${step_id}` }),
      }
    },
    'THREAD PAUSED': ({ entity_id, context }) =>
      context.pause_reason === 'error'
        ? {
            kinds: ['needs_person'],
            thing: `thread ${entity_id}`,
            text: `${context.thread_name} of ${context.workflow_name} stands: ${asSentence(context.last_error)} Decide on the page of the bench, or at a shell: benchd runs why ${textOf(context, 'execution_id').slice(0, 8)}`,
          }
        : undefined,
    'THREAD AWAITING_MANUAL_PLACE': ({ entity_id, context }) => ({
      kinds: ['needs_person'],
      thing: `thread ${entity_id}`,
      text: `${context.thread_name} of ${context.workflow_name} waits: put the labware on the bench, then press “Placed” on the page of the bench`,
      screen: `runs/${context.execution_id}`,
    }),
    'THREAD AWAITING_MANUAL_REMOVE': ({ entity_id, context }) => ({
      kinds: ['needs_person'],
      thing: `thread ${entity_id}`,
      text: `${context.thread_name} of ${context.workflow_name} waits: take the labware off the bench, then press “Removed” on the page of the bench`,
      screen: `runs/${context.execution_id}`,
    }),
    'OPERATOR INSTRUCTION': ({ context }) => ({
      kinds: ['needs_person'],
      thing: `step ${context.step_id}`,
      text: `${context.workflow_name} waits for a person: ${asSentence(context.instruction)} Press “Done” on the page of the bench when that is done`,
      screen: `runs/${context.execution_id}/${context.step_id}`,
    }),
    'DEVICE FAULTED': ({ entity_id, context }) => ({
      kinds: [context.error_type === 'Stopped' ? 'stopped' : 'needs_person'],
      thing: `device ${entity_id}`,
      text: withRemedy(asSentence(context.error), `Look at it, then initialize ${entity_id}`),
    }),
    'EXECUTION COMPLETED': ended,
    'EXECUTION FAILED': ended,
    'EXECUTION ABORTED': ended,
  }),
)

/**
 * Returns the message about an event; undefined for an event that nobody needs to know elsewhere. Runs on the clock alone cause no
 * messages. `page` is the address of the page of the bench, if it is known: a message about a task ends with a link to it.
 */
export function messageOf(event: RuntimeEvent, page?: string): Message | undefined {
  const { entity_type, status, context } = event
  const worded = (tellers.get(`${entity_type} ${status}`) ?? tellers.get(entity_type))?.(event)
  if (!worded) return undefined
  const { screen, ...message } = worded
  const text = page && screen ? `${message.text}. ${page}#/${screen}` : message.text
  return { ...message, text, execution_id: typeof context.execution_id === 'string' ? context.execution_id : null }
}

function ended({ entity_id, status, context }: RuntimeEvent): Wording {
  const why = typeof context.reason === 'string' ? `: ${context.reason}` : ''
  return { kinds: ['run_ended'], thing: `run ${entity_id}`, text: `The run of ${context.workflow_name} ended: ${status}${why}` }
}

/** Adds what to do, unless the error of the instrument has said it. */
function withRemedy(error: string, remedy: string): string {
  return /\binitialize\b/.test(error) ? error : `${error} ${remedy}`
}

/** Ends the text with one full stop: some errors have one, and some have none. */
function asSentence(text: unknown): string {
  return `${text}`.replace(/\.?$/, '.')
}

function textOf(context: Context, member: string): string {
  return String(context[member] ?? '')
}

/** Returns the message that the service has started anew; `safe` says why in safe mode. */
export function messageOfStart(version: string, safe: string | undefined): Message {
  const has = `benchd ${version} has started`
  const text = safe === undefined ? has : `${has} in safe mode: ${safe}. Nothing moves before somebody has looked at the bench`
  return { kinds: safe === undefined ? ['restarted'] : ['restarted', 'safe_mode'], thing: 'start', text, execution_id: null }
}

/** Returns the message that a run which was open when the service ended waits for a person. */
export function messageOfPaused({ execution_id, workflow_name }: { execution_id: string; workflow_name: string }): Message {
  const id = execution_id.slice(0, 8)
  const text = `The run of ${workflow_name} is paused, because the service restarted. See on the page of the bench where its labware is, or at a shell: benchd runs why ${id}. Then resume or stop the run`
  return { kinds: ['needs_person'], thing: `run ${execution_id}`, text, execution_id }
}
