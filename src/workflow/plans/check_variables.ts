// Checks the variables of a submission: the workflow knows them, none is missing, they fit their declarations, and the devices accept the parameters.

import { LabError } from '../../errors.ts'
import { didYouMean } from '../../kit/did_you_mean.ts'
import { checkValues } from './check_actions.ts'
import { misfitOf } from './declared_variables.ts'
import { filledIn, variablesIn } from './params.ts'
import { type ActionPlan, actionsOf, type Workflow } from './plan.ts'

type Given = Readonly<Record<string, unknown>>
/** A group with its own variables, which go before those of the submission. */
type GroupOfValues = { readonly group_id: string; readonly variables?: Given | undefined }
export type DoPlan = ActionPlan & { kind: 'do' }

/**
 * Throws `invalid`. Variables that only code reads are checked against their declarations alone. A value that each group gives may be missing for the
 * submission, unless a thread that serves all groups uses it.
 */
export function checkVariables(workflow: Workflow, given: Given, groups: readonly GroupOfValues[] = []): void {
  const { variables } = workflow.document
  mustFit(workflow, given, `variables: workflow ${workflow.name}`)
  for (const { group_id, variables: own = {} } of groups) mustFit(workflow, own, `groups: ${group_id}.variables: workflow ${workflow.name}`)
  const isOfEachGroup = (name: string) => groups.length > 0 && groups.every(({ variables: own }) => own && Object.hasOwn(own, name))
  const ofAllGroups = actionsForAllGroups(workflow)
  for (const action of doActions(workflow)) {
    const valueFor = (name: string, own: Given = {}) => {
      const value = Object.hasOwn(own, name) ? own[name] : Object.hasOwn(given, name) ? given[name] : variables[name]?.default
      if (value !== undefined || (isOfEachGroup(name) && !ofAllGroups.has(action))) return value
      const lacking = groups.find(({ variables: own }) => !own || !Object.hasOwn(own, name))
      throw unfit(workflow, `wants a value for ${name}, which has no default${lacking ? `, for the group ${lacking.group_id}` : ''}`)
    }
    const at = `workflow ${workflow.name}: ${action.path}.with`
    checkParams(workflow, action, (name) => valueFor(name), `variables: ${at}`)
    const used = [...new Set(variablesIn(action.action.with).map(({ variable }) => variable))]
    for (const { group_id, variables: own } of groups)
      if (own && used.some((name) => Object.hasOwn(own, name)))
        checkParams(workflow, action, (name) => valueFor(name, own), `groups: ${group_id}.variables: ${at}`)
  }
}

/** Throws `invalid` where the devices of an action do not accept its parameters; an undefined value is not known yet. */
export function checkParams({ topology, document }: Workflow, action: DoPlan, variable: (name: string) => unknown, at: string): void {
  const values = filledIn(action.action.with, variable)
  checkValues(action, { values, devices: topology.devices, variables: document.variables }, at)
}

export function doActions(workflow: Workflow): DoPlan[] {
  return [...actionsOf(workflow)].filter((action): action is DoPlan => action.kind === 'do')
}

/** Returns the actions of the run itself and of threads that serve all groups, which use the variables of the submission. */
export function actionsForAllGroups({ document, threads, methods, operations }: Workflow): ReadonlySet<ActionPlan> {
  const shared = [...threads.values()].filter(
    ({ name, labware }) => !document.start.includes(name) && document.labware[labware]?.group_sharing === 'SHARED_ACROSS_GROUPS',
  )
  const names = new Set(shared.map(({ name }) => name))
  const owned = [...methods.values()].filter(({ owners }) => owners.some((owner) => names.has(owner))).flatMap(({ actions }) => actions)
  return new Set([
    ...owned,
    ...actionsOf({ methods: new Map(), threads: new Map(shared.map((thread) => [thread.name, thread])), operations }),
  ])
}

function mustFit({ document: { variables } }: Workflow, given: Given, at: string): void {
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(variables, name))
      throw new LabError('invalid', `${at} has no variable ${name}${didYouMean(name, Object.keys(variables))}`)
    const misfit = misfitOfGiven(value, variables[name]!)
    if (misfit) throw new LabError('invalid', `${at}: ${name} ${misfit}`)
  }
}

/** Judges a value as `misfitOf` does, and null by whether the variable is nullable. Null without a declaration is judged by the parameters. */
export function misfitOfGiven(value: unknown, variable: Parameters<typeof misfitOf>[1]): string | undefined {
  if (value !== null) return misfitOf(value, variable)
  const { type, minimum, maximum, one_of, nullable } = variable
  const isDeclared = type !== undefined || minimum !== undefined || maximum !== undefined || one_of !== undefined
  return isDeclared && !nullable ? 'is null; give it a value, or declare it with "nullable": true' : undefined
}

function unfit({ name }: Workflow, why: string): LabError {
  return new LabError('invalid', `variables: workflow ${name} ${why}`)
}
