// Checks the values that a submission gives: the workflow knows them, none is missing, and each device takes the parameters that come of them.

import { LabError } from '../../errors.ts'
import { didYouMean } from '../../kit/did_you_mean.ts'
import { checkValues } from './check_actions.ts'
import { filledIn } from './params.ts'
import { actionsOf, type Workflow } from './plan.ts'

/** Throws `invalid`. What the code of bodies reads is not looked at. */
export function checkVariables(workflow: Workflow, given: Readonly<Record<string, unknown>>): void {
  const { variables } = workflow.document
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(variables, name)) throw unfit(workflow, `has no variable ${name}${didYouMean(name, Object.keys(variables))}`)
  }
  const valueGiven = (name: string) => {
    const value = Object.hasOwn(given, name) ? given[name] : variables[name]?.default
    if (value === undefined) throw unfit(workflow, `wants a value for ${name}, which has no default`)
    return value
  }
  for (const action of actionsOf(workflow)) {
    if (action.kind !== 'do') continue
    const values = filledIn(action.action.with, valueGiven)
    checkValues(
      action,
      { values, devices: workflow.topology.devices, variables },
      `variables: workflow ${workflow.name}: ${action.path}.with`,
    )
  }
}

function unfit({ name }: Workflow, why: string): LabError {
  return new LabError('invalid', `variables: workflow ${name} ${why}`)
}
