// Checks a submission before it has any effect.

import { LabError } from '../../errors.ts'
import type { Bench } from '../plans/bench.ts'
import { checkVariables } from '../plans/check_variables.ts'
import type { Position } from '../plans/graph.ts'
import { mustBeKnown, mustHave } from '../plans/mistakes.ts'
import type { Workflow } from '../plans/plan.ts'
import { refusalFor } from '../plans/refusal.ts'
import type { Acquisition, Group, SubmissionRequest } from '../state/submission_request.ts'
import type { RunEnvironment } from '../threads/run_environment.ts'
import { barcodesOf, holdersIn } from './barcodes.ts'
import { type Execution, mostThreads } from './execution.ts'
import type { Submission } from './submission.ts'
import { startMustBeFree, stockFor } from './thread_factory.ts'

/** Checks a request. `others` are the earlier submissions of the run that it joins, which may give the missing variables. Throws `invalid`. */
export function checkSubmission(
  workflow: Workflow,
  { run_mode, groups, variables }: SubmissionRequest,
  { bench, others = [] }: { bench: Bench; others?: readonly Submission[] | undefined },
): void {
  const refusal = refusalFor(workflow, run_mode, bench)
  if (refusal) throw new LabError('invalid', refusal)
  const inherited = Object.assign({}, ...others.map(({ request }) => request.variables).reverse())
  checkVariables(workflow, { ...inherited, ...variables }, groups)
  const ids = groups.map(({ group_id }) => group_id)
  const twice = ids.length === new Set(ids).size ? undefined : ids.find((id, i) => ids.indexOf(id) !== i)
  if (twice) throw new LabError('invalid', `groups: group ${twice} is there twice`)
  for (const group of groups) checkMembers(workflow, group)
  barcodesMustDiffer(workflow, groups)
}

/** The most submissions to one open run. */
const mostSubmissions = 1000

/** Finds the open run that the groups join; undefined if there is none or the request is STANDALONE. Throws `conflict` if the run cannot take them. */
export function openRunFor(
  workflow: Workflow,
  { batch_mode, run_mode, groups }: SubmissionRequest,
  allOpen: readonly Execution[],
): Execution | undefined {
  if (batch_mode !== 'JOIN_EXISTING' || groups.length === 0) return undefined
  // A run whose threads have ended does its last operations: the groups get a run of their own.
  const its = allOpen.filter((execution) => execution.workflow.name === workflow.name && !execution.operations.isFinishing)
  const open = its.find(({ phase }) => phase.current === 'accepting') ?? its[0]
  if (!open) return undefined
  const { environment, phase, backlogs, submissions, threads } = open
  const run = `execution ${open.execution_id} of ${workflow.name}`
  const isFull = submissions.length >= mostSubmissions || threads.size >= mostThreads
  const reasons: [isSo: boolean, sentence: string][] = [
    [environment.mode !== run_mode, `${run} runs in ${environment.mode}; submit in that mode, or STANDALONE`],
    [phase.current !== 'accepting', `${run} takes no more: it is ${phase.current}`],
    [backlogs.orphaned().length > 0, `${run} waits for labware that no thread brings any more; resume it first`],
    [isFull, `${run} has had ${threads.size} threads; close it, or submit STANDALONE`],
    [open.paused !== null, `${run} is paused; resume it first`],
    [
      open.workflow.hash !== workflow.hash,
      `workflow ${workflow.name} was changed since execution ${open.execution_id} began; submit STANDALONE`,
    ],
  ]
  const reason = reasons.find(([isSo]) => isSo)
  if (reason) throw new LabError('conflict', reason[1])
  return open
}

/** Throws `conflict` if labware that no thread moves stands where the first threads of the run begin. */
export function startsMustBeFree(workflow: Workflow, { groups }: SubmissionRequest, environment: RunEnvironment): void {
  const counts = new Map<string, number>()
  for (const name of workflow.document.start) {
    const plan = workflow.threads.get(name)!
    const kind = `${plan.start.position} ${workflow.document.labware[plan.labware]?.type}`
    const stock = stockFor(plan, environment, workflow)
    for (const { members } of groups.length > 0 ? groups : [{ members: {} as Group['members'] }]) {
      const count = (counts.get(kind) ?? 0) + 1
      counts.set(kind, count)
      startMustBeFree(environment, workflow, plan, { acquired: members[name], count, stock })
    }
  }
}

/**
 * Throws `conflict` if an open run moves, or will move, labware with a barcode of the request: labware with a barcode exists once. `open` lists the
 * open runs of the same bench; `joined` is the one that takes the groups.
 */
export function barcodesMustBeFree(
  workflow: Workflow,
  { groups }: SubmissionRequest,
  open: readonly Execution[],
  joined?: Execution,
): void {
  const asked = new Map(Array.from(barcodesOf(groups), (one) => [one.barcode, one]))
  if (asked.size === 0) return
  for (const execution of open) {
    for (const { barcode, holder } of holdersIn(execution, (barcode) => asked.has(barcode))) {
      const { group_id, name } = asked.get(barcode)!
      if (execution === joined && isShared(workflow, name)) continue
      const sentence = `groups: ${group_id}.members.${name}: the labware with the barcode ${barcode} is taken by ${holder}`
      throw new LabError('conflict', `${sentence}; wait until that has ended, or name another barcode`)
    }
  }
}

/** Whether several groups share the thread's labware, so that each group may name it. */
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
