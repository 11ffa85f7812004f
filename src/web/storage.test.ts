import { test } from 'tap'
import type { State, Topology } from '../clients/ts/benchd.ts'
import { filledWords, isUncertain, searchedFor, storagesOf, storedIn } from './storage.ts'

type Position = Topology['positions'][number]
type Standing = State['labware'][string]

const place = (name: string, slot: number | null, labware_id?: string) =>
  ({ name, slot, labware: labware_id === undefined ? null : { labware_id } }) as Position
const piece = (labware_id: string, more: Partial<Standing>) =>
  ({ labware_id, name: labware_id, barcode: null, place: '', ...more }) as Standing

const its = {
  positions: [
    place('door', null),
    place('pad', null),
    place('incubator/slot-1', 1, 'a'),
    place('incubator/slot-2', 2),
    place('incubator/slot-10', 10, 'b'),
    place('hotel/slot-1', 1),
  ],
  transporters: [
    { device_id: 'arm', positions: ['door', 'pad'] },
    { device_id: 'incubator-1', positions: ['door', 'incubator'] },
    { device_id: 'hotel-1', positions: ['pad', 'hotel'] },
  ],
}
const labware = { a: piece('a', { barcode: 'P-1' }), b: piece('b', { name: 'Cells' }) }

test('the storages of a topology have their own slots and transfer stations, and no arm is one', (t) => {
  t.match(storagesOf(its), [
    { device_id: 'incubator-1', slots: [{ slot: 1 }, { slot: 2 }, { slot: 10 }], stations: [{ name: 'door' }] },
    { device_id: 'hotel-1', slots: [{ slot: 1 }], stations: [{ name: 'pad' }] },
  ])
  t.equal(storagesOf(its).length, 2)
  t.same(storagesOf(its).map(filledWords), ['2 of 3', '0 of 1'])
  t.end()
})

test('labware is found in its slot by a part of its barcode or name', (t) => {
  const stored = storedIn(storagesOf(its)[0]!, labware)
  t.match(stored, [
    { slot: 1, its: { labware_id: 'a' } },
    { slot: 10, its: { labware_id: 'b' } },
  ])
  const found = (text: string) => searchedFor(stored, text).map(({ slot }) => slot)
  t.same([found(''), found('p-1'), found(' cell'), found('P-2')], [[1, 10], [1], [10], []])
  t.end()
})

test('labware is uncertain while its place has two names', (t) => {
  t.same(
    ['in slot 3', 'at door or at incubator/slot-3', 'at corridor'].map((place) => isUncertain(piece('a', { place }))),
    [false, true, false],
  )
  t.end()
})
