// `benchd incidents …`: problems that a person has to know about.

import type { Incident } from '../events/incidents.ts'
import { authorText } from '../kit/author.ts'
import { shows, tells } from './asking.ts'
import { atShell, short } from './at_shell.ts'
import { incidentPathOf, shownRunIdOf } from './runs/ids.ts'
import { date, table } from './table.ts'
import { colored, noteNone } from './terminal.ts'

const incidentsList = shows({
  name: 'incidents list',
  aliases: ['incidents'],
  summary: 'List the incidents, the newest first',
  options: {
    new: { type: 'boolean', help: 'Show only incidents that nobody has acknowledged' },
    execution: { type: 'string', value: 'ID', help: 'Show only the incidents of this run' },
    limit: { type: 'string', value: 'N', help: 'Largest number of entries; default 20' },
  },
  example: 'benchd incidents list --new',
  async path({ service, options }) {
    const { limit = '20', execution } = options
    const execution_id = execution && (await shownRunIdOf(service, execution))
    return `/api/incidents?${new URLSearchParams({ limit, ...(execution_id && { execution_id }), ...(options.new && { acknowledged: 'false' }) })}`
  },
  text: ({ incidents }: { incidents: Incident[] }) => table(['ID', 'WHEN', 'SEVERITY', 'CATEGORY', 'SEEN BY', 'WHAT'], incidents.map(row)),
  also: ({ incidents }, { options }) => noteNone(incidents, options.new ? 'every incident is acknowledged' : 'there is no incident'),
})

const incidentsShow = shows({
  name: 'incidents show',
  summary: 'Show an incident with all its detail',
  operands: ['ID'],
  path: ({ service, operands: [id = ''] }) => incidentPathOf(service, id),
  text: described,
})

const incidentsAck = tells({
  name: 'incidents ack',
  summary: 'Acknowledge an incident; for the incident of safe mode, end safe mode',
  operands: ['ID'],
  example: 'benchd incidents ack 7b1c',
  tell: async ({ service, operands: [id = ''] }) => ({ path: `${await incidentPathOf(service, id)}/acknowledge` }),
})

export const commands = [incidentsList, incidentsShow, incidentsAck]

const colors = { INFO: 'dim', WARNING: 'yellow', ERROR: 'red', CRITICAL: 'red' } as const

function row({ incident_id, timestamp, severity, category, acknowledged, message }: Incident): string[] {
  return [
    short(incident_id),
    date(timestamp),
    colored(colors[severity], severity),
    category,
    authorText(acknowledged?.by, acknowledged?.operator),
    atShell(message),
  ]
}

function described(incident: Incident): string {
  const { incident_id, category, severity, message, timestamp, acknowledged, execution_id, thread_id, detail } = incident
  const seen = acknowledged ? `${authorText(acknowledged.by, acknowledged.operator)}, ${date(acknowledged.timestamp)}` : 'nobody yet'
  const facts = { when: date(timestamp), 'seen by': seen, execution: execution_id, thread: thread_id }
  const known = Object.entries(facts).flatMap(([name, value]) => (value === null ? [] : [`${name.padEnd(10)}${value}`]))
  const toDo = commandsFor(incident).map((command, i) => `${(i === 0 ? 'to do' : '').padEnd(10)}${command}`)
  const lines = [...known, ...toDo]
  const rest = Object.keys(detail).length ? ['', JSON.stringify(detail, null, 2)] : []
  return [`${incident_id}  ${colored(colors[severity], severity)}  ${category}`, atShell(message), '', ...lines, ...rest].join('\n')
}

/**
 * Lists the commands that help while the cause of the incident lasts. Only the service knows whether a late device call has ended.
 */
function commandsFor({ incident_id, category, severity, execution_id, thread_id, recovery_action, detail }: Incident): string[] {
  const id = short(incident_id)
  const isLateCall = category === 'RECOVERABLE_TIMEOUT' && 'operation' in detail && severity !== 'INFO'
  const decision = isLateCall ? undefined : decisions[recovery_action]
  return [
    ...(execution_id ? [`benchd runs why ${short(execution_id)}`] : []),
    ...(isLateCall ? [`benchd runs extend ${id} SECONDS`, `benchd runs abort-call ${id}`, `benchd runs complete-call ${id}`] : []),
    ...(thread_id && decision ? [`benchd runs recover ${short(thread_id)} ${decision}`] : []),
    ...(thread_id && Array.isArray(detail.retry_on)
      ? detail.retry_on.map((device) => `benchd runs recover ${short(thread_id)} RETRY --on ${device}`)
      : []),
    ...(execution_id && recovery_action === 'RESUME_EXECUTION' ? [`benchd runs resume ${short(execution_id)}`] : []),
  ]
}

const decisions: Partial<Record<Incident['recovery_action'], string>> = {
  THREAD_RECOVER_RETRY: 'RETRY',
  THREAD_RECOVER_RETRY_OP: 'RETRY_OP',
  THREAD_RECOVER_ABORT: 'ABORT_THREAD',
}
