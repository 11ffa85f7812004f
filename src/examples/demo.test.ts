import { test } from 'tap'
import { demo } from '../testing/cli.ts'
import { prepareDemo } from './demo.ts'

test('a key of an earlier start on the same folder opens the demo still, but not one of long ago', async (t) => {
  const { service } = await demo(t)
  const { keys } = service.lab
  const made: string[] = []
  for (let i = 0; i < 11; i++) made.push(await prepareDemo(service.lab))
  const opens = made.map((key) => keys.check(key) !== undefined)
  t.same(opens, [false, ...Array(10).fill(true)])
})
