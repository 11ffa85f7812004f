// The workflow that a run ran: from the run itself while it is in memory, from the row of its first submission, or from the versions that are kept.

import * as v from 'valibot'
import { LabError } from '../../errors.ts'
import { rowsOfRecord } from '../../events/run_record_reader.ts'
import { described } from '../../kit/described.ts'
import { asText } from '../plans/compile.ts'
import type { Workflow } from '../plans/plan.ts'
import { type ExecutionRow, Versions } from './records.ts'

const Document = v.record(v.string(), v.unknown())

export const WorkflowOfRun = v.strictObject({
  execution_id: v.string(),
  name: v.string(),
  hash: described(v.string(), 'SHA-256 of the document; `workflow_hash` of the execution'),
  workflow_version: Versions.workflow_version,
  topology: v.string(),
  topology_version: Versions.topology_version,
  document: described(Document, 'The workflow; code as its source text'),
  text: described(v.nullable(v.string()), 'The text of its TypeScript file; null for JSON, and where it is not kept'),
  topology_document: described(v.nullable(Document), 'null where it is not kept'),
})
type WorkflowOfRun = v.InferOutput<typeof WorkflowOfRun>

type Kept = { document: Record<string, unknown>; text?: string | undefined }
type Found = { document: object; topology_document: object | null }

type SourcesOfRun = {
  /** The workflow of a run in memory. */
  workflow: Workflow | undefined
  record: { path: string; length?: number | undefined } | undefined
  /** Reads a version that is kept. Rejects with `not_found`. */
  version(of: 'workflow' | 'topology', name: string, version: number): Promise<Kept>
}

/** Rejects with `not_found` where none of them has it. */
export async function workflowOfRun(row: ExecutionRow, { workflow, record, version }: SourcesOfRun): Promise<WorkflowOfRun> {
  const { execution_id, workflow_name: name, workflow_hash: hash, workflow_version, topology, topology_version } = row
  const versionOf = (of: 'workflow' | 'topology', name: string, number: number | undefined) =>
    number === undefined ? undefined : version(of, name, number).catch(() => undefined)
  const kept = await versionOf('workflow', name, workflow_version)
  const found = workflow ? ofWorkflow(workflow) : record && (await inRecord(record))
  // A record has no code; the version has its text.
  const document = kept?.text !== undefined ? kept.document : (found?.document ?? kept?.document)
  if (!document)
    throw new LabError(
      'not_found',
      `the workflow that execution ${execution_id} ran is not kept: it has no record, and no version of it is there`,
    )
  const topology_document = found?.topology_document ?? (await versionOf('topology', topology, topology_version))?.document ?? null
  const about = {
    execution_id,
    name,
    hash,
    topology,
    ...(workflow_version && { workflow_version }),
    ...(topology_version && { topology_version }),
  }
  return { ...about, document, text: kept?.text ?? null, topology_document } as WorkflowOfRun
}

function ofWorkflow({ document: { on, ...document }, topology }: Workflow): Found {
  const shown = Object.keys(on).length > 0 ? { ...document, on } : document
  return { document: JSON.parse(JSON.stringify(shown, asText)), topology_document: topology.document }
}

async function inRecord({ path, length }: { path: string; length?: number | undefined }): Promise<Found | undefined> {
  for await (const { rows } of rowsOfRecord(path, { length, kinds: ['submission'] })) {
    for (const text of rows) {
      const { workflow_document, topology_document = null } = JSON.parse(text) as Record<string, object | undefined>
      if (workflow_document) return { document: workflow_document, topology_document }
    }
  }
  return undefined
}
