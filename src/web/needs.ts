// Finds everything that waits for a person, worst first, with the possible decisions and their consequences.

import { type DeviceInfo, type Incident, ifState, type ListBlockersResponse, type State, type Thread } from '../clients/ts/benchd.ts'
import { confirmations } from './confirmation_needs.ts'
import { titled } from './forms.ts'
import { aboutLateCall, isLateCall } from './late_calls.ts'
import { type Decision, type Need, possibleFirst } from './need.ts'
import { correcting, wordsOfScan } from './scan_words.ts'
import { steps } from './tasks.ts'
import { authorText, decisionLabels, sentence } from './words.ts'

type Blocker = ListBlockersResponse['blockers'][number]

const latched = new Set(['faulted', 'stopped'])

const decisionWords: Record<Thread['decisions'][number], { consequence: string; danger?: boolean }> = {
  RETRY: { consequence: 'The action is done again from its beginning.' },
  RETRY_OP: { consequence: 'Only the operation that failed is done again.' },
  CONTINUE: { consequence: 'The action counts as done: you did it, or it is not needed.' },
  ABORT_ACTION: { consequence: 'The action is left out; the thread goes on.', danger: true },
  ABORT_METHOD: { consequence: 'The rest of the method is left out; the thread goes on.', danger: true },
  ABORT_THREAD: { consequence: 'The thread ends; its labware stays where it is.', danger: true },
}

export function needsOf(state: State): Need[] {
  const ofThreads = threads(state)
  // People who carry labware stand at the bench with gloves on, so tasks come first.
  const tasks = [...steps(state), ...ofThreads.filter(({ task }) => task)]
  return [
    ...tasks.sort((a, b) => (a.since ?? 0) - (b.since ?? 0)),
    ...confirmations(state),
    ...safeMode(state),
    ...devices(state),
    ...ofThreads.filter(({ task }) => !task),
    ...runs(state),
    ...incidents(state),
    ...keyRequests(state),
  ]
}

function isSafeMode({ detail }: Incident): boolean {
  return detail['safe_mode'] === true
}

function safeMode({ incident }: State): Need[] {
  return Object.values(incident)
    .filter(isSafeMode)
    .map((one) => ({ ...incidentNeed(one), title: 'Safe mode', decisions: [acknowledge(one, 'Devices may be moved again.')] }))
}

/**
 * Returns the instrument that holds a thread: the one that its error begins with while that has a fault or is stopped, such as an arm, else the one that the
 * thread is at. Undefined for a run on simulators, whose devices the page does not know.
 */
function instrumentOf({ device: at, last_error, execution_id }: Thread, { device, run }: State): DeviceInfo | undefined {
  if ((run[execution_id]?.run_mode ?? 'LIVE') !== 'LIVE') return undefined
  const failed = device[/^[\w-]*/.exec(last_error ?? '')![0]]
  return failed && latched.has(failed.state) ? failed : at ? device[at] : undefined
}

function devices(state: State): Need[] {
  const { device, thread } = state
  const held = Object.values(thread).filter(({ decisions }) => decisions.length > 0)
  const holding = new Set(held.map((one) => instrumentOf(one, state)?.device_id))
  return Object.values(device).flatMap((one): Need[] => {
    const { device_id, state, fault } = one
    if (state === 'faulted' && fault && !holding.has(device_id)) {
      return [
        {
          id: `device ${device_id}`,
          title: `Fault on ${device_id}`,
          text: `${faultText(fault)} Look at it first.`,
          since: fault.since,
          severe: true,
          href: screenOf(device_id),
          decisions: remediesAt(one),
        },
      ]
    }
    if (state !== 'disconnected') return []
    const text = 'The device does not answer. Check its cable and its power; it reconnects by itself.'
    return [
      { id: `device ${device_id}`, title: `${device_id} is disconnected`, text, severe: true, href: screenOf(device_id), decisions: [] },
    ]
  })
}

/** Returns the address of the screen of a device. */
export function screenOf(device_id: string): string {
  return `#/devices/${encodeURIComponent(device_id)}`
}

/** Whether nothing may be moved before a person has acknowledged the incident of safe mode. */
export function isSafe({ incident }: State): boolean {
  return Object.values(incident).some(isSafeMode)
}

/**
 * Lists the devices to initialize together. Not those with a fault, which a person looks at first, not reserved ones, and none in safe mode, in which an
 * initialization is refused.
 */
export function uninitialized(state: State): DeviceInfo[] {
  return isSafe(state) ? [] : Object.values(state.device).filter((one) => needsInitializing(one) && !isLeased(one))
}

