// `benchd workflows …`: the workflows of the bench.

import { readUtf8 } from '../kit/files.ts'
import { parseJsonWithComments } from '../kit/json.ts'
import { shows, tells } from './asking.ts'
import { ask, serviceOf, serviceOptions } from './client.ts'
import { command } from './command.ts'
import { CliError } from './exit.ts'
import { refuseForeign } from './foreign_files.ts'
import { print, table } from './table.ts'
import { note, noteNone } from './terminal.ts'
import { noteOption, versionCommands } from './versions.ts'

export type Fault = { origin: string; reason: string }
type Workflow = {
  name: string
  topology: string
  form: string
  source: string
  variables: Record<string, unknown>
  warnings?: string[]
  version?: number | null
}

const workflowsList = shows({
  name: 'workflows list',
  summary: 'List the workflows, and the files that cannot be loaded',
  path: () => '/api/workflows',
  also({ workflows, faults }: { workflows: Workflow[]; faults: Fault[] }) {
    noteNone(workflows, 'there is no workflow yet; to add one: benchd workflows put FILE')
    tellFaults(faults)
  },
  text: ({ workflows }) =>
    table(
      ['NAME', 'TOPOLOGY', 'FORM', 'FROM', 'VARIABLES'],
      workflows.map(({ name, topology, form, source, variables }) => [name, topology, form, source, Object.keys(variables).join(' ')]),
    ),
})

const workflowsShow = shows({
  name: 'workflows show',
  summary: 'Print the document of a workflow as JSON',
  operands: ['NAME'],
  path: ({ operands: [name = ''] }) => pathOf(name),
  text: ({ document }: { document: object }) => JSON.stringify(document, null, 2),
})

type Variable = {
  type?: string
  unit?: string
  minimum?: number
  maximum?: number
  one_of?: unknown[]
  default?: unknown
  example?: unknown
  description?: string
}

const workflowsVariables = shows({
  name: 'workflows variables',
  summary: 'List the variables of a workflow with their types, units and limits',
  operands: ['NAME'],
  example: 'benchd workflows variables seal-and-spin',
  path: ({ operands: [name = ''] }) => pathOf(name),
  also: ({ variables }: { variables: Record<string, Variable> }) => noteNone(Object.keys(variables), 'this workflow has no variables'),
  text: ({ variables }) =>
    table(
      ['NAME', 'TYPE', 'UNIT', 'ALLOWED', 'DEFAULT', 'DESCRIPTION'],
      Object.entries(variables).map(([name, { type = '', unit = '', description = '', default: initial, ...limits }]) => [
        ...[name, type, unit, allowedWords(limits)],
        ...[initial === undefined ? 'required' : JSON.stringify(initial), description],
      ]),
    ),
})

function allowedWords({ minimum, maximum, one_of }: Pick<Variable, 'minimum' | 'maximum' | 'one_of'>): string {
  if (one_of) return one_of.join(', ')
  if (minimum !== undefined && maximum !== undefined) return `${minimum} to ${maximum}`
  return minimum !== undefined ? `from ${minimum}` : maximum !== undefined ? `to ${maximum}` : ''
}

const workflowsSamples = shows({
  name: 'workflows samples',
  summary: 'Print a sheet of samples to fill in, as CSV, for runs submit --samples',
  operands: ['NAME'],
  example: 'benchd workflows samples seal-and-spin > samples.csv',
  path: ({ operands: [name = ''] }) => `${pathOf(name)}/samples`,
  text: ({ text }: { text: string }) => text.trimEnd().replaceAll('\r\n', '\n'),
})

const workflowsPut = command({
  name: 'workflows put',
  summary: 'Upload a workflow in its JSON form, after a check',
  operands: ['FILE'],
  options: { ...noteOption, ...serviceOptions },
  example: 'benchd workflows put ./seal.json --note "shakes faster"',
  async run({ options, operands: [file = ''] }) {
    const text = await readUtf8(file)
    refuseForeign(text, file)
    const document = parseJsonWithComments(text, file)
    const { name } = Object(document) as { name?: unknown }
    if (typeof name !== 'string') throw new CliError('usage', `${file} is no workflow: it has no name`)
    const query = options.note === undefined ? '' : `?note=${encodeURIComponent(options.note)}`
    const stored = await ask<Workflow>(serviceOf(options), 'PUT', `${pathOf(name)}${query}`, document as object)
    // A bench of an earlier version sends none.
    for (const warning of stored.warnings ?? []) note(`${stored.name}: ${warning}`)
    print(options.json ? JSON.stringify(stored) : `workflow ${stored.name} on topology ${stored.topology} is kept`)
    if (stored.version) note(`${stored.name} is now version ${stored.version}`)
  },
})

const workflowsDelete = tells({
  name: 'workflows delete',
  summary: 'Delete a workflow that was uploaded over the API',
  operands: ['NAME'],
  deed: ([name]) => `delete the workflow ${name}`,
  tell: ({ operands: [name = ''] }) => ({ method: 'DELETE', path: pathOf(name) }),
})

export const commands = [
  ...[workflowsList, workflowsShow, workflowsVariables, workflowsSamples, workflowsPut, workflowsDelete],
  ...versionCommands('workflow'),
]

/** Prints the mistakes of workflows as notes. */
export function tellFaults(faults: readonly Fault[]): void {
  for (const { origin, reason } of faults) note(`${origin} is left out: ${reason}`)
}

function pathOf(name: string): string {
  return `/api/workflows/${encodeURIComponent(name)}`
}
