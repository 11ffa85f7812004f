// The resources: guides, workflows, and the records of runs.

import { guideNames } from '../http/guide_names.ts'
import { type AskBench, jsonIn, textFrom } from './bench_link.ts'
import { markedText } from './untrusted.ts'

type Resource = { uri: string; name: string; mimeType: string; description?: string }
type Contents = { uri: string; mimeType: string; text: string }

const json = 'application/json'
/** Runs whose records are listed; the template leads to all others. */
const newestRuns = 20
const longestRecord = 2_000_000

export const templates = [
  { uriTemplate: 'benchd://workflows/{workflow_name}', name: 'A workflow', mimeType: json },
  { uriTemplate: 'benchd://runs/{execution_id}/record', name: 'The record of a run', mimeType: json },
]

export async function resourcesOf(ask: AskBench): Promise<Resource[]> {
  const [workflows, runs] = await Promise.all([textFrom(ask, '/api/workflows'), textFrom(ask, `/api/executions?limit=${newestRuns}`)])
  const { workflows: known } = JSON.parse(workflows) as { workflows: { name: string }[] }
  const { executions } = JSON.parse(runs) as { executions: { execution_id: string }[] }
  return [
    ...guideNames.map((name) => ({ uri: `benchd://guides/${name}`, name: `Guide: ${name}`, mimeType: 'text/html' })),
    ...known.map(({ name }) => ({ uri: `benchd://workflows/${encodeURIComponent(name)}`, name: `Workflow ${name}`, mimeType: json })),
    ...executions.map(({ execution_id }) => ({
      uri: `benchd://runs/${execution_id}/record`,
      name: `Record of run ${execution_id.slice(0, 8)}`,
      mimeType: json,
    })),
  ]
}

/** Resolves with undefined for what is no resource. Rejects with the sentence of the bench. */
export async function readResource(ask: AskBench, uri: string): Promise<Contents | undefined> {
  const [, kind = '', name = '', rest] = /^benchd:\/\/(guides|workflows|runs)\/([\w.~%-]+)(\/record)?$/.exec(uri) ?? []
  if (/^(\.|%2e){1,2}$/i.test(name)) return undefined
  if (kind === 'guides' && rest === undefined && guideNames.some((one) => one === name))
    return { uri, mimeType: 'text/html', text: await textFrom(ask, `/docs/guides/${name}`) }
  const path =
    kind === 'workflows' && !rest ? `/api/workflows/${name}` : kind === 'runs' && rest ? `/api/executions/${name}/record.jsonl` : undefined
  if (path === undefined) return undefined
  const text = await textFrom(ask, path)
  const value = rest ? text.split('\n').filter(Boolean).map(jsonIn) : jsonIn(text)
  const marked = text.length > longestRecord ? undefined : markedText(value)
  if (marked === undefined) throw new Error(`${uri} is too long; read its rows with the tool list_record_rows`)
  return { uri, mimeType: json, text: marked }
}