function isLeased({ lock }: DeviceInfo): boolean {
  return typeof lock?.expires_at === 'number'
}

export function needsInitializing({ state }: DeviceInfo): boolean {
  return state === 'not_initialized' || state === 'stopped'
}

function faultText({ error, may_still_be_moving }: NonNullable<DeviceInfo['fault']>): string {
  return `${error}.${may_still_be_moving ? ' It may still be moving.' : ''}`.replace(/\.\./g, '.')
}

/** Returns the first step that makes the blocking device usable. None for a simulator: its instrument of the same name must not move. */
export function initializing({ kind, device_id }: Pick<Blocker, 'kind' | 'device_id'>, device: State['device']): Decision[] {
  return kind === 'device_fault' ? remediesAt(device[device_id ?? '']).slice(0, 1) : []
}

/** Lists the steps that make a stopped or faulted device usable. An instrument that still reports its error keeps it until it is initialized. */
function remediesAt(device: DeviceInfo | undefined): Decision[] {
  if (!device || !latched.has(device.state)) return []
  const { device_id, state } = device
  const asked = { path: { device_id }, body: {}, headers: ifState(device) }
  const isFault = state === 'faulted'
  const initialize: Decision = {
    label: `Initialize ${device_id}`,
    consequence: isFault
      ? 'The device may move. The fault is cleared when it succeeds.'
      : 'The device may move. The run can go on afterwards.',
    request: { operation: 'initializeDevice', asked },
  }
  const clear: Decision = {
    label: 'Clear fault',
    consequence: 'Nothing moves. The fault comes back while the instrument still reports it.',
    request: { operation: 'clearDeviceFault', asked },
  }
  return isFault ? [initialize, clear] : [initialize]
}

function threads(state: State): Need[] {
  const { thread, run, step } = state
  // The answer to a task says where the labware of its thread is.
  const tasked = new Set(Object.values(step).flatMap(({ move, thread_id }) => (move ? [thread_id] : [])))
  // Found once, since a bench may have a thousand threads and as many plates.
  const lostBy = new Map(
    Object.values(state.labware).flatMap((known) => (known.remedy === null ? [] : [[known.thread_id, known] as const])),
  )
  return Object.values(thread).flatMap((one): Need[] => {
    if (tasked.has(one.thread_id)) return []
    const { thread_id, thread_name, execution_id, status, decisions, since, position, waiting } = one
    const href = `#/runs/${execution_id}`
    const where = run[execution_id] ? ` in ${run[execution_id].workflow_name}` : ''
    const plate = one.labware?.name ?? 'the labware'
    const path = { thread_id }
    const headers = { 'If-State': status }
    const its = instrumentOf(one, state)
    // The labware is lost: its move was cut off, and nobody has said where it is.
    const lost = lostBy.get(thread_id)
    if (lost) return [lostNeed(one, lost)]
    if (decisions.length > 0) {
      const elsewhere = one.retry_on.map((on) => ({
        label: `Retry on ${on}`,
        consequence: one.part ? `The operation is done at ${on}.` : `The labware is brought to ${on}, and the action is done there.`,
        request: { operation: 'recoverThread' as const, asked: { path, body: { decision: 'RETRY', on }, headers } },
      }))
      const byPerson = one.retry_by.map((by) => ({
        label: `Let ${by} carry it`,
        consequence: `${by} gets the task; the arm stays as it is until the task is answered.`,
        request: { operation: 'recoverThread' as const, asked: { path, body: { decision: 'RETRY', by }, headers } },
      }))
      const ifOff = one.retry_by_if_off.map((by) => ({
        label: `The arm is off: let ${by} carry it`,
        consequence: `The arm has not confirmed its stop, and may still move. Only if its power is off: ${by} gets the task.`,
        request: { operation: 'recoverThread' as const, asked: { path, body: { decision: 'RETRY', by, arm_is_off: true }, headers } },
      }))
      const here = decisions.map((decision) => ({
        label: decisionLabels[decision],
        ...decisionWords[decision],
        ...(one.held_at === 'IDENTITY' && wordsOfScan(plate)[decision]),
        ...(decision.startsWith('RETRY') && its && latched.has(its.state) && { why: `${its.device_id} must be ready first.` }),
        request: { operation: 'recoverThread' as const, asked: { path, body: { decision }, headers } },
      }))
      const stands = position ? ` ${plate} stands at ${position}.` : ''
      const text = `${sentence(waiting?.what ?? one.last_error ?? 'An action failed')}${stands}`
      const because =
        its?.state === 'faulted' ? `Fault on ${its.device_id}: ` : its?.state === 'stopped' ? `${its.device_id} was stopped: ` : ''
      return [
        {
          id: `thread ${thread_id}`,
          title: `${because}${thread_name} ${one.pause_reason === 'system' ? 'was interrupted by a restart' : 'is held by an error'}${where}`,
          text,
          since,
          severe: true,
          href,
          decisions: possibleFirst([
            ...remediesAt(its),
            ...aboutItsLateCall(one, state),
            ...here.slice(0, 1),
            ...byPerson,
            ...ifOff,
            ...elsewhere,
            ...here.slice(1),
            ...(one.held_at === 'IDENTITY' ? [correcting(one, plate)] : []),
          ]),
        },
      ]
    }
    return status === 'AWAITING_MANUAL_PLACE' || status === 'AWAITING_MANUAL_REMOVE' ? [byHand(one, { plate, href })] : []
  })
}

