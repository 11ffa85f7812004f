// Finds runs, threads, labware, incidents and steps by the beginning of an id, a name, or a place.

import { barcodeText } from '../../kit/name.ts'
import type { QueueView } from '../../queue/view.ts'
import type { ExecutionSummary, ShownThread } from '../../workflow/snapshot.ts'
import type { Whereabouts } from '../../workflow/whereabouts.ts'
import { short } from '../at_shell.ts'
import { ask, type Service } from '../client.ts'
import { CliError } from '../exit.ts'

/** An object that is named by its id or by one of `names`, which may be ambiguous. */
type Candidate = { id: string; names: readonly (string | null | undefined)[] }

export async function pathOf(service: Service, word: string): Promise<string> {
  return `/api/executions/${await runIdOf(service, word)}`
}

/** Returns the path of the run for a command that only shows it. */
export async function shownPathOf(service: Service, word: string): Promise<string> {
  return `/api/executions/${await shownRunIdOf(service, word)}`
}

/** Returns the path of a run for a command that only works on one that has ended. */
export async function endedPathOf(service: Service, word: string): Promise<string> {
  return `/api/executions/${await runNamed(service, word, (runs) => runs.filter((run) => !isOpen(run)))}`
}

/** Finds the run whose id begins with the word, or the only open run of that workflow. */
function runIdOf(service: Service, word: string): Promise<string> {
  return runNamed(service, word, (runs) => runs.filter(isOpen))
}

/** Finds a run for a command that only shows it: without an open run of that workflow, its newest run. */
export function shownRunIdOf(service: Service, word: string): Promise<string> {
  return runNamed(service, word, (runs) => {
    const open = runs.filter(isOpen)
    return open.length > 0 ? open : runs.slice(0, 1)
  })
}

const isOpen = ({ status }: ExecutionSummary) => status === 'IN_PROGRESS'

/** `meant` selects from the runs of a workflow, the newest first, those that its name means. */
async function runNamed(service: Service, word: string, meant: (runs: ExecutionSummary[]) => ExecutionSummary[]): Promise<string> {
  const runs = isWhole(word) ? [] : await listed(service, '?limit=10000')
  const ofWorkflow = runs.filter(({ workflow_name }) => workflow_name === word)
  const named = meant(ofWorkflow)
  if (ofWorkflow.length > 0 && named.length === 0 && !runs.some(({ execution_id }) => execution_id.startsWith(word)))
    throw new CliError('busy', `every run of ${word} ${isOpen(ofWorkflow[0]!) ? 'is still open' : 'has ended'}; see: benchd runs list`)
  const candidates = runs.map((run) => ({ id: run.execution_id, names: named.includes(run) ? [run.workflow_name] : [] }))
  return theOne('run', word, candidates, 'benchd runs list')
}

/** Returns the path of a thread of an open run, by id, name, or the place of its labware. */
export async function threadPathOf(service: Service, word: string): Promise<string> {
  const candidates: Candidate[] = []
  for (const { execution_id } of isWhole(word) ? [] : await listed(service, '?status=IN_PROGRESS&limit=10000')) {
    const { threads } = await ask<{ threads: ShownThread[] }>(service, 'GET', `/api/executions/${execution_id}/threads?limit=10000`)
    candidates.push(...threads.map(({ thread_id, thread_name, position }) => ({ id: thread_id, names: [thread_name, position] })))
  }
  return `/api/threads/${theOne('thread', word, candidates, 'benchd runs list, and benchd runs show ID')}`
}

export async function incidentPathOf(service: Service, word: string): Promise<string> {
  const { incidents } = isWhole(word)
    ? { incidents: [] }
    : await ask<{ incidents: { incident_id: string }[] }>(service, 'GET', '/api/incidents?limit=10000')
  const candidates = incidents.map(({ incident_id }) => ({ id: incident_id, names: [] }))
  return `/api/incidents/${theOne('incident', word, candidates, 'benchd incidents list')}`
}

