import { test } from 'tap'
import { RunState } from '../state/entry.ts'
import { Channels, type Scope } from './channels.ts'

test('who waits hears of the next one; who has not seen the last one hears of it at once', (t) => {
  const channels = new Channels(new RunState(), { isOfGroups: true, now: () => 0 })
  const heard: (string | null)[] = []
  channels.wait('qc.done', { seen: 0, scope: null }, ({ value }) => heard.push(value))
  t.same(heard, [])
  channels.publish('qc.done', { value: 'complete', data: {} })
  channels.wait('qc.done', { seen: 0, scope: null }, ({ value }) => heard.push(`late ${value}`))
  t.same(heard, ['complete', 'late complete'])
  t.end()
})

test('who has seen the last one waits for another, and of several in between gets the latest', (t) => {
  const channels = new Channels(new RunState(), { isOfGroups: true, now: () => 0 })
  channels.publish('a', { value: '1', data: {} })
  const heard: unknown[] = []
  channels.wait('a', { seen: 1, scope: null }, ({ value, count }) => heard.push(value, count))
  t.same(heard, [])
  channels.publish('a', { value: '2', data: { n: 2 } })
  channels.publish('a', { value: '3', data: {} })
  t.same(heard, ['2', 2])
  channels.wait('a', { seen: 2, scope: null }, ({ value, count }) => heard.push(value, count))
  t.same(heard, ['2', 2, '3', 3])
  t.end()
})

test('a wait that was called off hears nothing, and names do not meet', (t) => {
  const channels = new Channels(new RunState(), { isOfGroups: true, now: () => 0 })
  const heard: unknown[] = []
  channels.wait('a.b', { seen: 0, scope: null }, () => heard.push('a.b'))()
  channels.wait('a_b', { seen: 0, scope: null }, () => heard.push('a_b'))
  channels.publish('a.b', { value: null, data: {} })
  t.same(heard, [])
  t.end()
})

const of = (group_id: string, submission_id = 's1') => ({ group_id, submission_id })

test('an event of a group reaches that group and the threads that serve all groups', (t) => {
  const channels = new Channels(new RunState(), { isOfGroups: true, now: () => 0 })
  const heard: string[] = []
  const listen = (who: string, scope: Scope, seen = 0) =>
    channels.wait('go', { seen, scope }, ({ value, count }) => heard.push(`${who} ${value} ${count}`))
  listen('g1', of('g1'))
  listen('g2', of('g2'))
  listen('g1 of another submission', of('g1', 's2'))
  listen('all', null)
  channels.publish('go', { value: 'a', data: {} }, of('g1'))
  t.same(heard.splice(0), ['all a 1', 'g1 a 1'])
  channels.publish('go', { value: 'b', data: {} })
  t.same(heard.splice(0).sort(), ['g1 of another submission b 2', 'g2 b 2'])
  listen('g1', of('g1'), 1)
  listen('g2', of('g2'), 1)
  t.same(heard.splice(0), ['g1 b 2', 'g2 b 2'], 'the latest of its own events and those to all')
  channels.publish('go', { value: 'c', data: {} }, of('g2'))
  listen('g1', of('g1'))
  listen('g2', of('g2'))
  listen('all', null)
  t.same(heard, ['g1 b 2', 'g2 c 3', 'all c 3'])
  t.equal(channels.count('go'), 3)
  t.end()
})

test('a wait that was called off while others wait in its group hears nothing, and the others do', (t) => {
  const channels = new Channels(new RunState(), { isOfGroups: true, now: () => 0 })
  const heard: string[] = []
  const callOff = channels.wait('go', { seen: 0, scope: of('g1') }, () => heard.push('first'))
  channels.wait('go', { seen: 0, scope: of('g1') }, () => heard.push('second'))
  callOff()
  callOff()
  channels.publish('go', { value: null, data: {} }, of('g1'))
  t.same(heard, ['second'])
  t.end()
})

test('restored events are heard as before, and a run of an earlier version keeps its rule', (t) => {
  const saved = (group_id: string | null, count: number) => ({
    ...{ name: 'go', count, value: group_id, data: {}, at: 0 },
    ...{ group_id, submission_id: group_id && 's1' },
  })
  for (const isOfGroups of [true, false]) {
    const channels = new Channels(new RunState(), { isOfGroups, now: () => 0 })
    if (isOfGroups) channels.restore(saved('g2', 3))
    channels.restore(saved(null, 1))
    const heard: unknown[] = []
    channels.publish('go', { value: 'next', data: {} }, of('g1'))
    for (const group of ['g1', 'g2', 'g3'])
      channels.wait('go', { seen: 0, scope: of(group) }, ({ value, count }) => heard.push(`${group} ${value} ${count}`))
    t.same(heard, isOfGroups ? ['g1 next 4', 'g2 g2 3', 'g3 null 1'] : ['g1 next 2', 'g2 next 2', 'g3 next 2'])
  }
  t.end()
})

test('the latest values of many groups are bounded together', (t) => {
  const channels = new Channels(new RunState(), { isOfGroups: true, now: () => 0 })
  const publish = (group: number, length: number) => channels.publish('go', { value: 'x'.repeat(length), data: {} }, of(`g${group}`))
  for (let group = 0; group < 10; group++) publish(group, 100_000)
  t.throws(() => publish(10, 100_000), { code: 'conflict', message: /would be \d+ characters with go/ })
  t.equal(channels.count('go'), 10)
  publish(3, 10)
  publish(10, 100_000)
  t.equal(channels.count('go'), 12)
  t.end()
})