/** Returns the need to say where labware is. Nothing of its run moves before that. */
function lostNeed({ thread_id, since, decisions, status }: Thread, { labware_id, name, position, remedy }: State['labware'][string]): Need {
  const isAt = {
    label: `${name} stands at ${position}`,
    consequence: 'Nothing moves. The run can be resumed then.',
    request: { operation: 'relocateLabware' as const, asked: { path: { labware_id }, body: { position } } },
  }
  const abort = {
    label: decisionLabels.ABORT_THREAD,
    ...decisionWords.ABORT_THREAD,
    request: {
      operation: 'recoverThread' as const,
      asked: { path: { thread_id }, body: { decision: 'ABORT_THREAD' }, headers: { 'If-State': status } },
    },
  }
  return {
    id: `thread ${thread_id}`,
    title: `Nobody knows where ${name} is`,
    text: `${sentence(remedy ?? '')} For another place, go to the deck.`,
    since,
    severe: true,
    href: '#/deck',
    decisions: [...(position === null ? [] : [isAt]), ...(decisions.includes('ABORT_THREAD') ? [abort] : [])],
  }
}

/** Returns the need to put labware on the bench, or to take it away. */
function byHand(
  { thread_id, thread_name, status, since, labware, waiting }: Thread,
  { plate, href }: { plate: string; href: string },
): Need {
  const isPlace = status === 'AWAITING_MANUAL_PLACE'
  const barcode = isPlace && labware?.barcode
  const what = waiting
    ? sentence(waiting.what.replace(/^an operator to /, ''))
    : `${thread_name} waits until ${plate} is ${isPlace ? 'placed' : 'removed'}.`
  const asked = { path: { thread_id }, body: {}, headers: { 'If-State': status } }
  return {
    id: `thread ${thread_id}`,
    title: isPlace ? `Place ${plate}` : `Remove ${plate}`,
    text: barcode ? `${what} Its barcode must be ${barcode}.` : what,
    since,
    severe: false,
    href,
    task: { phase: status },
    decisions: [
      isPlace
        ? {
            label: 'Placed',
            consequence: 'The run continues: devices and arms may move.',
            request: { operation: 'labwarePlaced', asked },
            asks: {
              label: `Barcode that was read of ${plate}`,
              member: 'barcode',
              ...(barcode ? { wants: barcode } : { isOptional: true }),
            },
          }
        : { label: 'Removed', consequence: 'The place counts as free.', request: { operation: 'labwareRemoved', asked } },
    ],
  }
}

function runs({ run }: State): Need[] {
  return Object.values(run).flatMap(({ execution_id, workflow_name, paused, ended_at }) => {
    if (paused?.reason !== 'system' || ended_at !== null) return []
    return [
      {
        id: `run ${execution_id}`,
        title: `${workflow_name} was paused by the service`,
        text: 'Look at the bench, then resume the run.',
        since: paused.at,
        severe: true,
        href: `#/runs/${execution_id}`,
        decisions: [
          {
            label: 'Resume run',
            consequence: 'Its threads go on; labware may be moved.',
            request: {
              operation: 'resumeExecution',
              asked: { path: { execution_id }, body: {}, headers: { 'If-State': 'PAUSED' } },
            } as const,
          },
        ],
      },
    ]
  })
}

function incidents(state: State): Need[] {
  const { incident, device, thread } = state
  const isShownElsewhere = ({ thread_id, category, detail }: Incident) =>
    (thread_id !== null && (thread[thread_id]?.decisions.length ?? 0) > 0) ||
    (category === 'DEVICE_LINK' && device[String(detail['device_id'])]?.state === 'disconnected')
  return Object.values(incident)
    .filter((one) => isForPeople(one) && !isSafeMode(one) && !isShownElsewhere(one) && !isOver(one, state))
    .sort((a, b) => b.timestamp - a.timestamp)
    .map(incidentNeed)
}

