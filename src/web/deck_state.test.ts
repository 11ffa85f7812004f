import { test } from 'tap'
import { emptyState, type State, type Topology } from '../clients/ts/benchd.ts'
import { armOf, contentOf, cut, drawnTopology, labelOf, linesOf, placeWords, shortName, standingOn, threadName } from './deck_state.ts'
import { labwareWords } from './storage.ts'

const plate = {
  labware_id: 'l1',
  name: 'plate',
  template: 'plate',
  type: '96-well',
  kind: 'plate',
  barcode: null,
  tips_left: null,
} as const
const free = { device: null, parking: false, storage: false, handover: false, slot: null, labware: null, reserved_for: null }
const positions = ['pad_1', 'pad_2', 'shaker_in'].map((name) => ({ ...free, name }))
const arm = { device_id: 'arm-1', positions: ['pad_1', 'pad_2', 'shaker_in'] }
const topology = { name: 'demo', transporters: [arm], translators: [], pools: {}, devices: [], positions } as Topology

function topologyWith(reserved: Record<string, string>): Topology {
  return { ...topology, positions: positions.map((one) => ({ ...one, reserved_for: reserved[one.name] ?? null })) }
}

type Parts = { device?: object; labware?: object; thread?: object; step?: object }

function stateOf({ device = {}, labware, thread, step }: Parts): State {
  return {
    ...emptyState,
    device: { 'arm-1': { device_id: 'arm-1', driver: 'arm', state: 'busy', operation: null, last_operation: null, ...device } as never },
    ...(labware && {
      labware: { l1: { ...plate, run_mode: 'LIVE', thread_id: 't1', position: 'pad_1', held_by: null, ...labware } as never },
    }),
    ...(thread && { thread: { t1: { thread_id: 't1', thread_name: 'plate', ...thread } as never } }),
    ...(step && { step: { s1: step as never } }),
  }
}

const picks = { operation: { operation_id: 'o1', name: 'pick' } }
const last = (operation: string, params: object) => ({ state: 'ready', last_operation: { operation, params } })

test('an arm goes to the labware that it picks, brings it to the reserved position, and stays where it was last', (t) => {
  const picked = { labware: { place: 'at pad_1 or held by arm-1' }, thread: { status: 'MOVING' } }
  t.match(armOf(arm, topology, stateOf({ device: picks, ...picked })), { holds: undefined, target: 'pad_1', isPerson: false })
  const held = { labware: { held_by: 'arm-1', place: 'at pad_1 or held by arm-1 or at shaker_in' }, thread: { status: 'MOVING' } }
  const reserved = topologyWith({ pad_1: 't1', pad_2: 'another', shaker_in: 't1' })
  t.match(armOf(arm, reserved, stateOf({ device: { operation: { name: 'place' } }, ...held })), { holds: 'l1', target: 'shaker_in' })
  t.equal(armOf(arm, reserved, stateOf({ device: { state: 'faulted' }, ...held })).target, 'pad_1', 'not busy: at the pick')
  t.equal(armOf(arm, topology, stateOf({ device: last('place', { at: 'shaker_in' }) })).target, 'shaker_in')
  t.equal(armOf(arm, topology, stateOf({ device: last('go_to', { teachpoint: 'pad_2' }) })).target, 'pad_2')
  t.end()
})

test('the place of an arm is not guessed after other operations, and for labware of a rehearsal', (t) => {
  t.equal(armOf(arm, topology, stateOf({ device: last('jog', { axis: 'x' }) })).target, undefined)
  t.equal(armOf(arm, topology, stateOf({ device: { ...last('place', { at: 'pad_1' }), state: 'not_initialized' } })).target, undefined)
  t.equal(armOf(arm, topology, stateOf({ labware: { run_mode: 'DEVICE_SIM', held_by: 'arm-1' } })).holds, undefined)
  const elsewhere = { labware: { place: 'at pad_1 or held by arm-2' }, thread: { status: 'MOVING' } }
  t.equal(armOf(arm, topology, stateOf({ device: picks, ...elsewhere })).target, undefined)
  t.equal(armOf(arm, topology, emptyState).target, undefined, 'an arm that is not configured')
  t.end()
})

