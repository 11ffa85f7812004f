import { test } from 'tap'
import { StepQueue } from './steps.ts'

test('queues beside each other take no more of a turn of the event loop than one alone may', async (t) => {
  const went: string[] = []
  let turn = 0
  const countTurns = () => {
    turn++
    if (went.length < 3) setImmediate(countTurns)
  }
  setImmediate(countTurns)
  const takes = (name: string, ms: number) => () => {
    for (const began = performance.now(); performance.now() - began < ms; );
    went.push(`${name} ${turn}`)
  }
  new StepQueue().push(takes('long', 10))
  new StepQueue().push(takes('other', 10))
  new StepQueue().push(takes('third', 0))
  while (went.length < 3) await new Promise(setImmediate)
  const turns = went.map((one) => Number(one.split(' ')[1]))
  t.same(
    went.map((one) => one.split(' ')[0]),
    ['long', 'other', 'third'],
  )
  t.ok(turns[0]! < turns[1]! && turns[1]! < turns[2]!, `one in each turn: ${went}`)
})
