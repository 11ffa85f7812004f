import { test } from 'tap'
import { planWords, waitsOfPlan } from './plan_words.ts'

const plan = { planned_s: 2440, dispatch_s: 3150, bound_s: 2345 }
const inSeconds = (seconds: number) => `${seconds} s`

test('the figures of a plan are those of the dry run that follows it, of dispatch alone where that is known, and of the bound', (t) => {
  const completes = { verdict: 'completes', makespan_s: 2470, plan }
  t.equal(planWords(completes, inSeconds), 'planned 2470 s, by dispatch alone 3150 s, cannot be under 2345 s (bound)')
  t.equal(planWords({ ...completes, plan: { ...plan, dispatch_s: null } }, inSeconds), 'planned 2470 s, cannot be under 2345 s (bound)')
  t.match(planWords({ ...completes, verdict: 'waits' }, inSeconds), /^planned 2440 s,/, 'a run that waits ends nowhere: its first plan')
  t.end()
})

test('of the obstacles of a thread, those of the plan are found', (t) => {
  const wait = 'it waits because the plan lets P-12 go to m3 first: saves 6:40'
  t.same(waitsOfPlan(`waits for m3; ${wait}; m4 is held by P-2`), [wait])
  t.same(waitsOfPlan('waits for m3; m3 is held by P-2'), [])
  t.end()
})
