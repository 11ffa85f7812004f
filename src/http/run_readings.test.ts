// The readings of the devices that a run used, the devices themselves, and the teachpoints, in the record of the run.

import { test } from 'tap'
import { beginRun, plateRun, shake } from '../testing/http_runs.ts'

type Row = Record<string, unknown> & { kind: string; at: number }
type Run = Awaited<ReturnType<typeof beginRun>>

const heat = { do: 'set_temperature', on: 'shaker-1', with: { temperature: 37 } }
const long = { ...shake, with: { speed: 500, duration: 120 } }
const warm = (steps: object[]) => plateRun([{ method: 'warm' }, ...steps], { methods: { warm: [heat, long] } })

async function rowsOf(run: Run, kind: string): Promise<Row[]> {
  const { rows } = await run.get<{ rows: Row[] }>(`/api/executions/${run.execution_id}/record?kind=${kind}`)
  return rows
}

const readingsOf = async (run: Run) => (await run.get<{ readings: Row[] }>(`/api/executions/${run.execution_id}/readings`)).readings

async function csvOf(run: Run): Promise<string[]> {
  const path = `/api/executions/${run.execution_id}/readings`
  const { headers, text } = await run.bench.ask('GET', path, { headers: { Accept: 'text/csv' } })
  if (!headers.get('content-type')?.startsWith('text/csv')) throw new Error(text)
  return text.trimEnd().split('\r\n')
}

for (const run_mode of ['LIVE', 'DEVICE_SIM'] as const)
  test(`readings are kept each 10 s from the first use of a device, and at both ends of each action: ${run_mode}`, async (t) => {
    const run = await beginRun(t, { workflow: warm([]), run_mode })
    t.equal(await run.over(), 'COMPLETED')
    const readings = await readingsOf(run)
    const [device] = (await rowsOf(run, 'device')).filter(({ device_id }) => device_id === 'shaker-1')
    t.match(device, { type: 'shaker', driver: 'bioshake', is_simulated: true, units: { temperature: '°C' } })
    t.match(device, { model: String, serial: String, firmware: String })
    const actions = await rowsOf(run, 'action')
    t.equal(actions.length, 2)
    for (const { action_id, started, ended } of actions) {
      const [start, end] = ['start', 'end'].map((why) => readings.find((one) => one.action_id === action_id && one.why === why))
      t.match(start, { device_id: 'shaker-1', values: { temperature: Number } })
      t.match(end, { values: { temperature: Number }, targets: { temperature: 37 } })
      // The first use initializes the device, which gives no readings meanwhile.
      t.ok(Math.abs(start!.at - (started as number)) <= (action_id === actions[0]!.action_id ? 10 : 2.5), 'at the start')
      t.ok(Math.abs(end!.at - (ended as number)) <= 2.5, 'at the end')
    }
    const [, shaken] = actions
    const during = readings.filter(
      ({ at, why }) => why === 'interval' && at > (shaken!.started as number) && at < (shaken!.ended as number),
    )
    t.ok(during.length >= 10 && during.length <= 12, `${during.length} in 120 s`)
    t.ok(
      readings.every(({ at }) => at >= device!.at - 2),
      'none before the first use',
    )
    const [head, ...lines] = await csvOf(run)
    t.equal(head, 'at,device_id,name,value,target,unit,why,action_id')
    t.equal(lines.length, readings.length)
    t.match(lines.at(-1), /^[\d.]+,shaker-1,temperature,[\d.]+,37,°C,\w+,/)
  })

test('the identity of a device and the teachpoints of a move are kept once, over a restart too, and again when they have changed', async (t) => {
  const before = await beginRun(t, { workflow: warm([{ method: 'warm' }]) })
  await before.does('shaker-1', 'shake')
  const run = await before.afterPowerCut()
  const [known, taught] = [await rowsOf(run, 'device'), await rowsOf(run, 'teachpoint')]
  t.same(known.map(({ device_id }) => device_id).sort(), ['arm-1', 'shaker-1'])
  t.same(
    taught.map(({ position }) => position),
    ['pad_1', 'shaker_in', 'shaker_gate'],
    'with the gateway on the way',
  )
  t.match(taught[0], { transporter: 'arm-1', teachpoint: { device_id: 'arm-1', name: 'pad_1', coord_type: 'cartesian' } })
  await run.post('/api/devices/shaker-1/initialize')
  const many = (await readingsOf(run)).length
  await run.until('a reading while it is paused', async () => (await readingsOf(run)).length > many)
  const pad = await run.get<{ coords: { x: number } }>('/api/teachpoints/arm-1/pad_1')
  const moved = { ...pad, coords: { ...pad.coords, x: pad.coords.x + 1 } }
  t.equal((await run.ask('PUT', '/api/teachpoints/arm-1/pad_1', moved)).status, 200)
  await run.post(`/api/executions/${run.execution_id}/resume`)
  t.equal(await run.over(), 'COMPLETED')
  t.same(await rowsOf(run, 'device'), known)
  const again = await rowsOf(run, 'teachpoint')
  t.same(again.slice(0, 3), taught)
  t.match(again.slice(3), [{ position: 'pad_1', teachpoint: { coords: moved.coords } }])
})

test('the readings of a device take at most 60 kB in an hour, however short its actions are', async (t) => {
  const short = { repeat: { times: 400 }, steps: [{ action: { ...shake, with: { speed: 500, duration: 1 } } }] }
  const run = await beginRun(t, { workflow: plateRun([short]) })
  await run.does('shaker-1', 'shake')
  const began = run.bench.clock.now()
  // A busy computer may be minutes late by this clock.
  const before = bytesOf(await readingsOf(run))
  while (run.bench.clock.now() < began + 1_200_000) await run.bench.clock.advance(5000)
  const bytes = bytesOf(await readingsOf(run)) - before
  t.ok(bytes <= 2000 + (20 * 60 * 58_000) / 3600 && bytes > 15_000, `${bytes} bytes in 20 minutes`)
  await run.post(`/api/executions/${run.execution_id}/stop`)
  await run.post(`/api/executions/${run.execution_id}/stop`, { confirm: true })
  await run.over()
})

test('nothing more is kept after the end of the run', async (t) => {
  const run = await beginRun(t, { workflow: warm([]) })
  t.equal(await run.over(), 'COMPLETED')
  const kept = await readingsOf(run)
  await run.bench.clock.advance(60_000)
  t.same(await readingsOf(run), kept)
})

function bytesOf(rows: readonly Row[]): number {
  return rows.reduce((sum, row) => sum + Buffer.byteLength(JSON.stringify(row)) + 20, 0)
}
