// The values of variables in a run: of a group, of its submission, of another submission of the run, or by default.

import { LabError } from '../../errors.ts'
import type { Workflow } from '../plans/plan.ts'
import type { Group, SubmissionRequest } from '../state/submission_request.ts'
import type { ThreadOrigin } from '../threads/carrier.ts'

type Run = {
  readonly workflow: Workflow
  readonly submissions: readonly { readonly request: SubmissionRequest }[]
  readonly planning: { requestOf(submission_id: string): SubmissionRequest | undefined }
}

/** The groups of requests that have variables, by name. A request does not change. */
const groupsOf = new WeakMap<SubmissionRequest, ReadonlyMap<string, NonNullable<Group['variables']>>>()

/** Returns the value for the threads of an origin; undefined if there is none. Throws `invalid` for an unknown variable. */
export function valueOfVariable(run: Run, name: string, { submission_id, group_id }: ThreadOrigin): unknown {
  const own = run.planning.requestOf(submission_id)
  const ofGroup = own && group_id !== null ? variablesOfGroups(own).get(group_id) : undefined
  if (ofGroup && Object.hasOwn(ofGroup, name)) return ofGroup[name]
  if (own && name in own.variables) return own.variables[name]
  for (const { request } of run.submissions) if (name in request.variables) return request.variables[name]
  const { document, name: workflow } = run.workflow
  if (!Object.hasOwn(document.variables, name)) throw new LabError('invalid', `workflow ${workflow} has no variable ${name}`)
  return document.variables[name]!.default
}

function variablesOfGroups(request: SubmissionRequest): ReadonlyMap<string, NonNullable<Group['variables']>> {
  const known = groupsOf.get(request)
  if (known) return known
  const found = new Map(request.groups.flatMap(({ group_id, variables }) => (variables ? [[group_id, variables] as const] : [])))
  groupsOf.set(request, found)
  return found
}
