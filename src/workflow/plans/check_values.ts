// Checks the saved values of a workflow: each is declared, saved by an action, and compared with values of its own kind.

import { type Condition, operandsIn, valuesIn } from './conditions.ts'
import { member, mustBeKnown, mustHave, wrong } from './mistakes.ts'
import type { Draft } from './outline.ts'
import { actionsOf, allSteps, type StepPlan } from './plan.ts'

/** Throws `invalid`, naming the place. */
export function checkValues(draft: Draft): void {
  const declared = draft.document.values ?? {}
  const saved = new Set<string>()
  for (const { action, path } of actionsOf(draft)) {
    for (const name of Object.keys(('save' in action && action.save) || {})) {
      mustBeKnown('value', name, Object.keys(declared), `${draft.where}: ${member(`${path}.save`, name)}`)
      saved.add(name)
    }
  }
  for (const { steps } of draft.threads.values()) for (const step of allSteps(steps)) checkStep(step, saved, draft)
}

function checkStep(step: StepPlan, saved: ReadonlySet<string>, draft: Draft): void {
  const at = `${draft.where}: ${step.path}`
  if (step.kind === 'if') checkCondition(step.condition, saved, { draft, at: `${at}.if` })
  if (step.kind === 'repeat' && step.until) checkCondition(step.until, saved, { draft, at: `${at}.repeat.until` })
  if (step.kind !== 'until_temperature') return
  const { devices } = draft.topology
  mustBeKnown('device', step.device, devices.keys(), `${at}.until_temperature.device`)
  const { operations } = devices.get(step.device)!
  mustHave(step.device, 'operation', { word: 'get_temperature', known: operations.keys() }, `${at}.until_temperature.device`)
}

function checkCondition(condition: Condition, saved: ReadonlySet<string>, { draft, at }: { draft: Draft; at: string }): void {
  const declared = draft.document.values ?? {}
  for (const name of valuesIn(condition)) {
    mustBeKnown('value', name, Object.keys(declared), at)
    if (!saved.has(name)) throw wrong(at, `no action saves ${name}; give one "save": {"${name}": …}`)
  }
  for (const [name, operand] of operandsIn(condition)) {
    const { example } = declared[name]!
    if (typeof operand !== typeof example)
      throw wrong(
        at,
        `${name} is ${JSON.stringify(example)} in its example, and is compared with ${JSON.stringify(operand)}, which is of another kind`,
      )
  }
}
