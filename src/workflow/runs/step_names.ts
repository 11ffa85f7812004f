// The upcoming steps of a run's threads, by the names that an operator uses: `plate/seal_it` is a step, `plate/seal_it/seal` an action of its method.
// Shorter names are accepted if they are not ambiguous.

import { LabError } from '../../errors.ts'
import { didYouMeanAmong } from '../../kit/did_you_mean.ts'
import { type ActionPlan, allSteps, itemKey, listsIn, type StepPlan } from '../plans/plan.ts'
import type { ActionRun } from '../threads/action/action.ts'
import type { LabwareThread } from '../threads/thread.ts'

/** `taken`: the thread is waiting in the step or action, and its body has not begun. */
type ItemProgress = 'ahead' | 'taken' | 'begun'
type Item = { name: string; step: StepPlan; action: ActionPlan | null }
export type NamedItem = Item & { thread: LabwareThread; standing: ItemProgress }

/** Lists the steps and actions that a thread is in, and those that may still come. */
export function ahead(thread: LabwareThread): NamedItem[] {
  const found: NamedItem[] = []
  thread.frames.forEach(({ steps, next, isLoop }, depth) => {
    steps.forEach((step, i) => {
      if (i > next || (i < next && isLoop))
        for (const item of itemsOf([step], thread.name)) found.push({ ...item, thread, standing: 'ahead' })
      if (i !== next) return
      if (depth === thread.frames.length - 1) found.push(...current(thread, step))
      else found.push({ name: `${thread.name}/${step.name}`, thread, step, action: null, standing: 'begun' })
    })
  })
  return found
}

/** Lists all steps and actions inside these steps. */
export function* itemsOf(steps: readonly StepPlan[], thread: string): Generator<Item> {
  for (const step of allSteps(steps)) {
    yield { name: `${thread}/${step.name}`, step, action: null }
    for (const action of step.kind === 'method' ? step.method.actions : [])
      yield { name: `${thread}/${step.name}/${action.name}`, step, action }
  }
}

function* current(thread: LabwareThread, step: StepPlan): Generator<NamedItem> {
  const { method, action, name } = thread
  const about = { thread, step, action: null, name: `${name}/${step.name}` }
  if (step.kind === 'method' && method) {
    yield { ...about, standing: method.status.current === 'CREATED' ? 'taken' : 'begun' }
    for (const [i, plan] of method.actions.entries()) {
      if (i < method.next) continue
      yield { ...about, name: `${about.name}/${plan.name}`, action: plan, standing: i === method.next ? standingOf(action) : 'ahead' }
    }
  } else if (step.kind === 'action') yield { ...about, standing: standingOf(action) }
  else if (thread.step !== step) for (const item of itemsOf([step], name)) yield { ...item, thread, standing: 'ahead' }
  else {
    yield { ...about, standing: thread.control.maySkip(itemKey(step)) ? 'taken' : 'begun' }
    for (const { steps } of listsIn(step)) for (const item of itemsOf(steps, name)) yield { ...item, thread, standing: 'ahead' }
  }
}

function standingOf(action: ActionRun | null): ItemProgress {
  if (!action) return 'ahead'
  return action.status.isTerminal || action.status.current === 'EXECUTING_ACTION' ? 'begun' : 'taken'
}

/** Whether the text is the full name or the end of it, from any `/` on. */
export function isCalled({ name }: Item, text: string): boolean {
  const words = name.split('/')
  return words.some((_, i) => text === words.slice(i).join('/'))
}

/** Finds the upcoming item with this name. Throws `not_found` for none; `conflict` for several, or if it has begun. */
export function itemAhead(threads: readonly LabwareThread[], text: string): NamedItem {
  const all = threads.flatMap(ahead)
  const called = all.filter((item) => isCalled(item, text))
  mustBeThere(
    called,
    text,
    all.filter(({ standing }) => standing !== 'begun'),
  )
  mustBeOne(called, text)
  const one = called[0]!
  if (one.standing === 'begun') throw new LabError('conflict', `${one.name} has begun, so it cannot be skipped${insteadOf(one)}`)
  return one
}

/** Throws `not_found` if there is none, with a suggestion and all full names. */
export function mustBeThere(called: readonly Item[], text: string, all: readonly Item[]): void {
  if (called.length > 0) return
  const names = [...new Set(all.map(({ name }) => name))]
  const known = names.flatMap((name) => [name.split('/').at(-1)!, name])
  throw new LabError('not_found', `no upcoming step is called ${JSON.stringify(text)}${didYouMeanAmong(text, known, names)}`)
}

/** Throws `conflict` if there are several, and lists them. */
export function mustBeOne(called: readonly Item[], text: string): void {
  if (called.length < 2) return
  const names = called.map(({ name }) => name)
  throw new LabError('conflict', `several upcoming steps are called ${JSON.stringify(text)}; say which: ${names.join(', ')}`)
}

function insteadOf({ step, action }: NamedItem): string {
  return step.kind === 'method' && !action ? '; skip its actions one by one' : ''
}
