// A workflow as lanes: each thread with its steps in their order, as short words.

import type { WorkflowCondition, WorkflowDocument, WorkflowMethod, WorkflowStep } from '../clients/ts/benchd.ts'

/** `ways` are the steps of each way behind a condition, with the word of the way. */
export type LaneStep = { text: string; kind: 'work' | 'wait' | 'way'; ways?: readonly { word: string; steps: readonly LaneStep[] }[] }
export type WorkflowLane = { thread: string; from: string; to: string; isFirst: boolean; steps: readonly LaneStep[] }

/** Returns the lanes, those that begin with the run first. */
export function lanesIn({ threads, methods = {}, start }: WorkflowDocument): WorkflowLane[] {
  const lanes = Object.entries(threads).map(([thread, { start: begin, end, steps }]) => ({
    thread,
    from: begin.at,
    to: end.at[0] ?? '',
    isFirst: start.includes(thread),
    steps: steps.flatMap((step) => stepsOf(step, methods)),
  }))
  return lanes.sort((one, other) => Number(other.isFirst) - Number(one.isFirst))
}

type Methods = Record<string, WorkflowMethod>
type Action = Extract<WorkflowStep, { action: unknown }>['action']

function stepsOf(step: WorkflowStep, methods: Methods): LaneStep[] {
  const inner = (steps: readonly WorkflowStep[] = []) => steps.flatMap((one) => stepsOf(one, methods))
  if ('method' in step) return methodSteps(step.method, methods[step.method])
  if ('action' in step) return actionSteps(step.action)
  if ('join' in step) return [{ text: `joins ${step.join.join(', ')}`, kind: 'wait' }]
  if ('park' in step) return [{ text: `is put aside at ${step.park.join(' or ')}`, kind: 'work' }]
  if ('wait_for' in step) return [{ text: `waits for ${step.wait_for}`, kind: 'wait' }]
  if ('delay' in step) return [{ text: `waits ${step.delay} s`, kind: 'wait' }]
  if ('until_temperature' in step) return [{ text: `waits until ${step.until_temperature.device} is at temperature`, kind: 'wait' }]
  if ('while_more_work' in step)
    return [{ text: 'while there is work', kind: 'way', ways: [{ word: '', steps: inner(step.while_more_work) }] }]
  if ('repeat' in step) {
    const times = 'times' in step.repeat ? `${step.repeat.times} times` : `at most ${step.repeat.at_most} times`
    return [{ text: times, kind: 'way', ways: [{ word: '', steps: inner(step.steps) }] }]
  }
  const otherwise = inner(step.else)
  const others = otherwise.length ? [{ word: 'else', steps: otherwise }] : []
  if ('if' in step) {
    const text = `${step.name ? `${step.name}: ` : ''}if ${conditionText(step.if)}`
    return [{ text, kind: 'way', ways: [{ word: 'then', steps: inner(step.then) }, ...others] }]
  }
  const ways = [...Object.entries(step.cases).map(([word, steps]) => ({ word, steps: inner(steps) })), ...others]
  const text = ways.length === 1 ? `if ${step.branch} is ${ways[0]!.word}` : `by the value of ${step.branch}`
  return [{ text, kind: 'way', ways }]
}

/** Words a condition: `od above 0.5 and purity one of a, b`. */
function conditionText(condition: WorkflowCondition): string {
  if ('all' in condition) return condition.all.map(conditionText).join(' and ')
  if ('any' in condition) return condition.any.map(conditionText).join(' or ')
  const { value, ...limits } = condition
  const words = Object.entries(limits).map(
    ([name, limit]) => `${name.replaceAll('_', ' ')} ${Array.isArray(limit) ? limit.join(', ') : limit}`,
  )
  return [value, words.join(' and ')].join(' ')
}

function methodSteps(name: string, method: WorkflowMethod | undefined): LaneStep[] {
  const actions = Array.isArray(method) ? method : (method?.actions ?? [])
  const steps = actions.flatMap(actionSteps)
  return steps.length ? steps : [{ text: name, kind: 'work' }]
}

/** An event that a step emits is nothing that somebody sees. */
function actionSteps(action: Action): LaneStep[] {
  if ('do' in action) return [{ text: `${action.do.replaceAll('_', ' ')} on ${action.on}`, kind: 'work' }]
  if ('instruct' in action) return [{ text: `a person: ${action.instruct}`, kind: 'work' }]
  if ('remove_lid' in action) return [{ text: `takes ${action.remove_lid} off`, kind: 'work' }]
  if ('put_lid' in action) return [{ text: `puts ${action.put_lid} on`, kind: 'work' }]
  return 'wait_for' in action ? [{ text: `waits for ${action.wait_for}`, kind: 'wait' }] : []
}
