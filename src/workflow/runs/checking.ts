// Checks a submission before anything of it happens.

import { LabError } from '../../errors.ts'
import type { Bench } from '../plans/bench.ts'
import { checkVariables } from '../plans/check_variables.ts'
import type { Position } from '../plans/graph.ts'
import type { Workflow } from '../plans/plan.ts'
import { refusalFor } from '../plans/refusal.ts'
import { mustBeKnown, mustHave } from '../plans/wrong.ts'
import type { RunEnvironment } from '../threads/run_environment.ts'
import type { Submission } from './submission.ts'
import type { Acquisition, Group, SubmissionRequest } from './submission_request.ts'
import { barcodeOf, mustBeFree, positionOf } from './thread_factory.ts'

/** `others`: the submissions of the run that it is put into; what it does not say of variables, they may. Throws `invalid`. */
export function checkSubmission(
  workflow: Workflow,
  { run_mode, groups, variables }: SubmissionRequest,
  { bench, others = [] }: { bench: Bench; others?: readonly Submission[] | undefined },
): void {
  const refusal = refusalFor(workflow, run_mode, bench)
  if (refusal) throw new LabError('invalid', refusal)
  const inherited = Object.assign({}, ...others.map(({ request }) => request.variables).reverse())
  checkVariables(workflow, { ...inherited, ...variables })
  const ids = groups.map(({ group_id }) => group_id)
  const twice = ids.find((id, i) => ids.indexOf(id) !== i)
  if (twice) throw new LabError('invalid', `groups: group ${twice} is there twice`)
  for (const group of groups) checkMembers(workflow, group)
}

/** Where the first threads of a run begin nothing may stand that nobody moves. Throws `conflict`. */
export function startsMustBeFree(workflow: Workflow, { groups }: SubmissionRequest, environment: RunEnvironment): void {
  for (const name of workflow.document.start) {
    const plan = workflow.threads.get(name)!
    for (const { members } of groups.length > 0 ? groups : [{ members: {} as Group['members'] }])
      mustBeFree(environment, positionOf(plan, members[name]), workflow, plan, barcodeOf(members[name]))
  }
}

function checkMembers({ name: workflow, threads, topology }: Workflow, { group_id, members }: Group): void {
  for (const [name, acquisition] of Object.entries(members)) {
    const where = `groups: ${group_id}.members.${name}`
    mustHave(`workflow ${workflow}`, 'thread', { word: name, known: threads.keys() }, where)
    checkPlace(acquisition, [...topology.graph.positions.values()], where)
  }
}

function checkPlace(acquisition: Acquisition, positions: readonly Position[], where: string): void {
  const named = (some: readonly Position[]) => some.map(({ name }) => name)
  if ('pool' in acquisition) mustBeKnown('storage', acquisition.pool, named(positions.filter(({ storage }) => storage)), where)
  else if ('location' in acquisition) mustBeKnown('place', acquisition.location, named(positions), where)
}
