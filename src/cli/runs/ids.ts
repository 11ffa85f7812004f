// Ids by their beginning, as people type them.

import type { ExecutionSummary, ShownThread } from '../../workflow/snapshot.ts'
import { ask, type Service } from '../client.ts'
import { CliError } from '../exit.ts'

/** Of the execution whose id begins so. */
export async function pathOf(service: Service, id: string): Promise<string> {
  const ids = isWhole(id) ? [id] : (await listed(service, '?limit=10000')).map(({ execution_id }) => execution_id)
  return `/api/executions/${theOne('run', id, ids)}`
}

/** Only those of open runs can be told anything. */
export async function threadPathOf(service: Service, id: string): Promise<string> {
  if (isWhole(id)) return `/api/threads/${id}`
  const ids: string[] = []
  for (const { execution_id } of await listed(service, '?status=IN_PROGRESS&limit=10000')) {
    const { threads } = await ask<{ threads: ShownThread[] }>(service, 'GET', `/api/executions/${execution_id}/threads?limit=10000`)
    ids.push(...threads.map(({ thread_id }) => thread_id))
  }
  return `/api/threads/${theOne('thread', id, ids)}`
}

export async function incidentPathOf(service: Service, id: string): Promise<string> {
  if (isWhole(id)) return `/api/incidents/${id}`
  const { incidents } = await ask<{ incidents: { incident_id: string }[] }>(service, 'GET', '/api/incidents?limit=10000')
  const ids = incidents.map(({ incident_id }) => incident_id)
  return `/api/incidents/${theOne('incident', id, ids, 'benchd incidents list')}`
}

async function listed(service: Service, query: string): Promise<ExecutionSummary[]> {
  return (await ask<{ executions: ExecutionSummary[] }>(service, 'GET', `/api/executions${query}`)).executions
}

function isWhole(id: string): boolean {
  return /^[0-9a-f-]{36}$/.test(id)
}

/** Throws unless exactly one begins so. */
function theOne(kind: string, prefix: string, ids: readonly string[], list = 'benchd runs list'): string {
  const found = ids.filter((id) => id.startsWith(prefix))
  if (found.length === 1 && prefix !== '') return found[0]!
  if (found.length === 0 || prefix === '') throw new CliError('not_found', `there is no ${kind} ${JSON.stringify(prefix)}; see: ${list}`)
  throw new CliError('usage', `${found.length} ids of a ${kind} begin with ${prefix}; write more of it`)
}
