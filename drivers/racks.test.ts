import { test } from 'tap'
import * as v from 'valibot'
import { Levels, levelOf, racksOf, slotAt, slotsIn } from './racks.ts'

const racks = [{ slots: 21 }, { slots: 10 }, { slots: 5 }]

test('slots count from the lowest level of the first rack on, over all racks', (t) => {
  t.equal(slotsIn(racks), 36)
  t.same(levelOf(racks, 1), { rack: racks[0], number: 1, level: 1 })
  t.same(levelOf(racks, 21), { rack: racks[0], number: 1, level: 21 })
  t.same(levelOf(racks, 22), { rack: racks[1], number: 2, level: 1 })
  t.same(levelOf(racks, 36), { rack: racks[2], number: 3, level: 5 })
  for (const slot of [0, 37, -1]) t.equal(levelOf(racks, slot), undefined)
  t.end()
})

test('each slot is found at its rack and level again', (t) => {
  for (let slot = 1; slot <= slotsIn(racks); slot++) {
    const { number, level } = levelOf(racks, slot)!
    t.equal(slotAt(racks, number, level), slot)
  }
  for (const [rack, level] of [
    [0, 1],
    [4, 1],
    [1, 0],
    [1, 22],
  ] as const)
    t.equal(slotAt(racks, rack, level), undefined)
  t.end()
})

test('a storage has at least one rack, with at least one slot', (t) => {
  const schema = racksOf(v.strictObject({ slots: Levels }))
  t.same(v.parse(schema, racks), racks)
  for (const wrong of [[], [{ slots: 0 }], [{}]]) t.throws(() => v.parse(schema, wrong))
  t.end()
})
