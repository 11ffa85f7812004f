// Checks the methods in which several threads take part: each has an owner, and threads that bring all its labware.

import { didYouMean } from '../../kit/did_you_mean.ts'
import { wrong } from './mistakes.ts'
import type { Draft } from './outline.ts'
import { allSteps, listsIn, type MethodPlan, own, type StepPlan, type ThreadPlan } from './plan.ts'

/** Throws `invalid`, naming the place. */
export function checkSharing(draft: Draft): void {
  for (const thread of draft.threads.values()) {
    for (const step of allSteps(thread.steps)) checkStep(step, thread, draft)
  }
  for (const method of draft.methods.values()) checkMethod(method, draft)
}

function checkStep(step: StepPlan, thread: ThreadPlan, draft: Draft): void {
  const at = `${draft.where}: ${step.path}`
  if (step.kind === 'join') {
    step.methods.forEach((name, i) => {
      checkJoin(draft.methods.get(name)!, thread, `${at}.join[${i}]`)
    })
  }
  if (step.kind === 'action') {
    const foreign = step.action.labware.find((name) => name !== thread.labware)
    if (foreign)
      throw wrong(`${at}.action.labware`, `${foreign} cannot be brought to an action that is a step; make it a method, which others join`)
  }
  if (step.kind === 'while_more_work' && !alwaysJoins(step.body.steps)) {
    throw wrong(`${at}.while_more_work`, 'it can be gone through without a join, and would then go round for ever; put a join on every way')
  }
}

/** Whether every path through the steps has a join. */
function alwaysJoins(steps: readonly StepPlan[]): boolean {
  return steps.some((step) => {
    if (step.kind === 'branch' || step.kind === 'if' || step.kind === 'repeat')
      return listsIn(step).every(({ steps }) => alwaysJoins(steps))
    return step.kind === 'join'
  })
}

function checkJoin(method: MethodPlan, { name, labware }: ThreadPlan, at: string): void {
  if (method.owners.length === 0) throw wrong(at, `no thread does ${method.name}; give one the step {"method": "${method.name}"}`)
  if (method.owners.includes(name)) throw wrong(at, `thread ${name} does ${method.name} itself, and cannot join it as well`)
  if (!method.labware.has(labware))
    throw wrong(at, `no action of ${method.name} lists ${labware} as its labware${didYouMean(labware, [...method.labware])}`)
}

function checkMethod(method: MethodPlan, draft: Draft): void {
  const carried = method.owners.map((owner) => draft.threads.get(owner)!.labware)
  for (const action of method.actions) {
    const at = `${draft.where}: ${action.path}.labware`
    if (action.labware.length === 0 || action.labware.includes(own)) continue
    const left = carried.find((labware) => !action.labware.includes(labware))
    if (left) throw wrong(at, `${left} is missing, the labware of the thread that does ${method.name}; put it in, or leave labware out`)
    for (const labware of action.labware) if (!carried.includes(labware) && carried.length) checkBrought(labware, method, draft, at)
  }
}

function checkBrought(labware: string, { name }: MethodPlan, { threads }: Draft, at: string): void {
  const carrier = [...threads.values()].find((thread) => thread.labware === labware)
  if (!carrier) throw wrong(at, `no thread carries ${labware}`)
  const joins = [...allSteps(carrier.steps)].some((step) => step.kind === 'join' && step.methods.includes(name))
  if (!joins) throw wrong(at, `thread ${carrier.name} carries ${labware}, and never joins ${name}; give it the step {"join": ["${name}"]}`)
}
