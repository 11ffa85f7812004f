// Checks a submission before anything of it happens.

import { LabError } from '../../errors.ts'
import type { Bench } from '../plans/bench.ts'
import { checkVariables } from '../plans/check_variables.ts'
import type { Position } from '../plans/graph.ts'
import type { Workflow } from '../plans/plan.ts'
import { refusalFor } from '../plans/refusal.ts'
import { mustBeKnown, mustHave } from '../plans/wrong.ts'
import type { RunEnvironment } from '../threads/run_environment.ts'
import type { Execution } from './execution.ts'
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
  barcodesMustDiffer(workflow, groups)
}

/** Where the first threads of a run begin nothing may stand that nobody moves. Throws `conflict`. */
export function startsMustBeFree(workflow: Workflow, { groups }: SubmissionRequest, environment: RunEnvironment): void {
  for (const name of workflow.document.start) {
    const plan = workflow.threads.get(name)!
    for (const { members } of groups.length > 0 ? groups : [{ members: {} as Group['members'] }])
      mustBeFree(environment, positionOf(plan, members[name]), workflow, plan, barcodeOf(members[name]))
  }
}

/**
 * Labware with a barcode exists once: `open` are the runs of the same bench that have not ended, and `joined` is the one of them that takes the
 * groups. Throws `conflict` for labware that one of them moves, or that is still to come into it.
 */
export function barcodesMustBeFree(
  workflow: Workflow,
  { groups }: SubmissionRequest,
  open: readonly Execution[],
  joined?: Execution,
): void {
  const asked = barcodesOf(groups)
  if (asked.length === 0) return
  for (const execution of open) {
    const holders = holdersIn(execution)
    for (const { group_id, name, barcode } of asked) {
      const holder = holders.get(barcode)
      if (holder === undefined || (execution === joined && isShared(workflow, name))) continue
      const whose = `${holder} of run ${execution.execution_id.slice(0, 8)} (${execution.workflow.name})`
      const sentence = `groups: ${group_id}.members.${name}: the labware with the barcode ${barcode} is taken by ${whose}`
      throw new LabError('conflict', `${sentence}; wait until that has ended, or name another barcode`)
    }
  }
}

/** For each barcode of a run, the thread that has labware with it, or else the one that is to get it. */
function holdersIn(execution: Execution): Map<string, string> {
  const holders = new Map<string, string>()
  for (const { submission_id, request } of execution.submissions) {
    for (const { group_id, name, barcode } of barcodesOf(request.groups)) {
      const plan = execution.workflow.threads.get(name)!
      if (!execution.hasHad(plan, { submission_id, group_id })) holders.set(barcode, `thread ${name} of group ${group_id}`)
    }
  }
  for (const { name, labware } of execution.live()) if (labware.barcode !== null) holders.set(labware.barcode, `thread ${name}`)
  return holders
}

function barcodesOf(groups: readonly Group[]) {
  return groups.flatMap(({ group_id, members }) =>
    Object.entries(members).flatMap(([name, acquisition]) => {
      const barcode = barcodeOf(acquisition)
      return barcode === null ? [] : [{ group_id, name, barcode }]
    }),
  )
}

/** Whether one labware serves several groups, each of which may name it. */
function isShared({ document, threads }: Workflow, thread: string): boolean {
  return document.labware[threads.get(thread)!.labware]!.group_sharing === 'SHARED_ACROSS_GROUPS'
}

function barcodesMustDiffer(workflow: Workflow, groups: readonly Group[]): void {
  const seen = new Map<string, string>()
  for (const { group_id, name, barcode } of barcodesOf(groups)) {
    const [where, before] = [`${group_id}.members.${name}`, seen.get(barcode)]
    seen.set(barcode, where)
    if (before === undefined || (isShared(workflow, name) && before.endsWith(`.members.${name}`))) continue
    throw new LabError('invalid', `groups: ${where} has the barcode ${barcode}, as ${before} has; labware with a barcode exists once`)
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
