// A run in LIVE whose plate a PreciseFlex carries, over a gateway, between a joint point and a cartesian one.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'tap'
import { poseAt } from '../../drivers/precise_flex/simulated_geometry.ts'
import { oneArm, workflowOf } from '../testing/documents.ts'
import { openTestBench } from '../testing/http.ts'
import { bodyOf, until } from '../testing/http_runs.ts'

const points = [
  { name: 'pad_1', coord_type: 'joint', coords: { base: 150, shoulder: 30, elbow: 120, wrist: 200 }, gateway: 'gate' },
  { name: 'gate', coord_type: 'joint', coords: { base: 300, shoulder: 0, elbow: 120, wrist: 200 } },
  {
    name: 'pad_2',
    coord_type: 'cartesian',
    coords: poseAt([150, -20, 90, 100, 0]),
    orientation: 'right',
    access: { access_type: 'horizontal', horizontal_clearance: 60 },
  },
].map((point) => ({ device_id: 'arm', ...point }))

test('a PreciseFlex carries the plate of a run, and grips it as the workflow says', async (t) => {
  const topologies = mkdtempSync(join(tmpdir(), 'benchd-topologies-'))
  t.teardown(() => rmSync(topologies, { recursive: true }))
  const grip = { width: 84, force: 12 }
  const plate = { start: { at: 'pad_1', mode: 'REUSE_EXISTING' }, steps: [], end: { at: ['pad_2'], mode: 'LEAVE_IN_PLACE' } }
  const workflow = workflowOf('work', { plate }, { topology: 'reach', labware: { plate: { type: '96-well', grip } } })
  writeFileSync(join(topologies, 'reach.json'), JSON.stringify({ ...oneArm({ pads: ['pad_1', 'pad_2'] }), name: 'reach' }))
  writeFileSync(join(topologies, 'work.json'), JSON.stringify(workflow))
  const devices = [{ device_id: 'arm', driver: 'precise_flex', transport: { kind: 'simulated' } }]
  const bench = await openTestBench(t, { devices }, { topologies })
  const tell = (path: string, json: object) => bench.ask('POST', path, { json })
  t.equal((await tell('/api/teachpoints/bulk', points)).status, 200)
  t.equal((await tell('/api/topology/load', { name: 'reach' })).status, 200)
  t.equal((await tell('/api/devices/arm/initialize', {})).status, 200)
  const { execution_id } = await bodyOf(tell('/api/submissions', { workflow: 'work', run_mode: 'LIVE' }))
  // The wire log keeps the newest frames alone.
  let said = ''
  const ended = await until(bench, `/api/executions/${execution_id}`, ({ status }) => {
    said += JSON.stringify(bench.bench.registry.find('arm').wire())
    return status !== 'IN_PROGRESS' && status !== 'CREATED'
  })
  t.match(ended, { status: 'COMPLETED' })
  for (const command of ['GraspPlate 84.000 50 12.000', 'moveJ 1 300.000 0.000 120.000', 'ReleasePlate 94.000 50'])
    t.ok(said.includes(command), command)
  t.match(await bodyOf(bench.ask('GET', '/api/devices/arm/pose')), { coords: { pitch: 90 } })
})
