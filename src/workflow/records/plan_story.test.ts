import { test } from 'tap'
import { planStory } from './plan_story.ts'

const planned = (reason: string, makespan_s = 2450) => ({ kind: 'plan', reason, makespan_s, bound_s: 2345, states: 500 })
const over = { foretold_s: 2470, took_s: 2522, isOver: true }

test('a run says what was foretold, planned, made anew and taken', (t) => {
  t.equal(planStory([], over), '', 'a run without a plan says nothing')
  t.equal(planStory([planned('came')], over), 'foretold 41:10, planned 40:50, cannot be under 39:05 (bound), never made anew, took 42:02')
  t.equal(
    planStory([planned('came'), planned('off_time', 1000)], { ...over, isOver: false, foretold_s: undefined }),
    'planned 40:50, cannot be under 39:05 (bound), made anew once (labware was early or late)',
    'an open run has not ended, and nobody asked for its forecast',
  )
  const often = ['came', 'off_time', 'held', 'off_time', 'news'].map((reason) => planned(reason))
  t.match(planStory(often, over), /made anew 4 times \(2 × labware was early or late, 1 × labware was held or went on, 1 × news\)/)
  t.equal(
    planStory([{ kind: 'plan' }], over),
    'foretold 41:10, planned, never made anew, took 42:02',
    'rows of another version may lack members',
  )
  t.end()
})
