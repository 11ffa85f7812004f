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
