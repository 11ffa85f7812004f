// `benchd workflows …`: what can be run.

import { readText } from '../kit/files.ts'
import { parseJsonWithComments } from '../kit/json.ts'
import { ask, serviceOf, serviceOptions } from './client.ts'
import { command } from './command.ts'
import { CliError } from './exit.ts'
import { print, table } from './table.ts'

export type Fault = { origin: string; reason: string }
type Workflow = { name: string; topology: string; form: string; source: string; variables: Record<string, unknown> }

const workflowsList = command({
  name: 'workflows list',
  summary: 'List the workflows, and what could not be taken up',
  operands: [],
  options: serviceOptions,
  async run({ options }) {
    const listed = await ask<{ workflows: Workflow[]; faults: Fault[] }>(serviceOf(options), 'GET', '/api/workflows')
    const rows = listed.workflows.map(({ name, topology, form, source, variables }) => [
      name,
      topology,
      form,
      source,
      Object.keys(variables).join(' '),
    ])
    print(options.json ? JSON.stringify(listed) : table(['NAME', 'TOPOLOGY', 'FORM', 'FROM', 'VARIABLES'], rows))
    tellFaults(listed.faults)
    return 0
  },
})

const workflowsShow = command({
  name: 'workflows show',
  summary: 'Print the document of a workflow',
  operands: ['NAME'],
  options: serviceOptions,
  async run({ options, operands: [name = ''] }) {
    const shown = await ask<{ document: object }>(serviceOf(options), 'GET', pathOf(name))
    print(options.json ? JSON.stringify(shown) : JSON.stringify(shown.document, null, 2))
    return 0
  },
})

const workflowsPut = command({
  name: 'workflows put',
  summary: 'Check a workflow in its JSON form, and keep it in the service',
  operands: ['FILE'],
  options: serviceOptions,
  example: 'benchd workflows put ./seal.json',
  async run({ options, operands: [file = ''] }) {
    const document = parseJsonWithComments(await readText(file), file)
    const { name } = Object(document) as { name?: unknown }
    if (typeof name !== 'string') throw new CliError('usage', `${file} is no workflow: it has no name`)
    const kept = await ask<Workflow>(serviceOf(options), 'PUT', pathOf(name), document as object)
    print(options.json ? JSON.stringify(kept) : `workflow ${kept.name} on topology ${kept.topology} is kept`)
    return 0
  },
})

const workflowsDelete = command({
  name: 'workflows delete',
  summary: 'Delete a workflow that came over the API',
  operands: ['NAME'],
  options: serviceOptions,
  async run({ options, operands: [name = ''] }) {
    const answer = await ask<{ message: string }>(serviceOf(options), 'DELETE', pathOf(name))
    print(options.json ? JSON.stringify(answer) : answer.message)
    return 0
  },
})

export const commands = [workflowsList, workflowsShow, workflowsPut, workflowsDelete]

/** Beside what is printed, for whoever looks. */
export function tellFaults(faults: readonly Fault[]): void {
  for (const { origin, reason } of faults) process.stderr.write(`benchd: ${origin} is left out: ${reason}\n`)
}

function pathOf(name: string): string {
  return `/api/workflows/${encodeURIComponent(name)}`
}
