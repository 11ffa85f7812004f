import { test } from 'tap'
import { StepQueue } from './steps.ts'

test('one queue goes on in each turn of the event loop, and the queues take turns', async (t) => {
  const turns: string[][] = []
  const names = ['long', 'other', 'third']
  for (const name of names) {
    const queue = new StepQueue()
    // More steps than a queue takes in one turn.
    for (let i = 0; i < 20; i++) queue.push(() => void turns.at(-1)!.push(name))
  }
  const count = () => {
    turns.push([])
    if (turns.flat().length < 60) setImmediate(count)
  }
  count()
  while (turns.flat().length < 60) await new Promise(setImmediate)
  const busy = turns.filter((steps) => steps.length > 0)
  t.same(
    busy.map((steps) => [...new Set(steps)]),
    [...names, ...names, ...names].map((name) => [name]),
  )
})
