import { test } from 'tap'
import { VirtualClock } from '../../kit/clock.ts'
import { type Decision, DecisionLog } from './decision_log.ts'

const about = (kind: Decision['kind'], thread_id: string, granted: string | null = null): Decision => ({
  ...{ kind, thread_id, granted },
  thread_ids: [thread_id, 'x'],
})

test('each decision is a sentence, and the last one about a thread is kept with its time', async (t) => {
  const clock = new VirtualClock()
  const notes: string[] = []
  const log = new DecisionLog({ clock, nameOf: (id) => `plate ${id}`, note: (sentence) => notes.push(sentence) })
  log.add(about('granted_unsafe', 'a', 'shaker-1'))
  await clock.advance(500)
  log.add(about('granted_reserved', 'b', 'shaker-1'))
  log.add(about('stuck', 'a'))
  log.add({ ...about('parked', 'c'), thread_ids: ['c'] })
  t.same(notes, [
    'plate a was granted shaker-1 although plate x may be stuck afterwards, because nothing else could move',
    'plate b was granted shaker-1 although another thread had reserved it, because it and plate x waited for each other',
    'plate a was reported as stuck, because it and plate x waited for each other, and no place was free to make room',
    'plate c was put out of the way, because it could not go on',
  ])
  t.same(log.of('a'), { sentence: notes[2], at_ms: clock.now() })
  t.equal(log.of('x'), undefined)
})

test('a thousand threads are kept, those with the newest decisions', (t) => {
  const log = new DecisionLog({ clock: new VirtualClock(), nameOf: (id) => id })
  for (let i = 0; i < 1001; i++) log.add(about('stuck', `t${i}`))
  t.equal(log.of('t0'), undefined)
  t.ok(log.of('t1'))
  log.add(about('stuck', 't1'))
  log.add(about('stuck', 'new'))
  t.ok(log.of('t1'), 'a newer decision about the same thread counts')
  t.equal(log.of('t2'), undefined)
  t.end()
})
