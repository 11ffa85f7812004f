import { test } from 'tap'
import { RunState } from '../state/entry.ts'
import { Channels } from './channels.ts'

test('who waits hears of the next one; who has not seen the last one hears of it at once', (t) => {
  const channels = new Channels(new RunState())
  const heard: (string | null)[] = []
  channels.wait('qc.done', 0, ({ value }) => heard.push(value))
  t.same(heard, [])
  channels.publish('qc.done', { value: 'complete', data: {} })
  channels.wait('qc.done', 0, ({ value }) => heard.push(`late ${value}`))
  t.same(heard, ['complete', 'late complete'])
  t.end()
})

test('who has seen the last one waits for another, and of several in between gets the latest', (t) => {
  const channels = new Channels(new RunState())
  channels.publish('a', { value: '1', data: {} })
  const heard: unknown[] = []
  channels.wait('a', 1, ({ value, count }) => heard.push(value, count))
  t.same(heard, [])
  channels.publish('a', { value: '2', data: { n: 2 } })
  channels.publish('a', { value: '3', data: {} })
  t.same(heard, ['2', 2])
  channels.wait('a', 2, ({ value, count }) => heard.push(value, count))
  t.same(heard, ['2', 2, '3', 3])
  t.end()
})

test('a wait that was called off hears nothing, and names do not meet', (t) => {
  const channels = new Channels(new RunState())
  const heard: unknown[] = []
  channels.wait('a.b', 0, () => heard.push('a.b'))()
  channels.wait('a_b', 0, () => heard.push('a_b'))
  channels.publish('a.b', { value: null, data: {} })
  t.same(heard, [])
  t.end()
})
