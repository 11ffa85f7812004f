import { test } from 'tap'
import { mostKept, Timeline } from './timeline.ts'

const thread = { thread_id: 't', name: 'plate' }
const action = (action_id: string) => ({ action_id, owner: thread, plan: { name: 'mix' }, method: null, device: 'mixer' })

test('an action that is under way keeps its times, however many others begin meanwhile', (t) => {
  let now = 1
  const timeline = new Timeline(() => now)
  timeline.action(action('long'), 'CREATED')
  timeline.action(action('long'), 'EXECUTING_ACTION')
  for (let n = 0; n < mostKept + 5; n++) {
    now = n + 2
    for (const status of ['CREATED', 'EXECUTING_ACTION', 'COMPLETED'] as const) timeline.action(action(`${n}`), status)
  }
  t.same([timeline.size, timeline.dropped], [mostKept, 6])
  t.match(timeline.action(action('long'), 'COMPLETED'), { created: 1, started: 1, ended: now })
  t.equal(timeline.actions, mostKept + 6)
  t.end()
})
