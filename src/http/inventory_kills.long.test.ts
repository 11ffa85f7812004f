// A bench with a storage that is killed again and again while a run and a person move plates in and out of it: no two plates are ever in one slot, and
// none is nowhere without an incident that says so. `BENCHD_KILLS=all` kills it a hundred times.

import { type Test, test } from 'tap'
import { workflowOf } from '../testing/documents.ts'
import { killable } from '../testing/killable.ts'
import { Dice } from '../testing/simulation/scene.ts'

const slot = {
  type: 'object',
  properties: { slot: { type: 'integer', minimum: 1, maximum: 8 } },
  required: ['slot'],
  additionalProperties: false,
}
const devices = [
  {
    ...{ device_id: 'incubator-1', driver: 'simulated', type: 'storage', transport: { kind: 'simulated' } },
    settings: { operations: { store: { params: slot, seconds: 10 }, retrieve: { params: slot, seconds: 10 } } },
  },
  { device_id: 'shaker-1', driver: 'bioshake', transport: { kind: 'simulated' } },
  { device_id: 'arm-1', driver: 'arm', transport: { kind: 'simulated' } },
]
const stored = {
  ...{ format: 1, name: 'stored' },
  transporters: { 'arm-1': { positions: ['door', 'shaker_in'] }, 'incubator-1': { positions: ['door', 'incubator'] } },
  positions: { door: {}, shaker_in: { device: 'shaker-1' }, incubator: { slots: 8 } },
}
const teachpoints = ['door', 'shaker_in'].map((name, i) => {
  return { device_id: 'arm-1', name, coord_type: 'cartesian', coords: { x: 100 + 200 * i, y: 300, z: 40, yaw: 0, pitch: 0, roll: 0 } }
})
const workflow = workflowOf(
  'shake-stored',
  {
    plate: {
      ...{ start: { at: 'incubator', mode: 'REUSE_EXISTING' }, end: { at: ['incubator'], mode: 'LEAVE_IN_PLACE' } },
      steps: [{ action: { do: 'shake', on: 'shaker-1', with: { speed: 500, duration: 5 } } }],
    },
  },
  { topology: 'stored' },
)

const barcodes = ['P-1', 'P-2', 'P-3', 'P-4']

type Piece = {
  labware_id: string
  barcode: string | null
  position: string | null
  place: string
  run_mode: string
  thread_id: string | null
}
type Bench = Awaited<ReturnType<typeof killable>>

const rounds = process.env.BENCHD_KILLS === 'all' ? 100 : 10

test(`an inventory is true after each of ${rounds} kills`, async (t) => {
  const bench = await killable(t, { config: { devices, time_scale: 100 }, topologies: { stored } })
  const dice = new Dice(47)
  await bench.granted('POST', '/api/teachpoints/bulk', teachpoints)
  await bench.granted('POST', '/api/topology/load', { name: 'stored' })
  await bench.granted('PUT', '/api/workflows/shake-stored', workflow)
  const slots = barcodes.map((barcode, i) => ({ slot: i + 1, labware: { barcode, type: '96-well' } }))
  await bench.granted('PUT', '/api/devices/incubator-1/inventory', { slots })
  let uncertain = 0
  for (let round = 0; round < rounds; round++) {
    for (const { device_id } of devices) await bench.ask('POST', `/api/devices/${device_id}/initialize`)
    const busy = work(bench, dice)
    await new Promise((resolve) => setTimeout(resolve, dice.below(900)))
    await bench.kill()
    await busy
    await bench.start()
    uncertain += await look(t, bench, round)
    await settle(bench)
  }
  t.comment(`${uncertain} times labware was in one of two places`)
})

/** Moves plates in a run and by hand, until the service is gone. */
async function work({ ask }: Bench, dice: Dice): Promise<void> {
  const barcode = barcodes[dice.below(barcodes.length)]!
  const groups = [{ group_id: 'a', members: { plate: { barcode } } }]
  const calls: [string, object][] =
    dice.below(2) === 0
      ? [['/api/submissions', { workflow: 'shake-stored', run_mode: 'LIVE', groups }]]
      : [...Array(8).keys()].flatMap((i): [string, object][] => [
          ['/api/devices/incubator-1/retrieve', { slot: i + 1 }],
          ['/api/devices/incubator-1/store', { slot: 8 - i }],
        ])
  for (const [path, body] of calls) if (!(await ask('POST', path, body).catch(() => undefined))) return
}

/** Each plate is known once, in a place of its own; one that may be in two places has its incident. Returns how many may be. */
async function look(t: Test, { granted }: Bench, round: number): Promise<number> {
  const { labware } = await granted<{ labware: Piece[] }>('GET', '/api/labware')
  const live = labware.filter(({ run_mode }) => run_mode === 'LIVE')
  const known = live.flatMap(({ barcode }) => barcode ?? []).sort()
  t.same(known, barcodes, `round ${round}: each plate is known once`)
  const seats = live.flatMap(({ position }) => position ?? [])
  t.equal(new Set(seats).size, live.length, `round ${round}: ${seats}`)
  const { incidents } = await granted<{ incidents: { message: string }[] }>('GET', '/api/incidents?limit=1000')
  const doubtful = live.filter(({ place }) => / or /.test(place))
  for (const { place } of doubtful)
    t.ok(
      incidents.some(({ message }) => message.includes(place)),
      `round ${round}: an incident says ${place}`,
    )
  return doubtful.length
}

/** A person looks: each plate is back in the slot where it was, and its run is stopped. */
async function settle({ granted, ask }: Bench): Promise<void> {
  const { executions } = await granted<{ executions: { execution_id: string; status: string }[] }>('GET', '/api/executions')
  for (const { execution_id, status } of executions)
    for (const confirm of /COMPLETED|ABORTED|FAILED|STOPPED/.test(status) ? [] : [false, true])
      await ask('POST', `/api/executions/${execution_id}/stop`, { confirm })
  const slots = barcodes.map((barcode, i) => ({ slot: i + 1, labware: { barcode, type: '96-well' } }))
  const empty = [5, 6, 7, 8].map((slot) => ({ slot, labware: null }))
  await granted('PUT', '/api/devices/incubator-1/inventory', { slots: [...slots, ...empty] })
  const { labware } = await granted<{ labware: Piece[] }>('GET', '/api/labware')
  for (const { labware_id, barcode } of labware)
    if (barcode === null) await granted('PUT', `/api/labware/${labware_id}/location`, { position: null })
}
