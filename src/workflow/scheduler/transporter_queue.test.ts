import { test } from 'tap'
import { TransporterQueue } from './transporter_queue.ts'

test('a transporter, who may be a person, goes to the thread first for which a window waits, then to the oldest', (t) => {
  const pressed = new Set(['third'])
  const queue = new TransporterQueue((thread_id) => pressed.has(thread_id))
  const granted: string[] = []
  for (const thread_id of ['first', 'second', 'third', 'fourth']) queue.take('hands', thread_id, () => granted.push(thread_id))
  for (const thread_id of ['first', 'third', 'second']) queue.giveBack('hands', thread_id)
  t.same(granted, ['first', 'third', 'second', 'fourth'])
  t.end()
})

test('a transporter goes to the moves in the order of the plan, but first to a move that is not in it', (t) => {
  const starts = new Map([
    ['late', 300],
    ['early', 100],
    ['soon', 200],
    ['as soon', 200],
  ])
  const pressed = new Set<string>()
  const queue = new TransporterQueue(
    (thread_id) => pressed.has(thread_id),
    (thread_id) => starts.get(thread_id),
  )
  const granted: string[] = []
  for (const thread_id of ['first', 'late', 'soon', 'early', 'as soon', 'stranger', 'in a hurry'])
    queue.take('arm', thread_id, () => granted.push(thread_id))
  pressed.add('in a hurry')
  for (let turn = 0; turn < 6; turn++) queue.giveBack('arm', granted.at(-1)!)
  t.same(granted, ['first', 'in a hurry', 'stranger', 'early', 'soon', 'as soon', 'late'])
  t.end()
})

test('of moves that are not in the plan, or begin at once, that of the higher priority goes first', (t) => {
  const steps: Record<string, number> = { urgent: 9, aged: 2 }
  const queue = new TransporterQueue(
    () => false,
    () => undefined,
    { differ: true, of: (thread_id) => steps[thread_id] ?? 0 },
  )
  const granted: string[] = []
  for (const thread_id of ['first', 'second', 'third', 'aged', 'urgent']) queue.take('arm', thread_id, () => granted.push(thread_id))
  for (let turn = 0; turn < 4; turn++) queue.giveBack('arm', granted.at(-1)!)
  t.same(granted, ['first', 'urgent', 'aged', 'second', 'third'])
  t.end()
})
