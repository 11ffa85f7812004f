// The row of a submission in the record of its run: who submitted what, on which bench.

import { type Author, nobody } from '../../kit/author.ts'
import { packageVersion } from '../../kit/package_version.ts'
import type { Execution } from './execution.ts'
import type { Submission } from './submission.ts'

/** Adds the row of a new submission, with the documents as they are now if it is the first one of the run. */
export function addSubmissionRow(
  execution: Execution,
  { submission_id, request, submitted_at }: Submission,
  author: Author = nobody,
): void {
  const { workflow, record, submissions } = execution
  const { name, hash, document, topology } = workflow
  const { on: _, ...workflow_document } = document
  const names = Object.keys(document.variables)
  const origin = { submission_id, group_id: null }
  const variables = Object.fromEntries(names.map((variable) => [variable, execution.variable(variable, origin) ?? null]))
  const { operator_id, groups, run_mode, project = null, tags = [], notes = null, plan, objective, priority } = request
  record.add({
    ...{ kind: 'submission', at: submitted_at, submission_id, ...author, operator_id, project, tags, notes },
    ...{ zone: Intl.DateTimeFormat().resolvedOptions().timeZone, benchd: packageVersion() },
    ...{ run_mode, groups, variables, workflow: name, workflow_hash: hash, topology: topology.name, ...record.versions },
    ...(plan && { plan }),
    ...(objective && { objective }),
    ...(priority !== undefined && { priority }),
    ...(submissions.length === 1 && { workflow_document, topology_document: topology.document }),
  })
}
