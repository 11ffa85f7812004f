// Finds what waits for a person, worst first, each with the decisions that there are and what each of them does.

import type { Incident, Operations, State, Thread } from '../clients/ts/benchd.ts'

/** A request to the API, as the client takes it. */
export type Request = { [Op in keyof Operations]: { operation: Op; asked?: object } }[keyof Operations]

export type Decision = {
  /** Begins with the word of the decision: `Retry`, `Abort thread`. */
  label: string
  /** The consequence, in one sentence. */
  consequence: string
  request: Request
  danger?: boolean
}

export type Need = {
  id: string
  title: string
  /** The text says what happened, and what to do. */
  text: string
  /** Unix time, s. */
  since?: number
  severe: boolean
  decisions: Decision[]
  /** The screen on which more is shown. */
  href?: string
}

const decisionWords: Record<Thread['decisions'][number], { label: string; consequence: string; danger?: boolean }> = {
  RETRY: { label: 'Retry', consequence: 'The action is done again from its beginning.' },
  RETRY_OP: { label: 'Retry operation', consequence: 'Only the operation that failed is done again.' },
  CONTINUE: { label: 'Continue', consequence: 'The action counts as done, because you did it or it is not needed.' },
  ABORT_ACTION: { label: 'Abort action', consequence: 'The action is left out, and the thread goes on behind it.', danger: true },
  ABORT_METHOD: {
    label: 'Abort method',
    consequence: 'The rest of the method is left out, and the thread goes on behind it.',
    danger: true,
  },
  ABORT_THREAD: { label: 'Abort thread', consequence: 'The thread ends, and its labware stays where it is.', danger: true },
}