/** Returns the id of an entry of the queue, by the beginning of its id, its number, or the workflow of one entry. */
export async function entryIdOf(service: Service, word: string): Promise<string> {
  const { entries } = isWhole(word) ? { entries: [] } : await ask<{ entries: QueueView['entries'] }>(service, 'GET', '/api/queue')
  const candidates = entries.map(({ entry_id, number, workflow }) => ({
    id: entry_id,
    names: [workflow, number === null ? null : `#${number}`],
  }))
  return theOne('entry', /^\d{1,4}$/.test(word) ? `#${word}` : word, candidates, 'benchd queue list')
}

export async function entryPathOf(service: Service, word: string): Promise<string> {
  return `/api/queue/${await entryIdOf(service, word)}`
}

/** Returns the id of an entry of the queue or of a run, after which another entry begins. */
export async function entryOrRunIdOf(service: Service, word: string): Promise<string> {
  return entryIdOf(service, word).catch((error) => {
    if (error instanceof CliError && error.exit === 'not_found') return shownRunIdOf(service, word)
    throw error
  })
}

/** Returns the path of labware, by id, name, barcode, or its place. */
export async function labwarePathOf(service: Service, word: string): Promise<string> {
  const { labware } = isWhole(word) ? { labware: [] } : await ask<{ labware: Whereabouts[] }>(service, 'GET', '/api/labware')
  const candidates = labware.map(({ labware_id, name, barcode, position }) => ({ id: labware_id, names: [name, barcode, position] }))
  return `/api/labware/${theOne('labware', word, candidates, 'benchd labware list')}`
}

/** Returns the barcode of the labware on the bench that a word names, or its id; any other word is taken for a barcode. */
export async function labwareNamed(service: Service, word: string): Promise<string> {
  const { labware } = await ask<{ labware: Whereabouts[] }>(service, 'GET', '/api/labware')
  const found = labware.filter(({ labware_id, name, position }) => labware_id.startsWith(word) || name === word || position === word)
  const [only, another] = labware.some(({ barcode }) => barcode === word) ? [] : found
  return only && !another ? (only.barcode ?? only.labware_id) : word
}

/** Returns the path of a manual step, by id, or the thread that waits for it. */
export async function stepPathOf(service: Service, word: string): Promise<string> {
  const { steps } = isWhole(word)
    ? { steps: [] }
    : await ask<{ steps: { step_id: string; thread_name?: string }[] }>(service, 'GET', '/api/operator/steps')
  const candidates = steps.map(({ step_id, thread_name }) => ({ id: step_id, names: [thread_name] }))
  // For a step that no longer waits, the service says what became of it.
  const isKnown = candidates.some(({ id, names }) => id.startsWith(word) || names.includes(word))
  return `/api/operator/steps/${isKnown ? theOne('step', word, candidates, 'benchd runs steps') : encodeURIComponent(word)}`
}

async function listed(service: Service, query: string): Promise<ExecutionSummary[]> {
  return (await ask<{ executions: ExecutionSummary[] }>(service, 'GET', `/api/executions${query}`)).executions
}

function isWhole(id: string): boolean {
  return /^[0-9a-f-]{36}$/.test(id)
}

const mostCandidates = 5

/** Returns the whole id. A name has priority over the beginning of an id. Throws unless exactly one candidate matches. */
function theOne(kind: string, word: string, candidates: readonly Candidate[], list: string): string {
  if (isWhole(word)) return word
  const named = candidates.filter(({ names }) => names.includes(word) || names.includes(barcodeText(word)))
  const found = named.length > 0 ? named : candidates.filter(({ id }) => word !== '' && id.startsWith(word))
  if (found.length === 0) throw new CliError('not_found', `there is no ${kind} ${JSON.stringify(word)}; see: ${list}`)
  if (found.length === 1) return found[0]!.id
  const shown = found.slice(0, mostCandidates).map(({ id, names }) => `${short(id)}${names[0] ? ` (${names[0]})` : ''}`)
  const more = found.length > mostCandidates ? ` and ${found.length - mostCandidates} more` : ''
  throw new CliError('usage', `${word} can mean more than one ${kind}: ${shown.join(', ')}${more}; write one of these ids`)
}