test('a person is where the task says', (t) => {
  const move = { transporter: 'arm-1', labware_id: 'l1', from: 'pad_1', to: 'shaker_in', is_taken: false }
  const person = { driver: 'person' }
  t.match(armOf(arm, topology, stateOf({ device: person, step: { move } })), { isPerson: true, target: 'pad_1' })
  t.equal(armOf(arm, topology, stateOf({ device: person, step: { move: { ...move, is_taken: true } } })).target, 'shaker_in')
  t.end()
})

test('labware that an arm may hold is not drawn at its last position too', (t) => {
  const [pad, ...others] = positions
  const picked: Topology = { ...topology, positions: [{ ...pad!, labware: plate }, ...others] }
  t.same(standingOn(picked, new Map()), [[plate, 'pad_1']])
  t.same(standingOn(picked, new Map([['l1', arm]])), [])
  t.end()
})

test('the stations of a translator belong to it', (t) => {
  const names = ['shuttle_start', 'shuttle_end', 'pad_1']
  const its: Topology = {
    ...topology,
    positions: names.map((name) => ({ ...free, name })),
    translators: [{ name: 'shuttle', stations: names.slice(0, 2) }],
  }
  t.same(
    drawnTopology(its).positions.map((one) => [one.device, shortName(one)]),
    [
      ['shuttle', 'start'],
      ['shuttle', 'end'],
      [null, 'pad_1'],
    ],
  )
  t.end()
})

test('the transfer station of a storage belongs to it, and its slots are not drawn', (t) => {
  const its: Topology = {
    ...topology,
    transporters: [
      { device_id: 'arm-1', positions: ['door', 'pad_1'] },
      { device_id: 'incubator-1', positions: ['door', 'incubator'] },
    ],
    positions: [
      ...['door', 'pad_1'].map((name) => ({ ...free, name })),
      ...[1, 2].map((slot) => ({ ...free, name: `incubator/slot-${slot}`, slot })),
    ],
  }
  const drawn = drawnTopology(its)
  t.same(
    drawn.positions.map(({ device, name }) => [device, name]),
    [
      ['incubator-1', 'door'],
      [null, 'pad_1'],
    ],
  )
  t.same(
    drawn.transporters.map(({ device_id }) => device_id),
    ['arm-1'],
    'a storage has no arm',
  )
  t.end()
})

test('places and labware have words', (t) => {
  const at = { ...free, name: 'pad_2' }
  t.equal(contentOf(at, undefined), 'free')
  t.equal(contentOf({ ...at, parking: true, storage: true }, undefined), 'free, parking, storage')
  t.equal(contentOf(at, 'plate'), 'reserved for plate')
  t.equal(contentOf({ ...at, labware: { ...plate, barcode: 'P-17' } }, undefined), 'plate P-17')
  t.equal(placeWords(at, undefined), 'pad_2: free')
  t.equal(placeWords({ ...at, device: 'shaker-1' }, undefined), 'pad_2 of shaker-1: free')
  t.equal(placeWords({ ...at, device: 'shaker-1' }, 'plate'), 'pad_2 for plate, reserved, of shaker-1')
  t.equal(placeWords({ ...at, labware: plate }, 'another'), 'pad_2: plate')
  t.equal(labwareWords({ ...plate, name: 'tips', kind: 'tip_rack' }), 'tip rack tips')
  t.equal(labelOf(plate), 'plate')
  t.equal(labelOf({ ...plate, barcode: 'P-17' }), 'P-17')
  t.equal(threadName('t1', stateOf({ thread: {} })), 'plate')
  t.equal(threadName('gone', emptyState), 'a thread')
  t.equal(threadName(null, emptyState), undefined)
  t.equal(shortName({ name: 'bravo_96/site-1', device: 'bravo_96' }), 'site-1')
  t.equal(shortName({ name: 'a/b', device: null }), 'a/b')
  t.equal(shortName({ name: 'shaker_1', device: 'shaker_1' }), 'shaker_1')
  t.equal(cut('centrifuge_in', 200, 13), 'centrifuge_in')
  t.equal(cut('centrifuge_in', 50, 13), 'centr…')
  t.same(linesOf('pad_1', 64, 13), ['pad_1'])
  t.same(linesOf('hotel_position_12', 64, 13), ['hotel_', 'positio…'])
  t.same(linesOf('translator-2', 64, 13), ['translat', 'or-2'])
  t.end()
})