export function needsOf(state: State): Need[] {
  return [
    ...safeMode(state),
    ...devices(state),
    ...threads(state),
    ...steps(state),
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

function devices({ device }: State): Need[] {
  return Object.values(device).flatMap(({ device_id, state, fault }): Need[] => {
    if (state === 'faulted' && fault) {
      const moving = fault.may_still_be_moving ? ' It may still be moving.' : ''
      return [
        {
          id: `device ${device_id}`,
          title: `Fault on ${device_id}`,
          text: `${fault.error}.${moving} Look at it first.`.replace(/\.\./g, '.'),
          since: fault.since,
          severe: true,
          href: '#/bench',
          decisions: [
            {
              label: 'Clear fault',
              consequence: 'Says that you have looked; nothing moves. Initialize the device afterwards.',
              request: { operation: 'clearDeviceFault', asked: { path: { device_id }, body: {} } },
            },
          ],
        },
      ]
    }
    if (state !== 'disconnected') return []
    const text = 'It does not answer. Check its cable and its power; it comes back by itself.'
    return [{ id: `device ${device_id}`, title: `${device_id} is disconnected`, text, severe: true, href: '#/bench', decisions: [] }]
  })
}

function threads({ thread, run }: State): Need[] {
  return Object.values(thread).flatMap((one): Need[] => {
    const { thread_id, thread_name, execution_id, status, decisions, retry_on, last_error, since, labware, position, waiting } = one
    const href = `#/runs/${execution_id}`
    const where = run[execution_id] ? ` in ${run[execution_id].workflow_name}` : ''
    const plate = labware?.name ?? 'the labware'
    const path = { thread_id }
    if (decisions.length > 0) {
      const elsewhere = retry_on.map((on) => ({
        label: `Retry on ${on}`,
        consequence: `The labware is brought to ${on}, and the action is done there.`,
        request: { operation: 'recoverThread' as const, asked: { path, body: { decision: 'RETRY', on } } },
      }))
      const here = decisions.map((decision) => ({
        ...decisionWords[decision],
        request: { operation: 'recoverThread' as const, asked: { path, body: { decision } } },
      }))
      const at = position ? ` ${plate} stands at ${position}.` : ''
      const text = `${last_error ?? 'An action failed'}.${at}`.replace(/\.\./g, '.')
      return [
        {
          id: `thread ${thread_id}`,
          title: `${thread_name} is held by an error${where}`,
          text,
          since,
          severe: true,
          href,
          decisions: [...here.slice(0, 1), ...elsewhere, ...here.slice(1)],
        },
      ]
    }
    if (status !== 'AWAITING_MANUAL_PLACE' && status !== 'AWAITING_MANUAL_REMOVE') return []
    const isPlace = status === 'AWAITING_MANUAL_PLACE'
    return [
      {
        id: `thread ${thread_id}`,
        title: isPlace ? `Place ${plate}` : `Remove ${plate}`,
        text:
          waiting?.what ?? (isPlace ? `${thread_name} waits until ${plate} is placed.` : `${thread_name} waits until ${plate} is removed.`),
        since,
        severe: false,
        href,
        decisions: [
          isPlace
            ? {
                label: 'Placed',
                consequence: 'The run goes on: the arm may take it.',
                request: { operation: 'labwarePlaced', asked: { path, body: {} } },
              }
            : {
                label: 'Removed',
                consequence: 'The place counts as free.',
                request: { operation: 'labwareRemoved', asked: { path, body: {} } },
              },
        ],
      },
    ]
  })
}

function steps({ step }: State): Need[] {
  return Object.values(step).map(({ step_id, execution_id, instruction, since }) => ({
    id: `step ${step_id}`,
    title: 'Manual step',
    text: instruction,
    since,
    severe: false,
    href: `#/runs/${execution_id}`,
    decisions: [
      {
        label: 'Done',
        consequence: 'The run goes on.',
        request: { operation: 'confirmManualStep', asked: { path: { step_id }, body: {} } },
      },
    ],
  }))
}

function runs({ run }: State): Need[] {
  return Object.values(run).flatMap(({ execution_id, workflow_name, paused, ended_at }) => {
    if (paused?.reason !== 'system' || ended_at !== null) return []
    return [
      {
        id: `run ${execution_id}`,
        title: `${workflow_name} was paused by the service`,
        text: 'Look at the bench, then let it go on.',
        since: paused.at,
        severe: true,
        href: `#/runs/${execution_id}`,
        decisions: [
          {
            label: 'Resume run',
            consequence: 'Its threads go on; labware may be moved.',
            request: { operation: 'resumeExecution', asked: { path: { execution_id }, body: {} } } as const,
          },
        ],
      },
    ]
  })
}

function incidents({ incident, device, thread }: State): Need[] {
  const isShownElsewhere = ({ thread_id, category, detail }: Incident) =>
    (thread_id !== null && (thread[thread_id]?.decisions.length ?? 0) > 0) ||
    (category === 'DEVICE_LINK' && device[String(detail['device_id'])]?.state === 'disconnected')
  return Object.values(incident)
    .filter((one) => (one.severity === 'ERROR' || one.severity === 'CRITICAL') && !isSafeMode(one) && !isShownElsewhere(one))
    .sort((a, b) => b.timestamp - a.timestamp)
    .map(incidentNeed)
}

function incidentNeed(one: Incident): Need {
  const { incident_id, message, timestamp, severity, execution_id } = one
  return {
    id: `incident ${incident_id}`,
    title: 'Incident',
    text: message,
    since: timestamp,
    severe: severity === 'CRITICAL',
    ...(execution_id && { href: `#/runs/${execution_id}` }),
    decisions: [acknowledge(one, 'Says that you have seen it; nothing else changes.')],
  }
}

function acknowledge({ incident_id }: Incident, consequence: string): Decision {
  return { label: 'Acknowledge', consequence, request: { operation: 'acknowledgeIncident', asked: { path: { incident_id }, body: {} } } }
}

function keyRequests({ key_request }: State): Need[] {
  return Object.values(key_request).map(({ request_id, app_name, scope, code, requested_at }) => ({
    id: `key ${request_id}`,
    title: `${app_name} asks for a key`,
    text: `Scope ${scope}. Approve only if it shows the code ${code}.`,
    since: requested_at,
    severe: false,
    href: '#/system',
    decisions: [
      {
        label: 'Approve',
        consequence: `It gets a key of scope ${scope}.`,
        request: { operation: 'approveKeyRequest', asked: { path: { request_id }, body: {} } },
      },
      {
        label: 'Deny',
        consequence: 'It gets no key.',
        request: { operation: 'denyKeyRequest', asked: { path: { request_id } } },
        danger: true,
      },
    ],
  }))
}
