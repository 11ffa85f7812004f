// Points that an arm cannot use as they are taught: a topology that needs them is not loaded, and no run begins on it.

import { type Test, test } from 'tap'
import { demoBench, demoTeachpoints } from '../examples/demo_bench.ts'
import { isRefusal, openTestBench } from '../testing/http.ts'

/** The demo bench with an arm that can do these things, and with the points of the demo. */
async function benchWith(t: Test, can: readonly string[]) {
  const devices = demoBench.devices.map((device) => (device.device_id === 'arm-1' ? { ...device, settings: { can } } : device))
  const bench = await openTestBench(t, { devices })
  await bench.ask('POST', '/api/teachpoints/bulk', { json: demoTeachpoints })
  const load = () => bench.ask('POST', '/api/topology/load', { json: { name: 'demo' } })
  const submit = () => bench.ask('POST', '/api/submissions', { json: { workflow: 'seal-and-spin', run_mode: 'LIVE' } })
  return { ...bench, load, submit }
}

const joints = { base: 0, shoulder: 0, elbow: 0, wrist: 0, rail: 0, gripper: 0 }

test('an adapter that cannot pass gateways is initialized, and the topology that needs them is refused with the points', async (t) => {
  const { ask, clock, load, submit } = await benchWith(t, ['joint'])
  await clock.advance(3000)
  t.match(await ask('POST', '/api/devices/arm-1/initialize', { json: {} }), { status: 200, body: { success: true } })
  t.match(await ask('GET', '/api/devices/arm-1'), { body: { state: 'ready', fault: null } })
  const points = 'arm-1 cannot pass a gateway, and centrifuge_in, sealer_in, shaker_in are taught with a gateway; extend its adapter'
  const refused = await load()
  isRefusal(t, refused, 400, 'invalid')
  t.match(refused.body, { detail: new RegExp(`^topology demo is not loaded: ${points}`) })
  t.match(await ask('GET', '/api/topology'), { status: 404 })
  for (const { name, ...point } of demoTeachpoints.filter((one) => one.gateway !== undefined)) {
    const { gateway: _, ...plain } = point
    await ask('PUT', `/api/teachpoints/arm-1/${name}`, { json: { ...plain, name } })
  }
  t.equal((await load()).status, 200, 'taught anew without')
  await ask('PUT', '/api/teachpoints/arm-1/shaker_in', { json: demoTeachpoints.find(({ name }) => name === 'shaker_in') })
  const run = await submit()
  isRefusal(t, run, 400, 'invalid')
  t.match(run.body, { detail: /cannot pass a gateway, and shaker_in is taught with a gateway/ })
})

test('joint coordinates are refused before anything moves where the adapter takes none', async (t) => {
  const { ask, clock, load } = await benchWith(t, ['gateway'])
  await clock.advance(3000)
  await ask('PUT', '/api/teachpoints/arm-1/pad_2', { json: { device_id: 'arm-1', name: 'pad_2', coord_type: 'joint', coords: joints } })
  t.match((await load()).body, { detail: /arm-1 cannot be sent to joint coordinates, and pad_2 is taught in joint coordinates/ })
})

test('a gateway that is not taught is named, and gateways in a circle cannot be taught', async (t) => {
  const { ask, load, submit } = await benchWith(t, ['gateway'])
  t.equal((await load()).status, 200)
  await ask('DELETE', '/api/teachpoints/arm-1/shaker_gate')
  const untaught = /arm-1 cannot go to its teachpoint shaker_in: its gateway shaker_gate is not taught.*; teach it, or leave it out/
  t.match((await submit()).body, { detail: untaught })
  await ask('POST', '/api/topology/unload', { json: {} })
  t.match((await load()).body, { detail: untaught })
  const gate = demoTeachpoints.find(({ name }) => name === 'sealer_gate')!
  const circle = await ask('PUT', '/api/teachpoints/arm-1/sealer_gate', { json: { ...gate, gateway: 'sealer_in' } })
  isRefusal(t, circle, 400, 'invalid')
  t.match(circle.body, { detail: /sealer_gate: its gateways lead in a circle .sealer_gate → sealer_in → sealer_gate/ })
})
