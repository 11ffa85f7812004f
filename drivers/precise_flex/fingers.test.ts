import { test } from 'tap'
import * as v from 'valibot'
import { Fingers } from './fingers.ts'
import { settings } from './settings.ts'
import type { Talk } from './talk.ts'

/** Fingers that stand here, and whose last motion went to the goal. */
function fingersOf({ here, goal }: { here: number; goal: number }): Fingers {
  const talk = { where: async () => [200, 0, 180, 180, here], goal: async () => [200, 0, 180, 180, goal] }
  return new Fingers(talk as unknown as Talk, v.parse(settings, {}), async () => here)
}

test('a motion of the arm never opens the fingers, and keeps the goal that presses labware', async (t) => {
  t.equal(await fingersOf({ here: 85.5, goal: 82.5 }).goal(), 82.5, 'it presses')
  t.equal(await fingersOf({ here: 85.5, goal: 85.5 }).goal(), 85.5)
  t.equal(await fingersOf({ here: 85.5, goal: 120 }).goal(), 85.5, 'never further apart')
  t.equal(await fingersOf({ here: 85.5, goal: 0 }).goal(), 85.5, 'no motion since the power came on')
})
