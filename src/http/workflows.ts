// The routes of workflows: those of the topologies folder, uploaded ones, and the examples.

import * as v from 'valibot'
import type { Runs } from '../bench/runs.ts'
import { OperationResult } from '../devices/records.ts'
import { described } from '../kit/described.ts'
import { Id } from '../kit/name.ts'
import { typesOfVariables } from '../workflow/plans/declared_variables.ts'
import { eventWarnings } from '../workflow/plans/event_warnings.ts'
import type { Workflow } from '../workflow/plans/plan.ts'
import { Variable } from '../workflow/plans/variable_schema.ts'
import { shownDocument } from '../workflow/snapshot.ts'
import { workflowSources } from '../workflow/version.ts'
import { authorOf } from './author.ts'
import { json, type Route, routesOf } from './contract.ts'
import { Faults } from './topology.ts'

type Rooms = { runs: Runs }

const route = routesOf<Rooms>('workflows')

const path = '/api/workflows/:workflow_name'
const longest = 1024 * 1024

const Summary = {
  name: v.string(),
  topology: v.string(),
  form: v.picklist(['json', 'typescript']),
  source: described(v.picklist(workflowSources), 'Only those of `api` can be changed here'),
  hash: described(v.string(), 'SHA-256 of the document'),
  version: described(v.nullable(v.number()), 'Its newest version; null for an example of which no run began'),
  has_code: v.boolean(),
  warnings: described(
    v.array(v.string()),
    'The places where an event may be mistyped: the workflow waits for it, and emits only one of nearly the same name. It runs all the same',
  ),
  variables: v.record(
    v.string(),
    v.strictObject({
      ...Variable.entries,
      type: described(
        Variable.entries.type,
        'As it is declared, else that of the parameters that take its value; absent where that is not known',
      ),
    }),
  ),
}
export const WorkflowSummary = v.strictObject(Summary)

const Document = described(
  v.record(v.string(), v.unknown()),
  'With its defaults, as PUT takes it; where there is code, it says "(code)", and PUT does not',
)
const WorkflowInfo = v.strictObject({ ...Summary, document: Document })

const WorkflowBody = described(
  v.looseObject({ format: v.literal(1), name: Id, topology: Id }),
  'A workflow in its JSON form: /schemas/workflow.schema.json is its schema, for editors too',
)

/** The words of an author about a version. */
export const VersionNote = described(
  v.pipe(v.string(), v.trim(), v.minLength(1), v.maxLength(500)),
  'Words about this version, for those who read the history',
)

export const workflowRoutes: Route<Rooms>[] = [
  route('GET', '/api/workflows', {
    operation_id: 'listWorkflows',
    summary: 'List workflows',
    scope: 'read',
    success: {
      description: 'The workflows, and the files that could not be used',
      schema: v.strictObject({ workflows: v.array(WorkflowSummary), faults: Faults }),
    },
    handle({ rooms }) {
      const { workflows, faults } = rooms.runs.runtime.library
      return json({ workflows: [...workflows.values()].map((workflow) => summaryOf(rooms, workflow)), faults })
    },
  }),
  route('GET', path, {
    operation_id: 'getWorkflow',
    summary: 'Get one workflow',
    scope: 'read',
    success: { description: 'The workflow with its document', schema: WorkflowInfo },
    errors: [404],
    handle({ rooms, param }) {
      const workflow = rooms.runs.runtime.workflow(param('workflow_name'))
      return json({ ...summaryOf(rooms, workflow), document: shownDocument(workflow) })
    },
  }),
  route('PUT', path, {
    operation_id: 'putWorkflow',
    summary: 'Create or replace a workflow in its JSON form',
    description:
      'The workflow is checked first: each mistake is answered with its place. The workflow is on the card when this answers. A content that differs is a new version. Open runs go on as they began.',
    scope: 'admin',
    query: v.object({ note: v.optional(VersionNote) }),
    body: WorkflowBody,
    body_limit: longest,
    success: {
      description: 'Replaced; 201 with a `Location` when it is new',
      schema: WorkflowSummary,
      headers: ['Location'],
      also: [201],
    },
    errors: [400, 409, 503],
    async handle({ rooms, param, query, body, c }) {
      const { note } = query()
      const author = { ...authorOf(c), ...(note !== undefined && { note }) }
      const { workflow, isNew } = await rooms.runs.catalog.put(param('workflow_name'), body(), author)
      const headers: Record<string, string> = isNew ? { Location: `/api/workflows/${workflow.name}` } : {}
      return json(summaryOf(rooms, workflow), isNew ? 201 : 200, headers)
    },
  }),
  route('DELETE', path, {
    operation_id: 'deleteWorkflow',
    summary: 'Delete a workflow that came over the API',
    scope: 'admin',
    success: { description: 'Gone', schema: OperationResult },
    errors: [404, 409, 503],
    async handle({ rooms, param, c }) {
      const name = param('workflow_name')
      await rooms.runs.catalog.delete(name, authorOf(c))
      return json({ success: true, message: `workflow ${name} is deleted` })
    },
  }),
]

export function summaryOf({ runs }: Rooms, workflow: Workflow): v.InferOutput<typeof WorkflowSummary> {
  const { name, topology, form, hash, hasCode } = workflow
  const types = typesOfVariables(workflow)
  const variables = Object.fromEntries(
    Object.entries(workflow.document.variables).map(([name, its]) => {
      const type = types.get(name)
      return [name, { ...its, ...(type && { type }) }]
    }),
  )
  return {
    name,
    topology: topology.name,
    form,
    source: runs.catalog.sourceOf(name),
    hash,
    version: runs.catalog.versions.find('workflow', name, hash) ?? null,
    has_code: hasCode,
    warnings: eventWarnings(workflow),
    variables,
  }
}
