// `benchd incidents …`: what went wrong and somebody has to know of.

import type { Incident } from '../events/incidents.ts'
import { shows, tells } from './asking.ts'
import { incidentPathOf } from './runs/ids.ts'
import { date, table } from './table.ts'
import { colored } from './terminal.ts'

const incidentsList = shows({
  name: 'incidents list',
  aliases: ['incidents'],
  summary: 'List the incidents, the newest first',
  operands: [],
  options: {
    new: { type: 'boolean', help: 'Those alone that nobody has acknowledged' },
    execution: { type: 'string', value: 'ID', help: 'Those of that execution alone' },
    limit: { type: 'string', value: 'N', help: 'At most so many; default 20' },
  },
  example: 'benchd incidents list --new',
  path({ options }) {
    const { limit = '20', execution: execution_id } = options
    return `/api/incidents?${new URLSearchParams({ limit, ...(execution_id && { execution_id }), ...(options.new && { acknowledged: 'false' }) })}`
  },
  text: ({ incidents }: { incidents: Incident[] }) => table(['ID', 'WHEN', 'SEVERITY', 'CATEGORY', 'SEEN BY', 'WHAT'], incidents.map(row)),
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
  summary: 'Mark an incident as seen; that of safe mode ends it',
  operands: ['ID'],
  example: 'benchd incidents ack 7b1c',
  tell: async ({ service, operands: [id = ''] }) => ({ path: `${await incidentPathOf(service, id)}/acknowledge` }),
})

export const commands = [incidentsList, incidentsShow, incidentsAck]

const colors = { INFO: 'dim', WARNING: 'yellow', ERROR: 'red', CRITICAL: 'red' } as const

function row({ incident_id, timestamp, severity, category, acknowledged, message }: Incident): string[] {
  return [incident_id, date(timestamp), colored(colors[severity], severity), category, acknowledged?.by ?? '', message]
}

function described(incident: Incident): string {
  const { incident_id, category, severity, message, timestamp, acknowledged, execution_id, thread_id, recovery_action, detail } = incident
  const seen = acknowledged ? `${acknowledged.by}, ${date(acknowledged.timestamp)}` : 'nobody yet'
  const facts = { when: date(timestamp), 'seen by': seen, execution: execution_id, thread: thread_id, recovery: recovery_action }
  const lines = Object.entries(facts).flatMap(([name, value]) => (value === null ? [] : [`${name.padEnd(10)}${value}`]))
  const rest = Object.keys(detail).length ? ['', JSON.stringify(detail, null, 2)] : []
  return [`${incident_id}  ${colored(colors[severity], severity)}  ${category}`, message, '', ...lines, ...rest].join('\n')
}
