// A bench with a storage that is killed again and again while a run and a person move plates in and out of it: no two plates are ever in one slot, and
// none is nowhere without an incident that says so. `BENCHD_TRIALS=all` kills it a hundred times.

import { type Test, test } from 'tap'
import { killable } from '../testing/killable.ts'
import { Dice } from '../testing/simulation/scene.ts'
import { barcodes, devices, first, teachpoints, topology, workflow } from '../testing/stored.ts'
import { trials } from '../testing/trials.ts'

type Piece = {
  labware_id: string
  barcode: string | null
  position: string | null
  place: string
  run_mode: string
  thread_id: string | null
}
type Bench = Awaited<ReturnType<typeof killable>>

const rounds = trials(100, 10)

test(`an inventory is true after each of ${rounds} kills`, async (t) => {
  const bench = await killable(t, { config: { devices, time_scale: 100 }, topologies: { stored: topology } })
  const dice = new Dice(47)
  await bench.granted('POST', '/api/teachpoints/bulk', teachpoints)
  await bench.granted('POST', '/api/topology/load', { name: 'stored' })
  await bench.granted('PUT', '/api/workflows/shake-stored', workflow)
  await bench.granted('PUT', '/api/devices/incubator-1/inventory', { slots: first })
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
  const empty = [5, 6, 7, 8].map((slot) => ({ slot, labware: null }))
  await granted('PUT', '/api/devices/incubator-1/inventory', { slots: [...first, ...empty] })
  const { labware } = await granted<{ labware: Piece[] }>('GET', '/api/labware')
  for (const { labware_id, barcode } of labware)
    if (barcode === null) await granted('PUT', `/api/labware/${labware_id}/location`, { position: null })
}