function isForPeople(one: Incident): boolean {
  return isLateCall(one) || one.severity === 'ERROR' || one.severity === 'CRITICAL'
}

/** The failures that hold a thread: they are over when the thread goes on, or has ended. */
const holding: ReadonlySet<Incident['category']> = new Set([
  ...(['ACTION_FAILED', 'MOVE_FAILED', 'DEVICE_INIT_FAILED', 'DEVICE_BUSY_EXHAUSTED', 'RECOVERABLE_TIMEOUT', 'BARCODE_MISMATCH'] as const),
  ...(['VARIABLE_RESOLUTION', 'VARIABLE_VALIDATION', 'CO_LABWARE_TIMEOUT', 'AUTO_SPAWN_FAILED', 'UNRESOLVABLE_DEADLOCK'] as const),
])

/** Whether nobody has to do anything about an incident any more. */
function isOver({ category, solved, thread_id, execution_id, detail }: Incident, { thread, run, device }: State): boolean {
  if (solved) return true
  if (category === 'SYSTEM_STALL') return execution_id !== null && (run[execution_id]?.ended_at ?? null) !== null
  const at = device[String(detail['device_id'])]
  if (category === 'DEVICE_LINK') return at !== undefined && at.state !== 'disconnected'
  if (thread_id === null || !holding.has(category)) return false
  const its = thread[thread_id]
  if (its) return its.status !== 'PAUSED'
  // A thread that has ended otherwise left its labware where it was.
  return execution_id === null || (run[execution_id]?.status ?? 'COMPLETED') === 'COMPLETED'
}

export type Solved = { incident_id: string; at: number; text: string }

/** Lists the incidents that nobody has acknowledged and whose failures are over, the newest first, each in one line without its orders. */
export function solvedOf(state: State): Solved[] {
  return Object.values(state.incident)
    .filter((one) => isForPeople(one) && !isSafeMode(one) && isOver(one, state))
    .sort((a, b) => b.timestamp - a.timestamp)
    .map(({ incident_id, category, timestamp, execution_id, detail, solved }) => {
      const what = titled(category.toLowerCase())
      const where = detail['device'] ?? detail['device_id']
      const run = execution_id && state.run[execution_id]?.workflow_name
      const text = `${what}${where ? ` at ${where}` : ''}${run ? ` in ${run}` : ''}: ${solved ? `solved by ${authorText(solved.by, solved.operator)}` : 'over'}`
      return { incident_id, at: solved?.timestamp ?? timestamp, text }
    })
}

/** Lists what else can be decided about the device call that holds a thread because it takes too long; nothing where another error holds the thread. */
function aboutItsLateCall({ thread_id, decisions }: Thread, { incident }: State): Decision[] {
  if (decisions.some((decision) => decision !== 'CONTINUE' && decision !== 'ABORT_THREAD')) return []
  const late = Object.values(incident).findLast((one) => one.thread_id === thread_id && isLateCall(one) && !one.solved)
  return late ? aboutLateCall(late).filter(({ label }) => label !== 'Mark as done') : []
}

function incidentNeed(one: Incident): Need {
  const { incident_id, message, timestamp, severity, execution_id } = one
  return {
    id: `incident ${incident_id}`,
    title: isLateCall(one) ? 'A device takes too long' : 'Incident',
    text: sentence(message),
    since: timestamp,
    severe: severity === 'CRITICAL',
    ...(execution_id && { href: `#/runs/${execution_id}` }),
    decisions: [...(isLateCall(one) ? aboutLateCall(one) : []), acknowledge(one, 'Marks the incident as seen; nothing else changes.')],
  }
}

function acknowledge({ incident_id }: Incident, consequence: string): Decision {
  return { label: 'Acknowledge', consequence, request: { operation: 'acknowledgeIncident', asked: { path: { incident_id }, body: {} } } }
}

function keyRequests({ key_request }: State): Need[] {
  return Object.values(key_request).map(({ request_id, app_name, scope, code, requested_at }) => ({
    id: `key ${request_id}`,
    title: `${app_name} requests a key`,
    text: `Scope ${scope}. Approve only if it shows the code ${code}.`,
    since: requested_at,
    severe: false,
    href: '#/system',
    decisions: [
      {
        label: 'Approve',
        consequence: `The program gets a key of scope ${scope}.`,
        request: { operation: 'approveKeyRequest', asked: { path: { request_id }, body: {} } },
      },
      {
        label: 'Deny',
        consequence: 'The program gets no key.',
        request: { operation: 'denyKeyRequest', asked: { path: { request_id } } },
        danger: true,
      },
    ],
  }))
}
