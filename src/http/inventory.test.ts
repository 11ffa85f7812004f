// The inventory of a storage over the API: a run stores and retrieves, a person does, and a person corrects.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { test } from 'tap'
import { workflowOf } from '../testing/documents.ts'
import { atTheEnd, isRefusal, openTestBench } from '../testing/http.ts'
import { until } from '../testing/http_runs.ts'

const slot = {
  type: 'object',
  properties: { slot: { type: 'integer', minimum: 1, maximum: 20 } },
  required: ['slot'],
  additionalProperties: false,
}
const incubator = {
  device_id: 'incubator-1',
  driver: 'simulated',
  type: 'storage',
  transport: { kind: 'simulated' },
  settings: { operations: { store: { params: slot, seconds: 10 }, retrieve: { params: slot, seconds: 10 } } },
}
const devices = [
  incubator,
  { device_id: 'shaker-1', driver: 'bioshake', transport: { kind: 'simulated' } },
  { device_id: 'arm-1', driver: 'arm', transport: { kind: 'simulated' } },
]
const topology = {
  format: 1,
  name: 'stored',
  transporters: { 'arm-1': { positions: ['door', 'shaker_in'] }, 'incubator-1': { positions: ['door', 'incubator'] } },
  positions: { door: {}, shaker_in: { device: 'shaker-1' }, incubator: { slots: 6 } },
}
const workflow = workflowOf(
  'shake-stored',
  {
    plate: {
      start: { at: 'incubator', mode: 'REUSE_EXISTING' },
      end: { at: ['incubator'], mode: 'LEAVE_IN_PLACE' },
      steps: [{ action: { do: 'shake', on: 'shaker-1', with: { speed: 500, duration: 5 } } }],
    },
  },
  { topology: 'stored' },
)

type Stored = { slot: number; name: string; barcode: string | null; type: string; stored_at: number | null; thread_id: string | null }
type Inventory = { slots: number; stored: Stored[]; stations: { position: string; labware: { name: string } | null }[] }

const teachpoints = ['door', 'shaker_in'].map((name, i) => {
  return { device_id: 'arm-1', name, coord_type: 'cartesian', coords: { x: 100 + 200 * i, y: 300, z: 40, yaw: 0, pitch: 0, roll: 0 } }
})

async function setup(t: Test, folder?: string) {
  const topologies = mkdtempSync(join(tmpdir(), 'benchd-topologies-'))
  atTheEnd(t).push(async () => rmSync(topologies, { recursive: true }))
  writeFileSync(join(topologies, 'stored.json'), JSON.stringify(topology))
  const bench = await openTestBench(t, { devices }, { topologies, ...(folder !== undefined && { folder }) })
  const granted = async (method: string, url: string, json?: object) => {
    const reply = await bench.ask(method, url, { ...(json && { json }) })
    if (reply.status > 202) throw new Error(`${method} ${url}: ${reply.status} ${reply.text}`)
    return reply.body as Record<string, unknown>
  }
  const load = async () => {
    await granted('POST', '/api/teachpoints/bulk', teachpoints)
    await granted('POST', '/api/topology/load', { name: 'stored' })
    for (const { device_id } of devices) await granted('POST', `/api/devices/${device_id}/initialize`)
  }
  const inventory = async () => (await granted('GET', '/api/devices/incubator-1/inventory')) as Inventory
  const correct = (slots: object[]) => bench.ask('PUT', '/api/devices/incubator-1/inventory', { json: { slots } })
  return { ...bench, tested: bench, granted, load, inventory, correct, topologies }
}

const plate = (slot: number, barcode: string) => ({ slot, labware: { barcode, type: '96-well' } })

test('without a topology that has its slots, the inventory is not kept, and the refusal says what to load', async (t) => {
  const { ask } = await setup(t)
  isRefusal(t, await ask('GET', '/api/devices/incubator-1/inventory'), 409)
  t.match((await ask('GET', '/api/devices/incubator-1/inventory')).body, { detail: /no topology is loaded; load a topology with/ })
  isRefusal(t, await ask('GET', '/api/devices/incubator/inventory'), 404)
})

test('a run takes the plate with its barcode out of its slot, and stores it again; a person sees that', async (t) => {
  const { tested, granted, load, inventory, correct } = await setup(t)
  await load()
  t.equal((await correct([plate(2, 'P-1'), plate(5, 'P-2')])).status, 200)
  t.match((await inventory()).stored, [
    { slot: 2, name: 'P-1', barcode: 'P-1', type: '96-well', stored_at: Number },
    { slot: 5, name: 'P-2' },
  ])
  await granted('PUT', '/api/workflows/shake-stored', workflow)
  const order = { workflow: 'shake-stored', run_mode: 'LIVE', groups: [{ group_id: 'a', members: { plate: { barcode: 'P-2' } } }] }
  const { execution_id } = await granted('POST', '/api/submissions', order)
  const { status } = await until(tested, `/api/executions/${execution_id}`, ({ status }) => status === 'COMPLETED')
  t.equal(status, 'COMPLETED')
  t.match((await inventory()).stored, [
    { slot: 1, barcode: 'P-2' },
    { slot: 2, barcode: 'P-1' },
  ])
  const missing = { ...order, groups: [{ group_id: 'a', members: { plate: { barcode: 'P-3' } } }] }
  t.match((await tested.ask('POST', '/api/submissions', { json: missing })).body, { detail: /no labware with the barcode P-3/ })
  const three = { ...order, groups: ['a', 'b', 'c'].map((group_id) => ({ group_id, members: {} })) }
  t.match((await tested.ask('POST', '/api/submissions', { json: three })).body, {
    detail: /which has 2 labware of the type 96-well for 3 threads/,
  })
})

test('a person retrieves and stores, and the inventory follows; what stands in the way is named', async (t) => {
  const { load, inventory, correct, ask } = await setup(t)
  await load()
  await correct([plate(2, 'P-1'), plate(3, 'P-2')])
  const retrieve = (slot: number) => ask('POST', '/api/devices/incubator-1/retrieve', { json: { slot } })
  t.match((await retrieve(2)).body, { success: true })
  t.match(await inventory(), { stored: [{ slot: 3 }], stations: [{ position: 'door', labware: { name: 'P-1' } }] })
  t.match(await retrieve(3), { status: 409, body: { detail: /P-1 stands at door; take it away/ } })
  t.match(await ask('POST', '/api/devices/incubator-1/store', { json: { slot: 3 } }), {
    status: 409,
    body: { detail: /P-2 stands at incubator\/slot-3/ },
  })
  t.match((await ask('POST', '/api/devices/incubator-1/store', { json: { slot: 4 } })).body, { success: true })
  t.match(await inventory(), { stored: [{ slot: 3 }, { slot: 4, name: 'P-1' }], stations: [{ labware: null }] })
  t.match((await ask('POST', '/api/devices/incubator-1/store', { json: { slot: 1 } })).body, { success: true })
  t.match((await inventory()).stored, [{ slot: 1, name: 'unknown', barcode: null }, {}, {}])
  t.match((await correct([plate(1, 'P-9')])).body, { message: /3 of 6 slots are taken/ })
  t.match(await inventory(), { stored: [{ slot: 1, barcode: 'P-9' }, {}, {}] })
  await correct([plate(6, 'P-9')])
  t.match(await inventory(), { stored: [{ slot: 3 }, { slot: 4 }, { slot: 6, barcode: 'P-9' }] }, 'labware is in one slot')
  t.match(await correct([plate(1, 'P-7'), plate(2, 'P-7')]), { status: 400, body: { detail: /barcode P-7 is named twice/ } })
  t.match(await correct([plate(7, 'P-7')]), { status: 404, body: { detail: /has no slot 7: it has 6/ } })
  await correct([{ slot: 6, labware: null }])
  t.match(await inventory(), { stored: [{ slot: 3 }, { slot: 4 }] })
})

test('a transfer that is cut off leaves the labware at either end, until somebody says where it is', async (t) => {
  const { granted, load, inventory, correct, ask, bench, clock } = await setup(t)
  await load()
  await correct([plate(2, 'P-1')])
  const retrieving = ask('POST', '/api/devices/incubator-1/retrieve', { json: { slot: 2 } })
  for (let turns = 0; turns < 1000 && !bench.registry.find('incubator-1').operation.run; turns++) await clock.advance(1)
  await granted('POST', '/api/devices/incubator-1/stop')
  await retrieving
  const { stored } = await inventory()
  t.match(stored, [{ slot: 2, place: 'at incubator/slot-2 or held by incubator-1 or at door', remedy: /say where it is/ }])
  t.match(await ask('POST', '/api/devices/incubator-1/initialize'), { status: 200 })
  t.match(await ask('POST', '/api/devices/incubator-1/retrieve', { json: { slot: 2 } }), {
    status: 409,
    body: { detail: /P-1 (is|may be)/ },
  })
  const { incidents } = (await granted('GET', '/api/incidents')) as { incidents: { category: string; message: string }[] }
  t.ok(
    incidents.some(({ category, message }) => category === 'LEDGER_CONTRADICTED' && /transfer of P-1 was cut off: it is at/.test(message)),
  )
  await granted('PUT', `/api/labware/${(stored[0] as unknown as { labware_id: string }).labware_id}/location`, { position: 'door' })
  t.match(await inventory(), { stored: [], stations: [{ labware: { name: 'P-1', place: 'at door' } }] })
})

const orderOf = (barcode: string) => {
  return { workflow: 'shake-stored', run_mode: 'LIVE', groups: [{ group_id: 'a', members: { plate: { barcode } } }] }
}

test('a run that waits for the transfer station gets it after the transfer of a person, and not in the moment of its end', async (t) => {
  const { tested, granted, load, inventory, correct, ask, bench, clock } = await setup(t)
  await load()
  await correct([plate(2, 'P-1'), plate(5, 'P-2')])
  await granted('PUT', '/api/workflows/shake-stored', workflow)
  const retrieving = ask('POST', '/api/devices/incubator-1/retrieve', { json: { slot: 2 } })
  for (let turns = 0; turns < 1000 && !bench.registry.find('incubator-1').operation.run; turns++) await clock.advance(1)
  const { execution_id } = await granted('POST', '/api/submissions', orderOf('P-2'))
  const runOf = () => granted('GET', `/api/executions/${execution_id}`)
  await clock.advance(1000)
  t.match(await runOf(), { paused: null }, 'the transfer comes to its end')
  t.match(await retrieving, { status: 200, body: { success: true } })
  await until(tested, `/api/executions/${execution_id}`, ({ paused }) => paused !== null)
  const { incidents } = (await granted('GET', '/api/incidents')) as { incidents: { category: string; message: string }[] }
  t.match(incidents.find(({ category }) => category === 'SYSTEM_STALL')?.message, /P-1/, 'somebody has to take it away')
  t.match(await inventory(), { stored: [{ slot: 5 }], stations: [{ labware: { name: 'P-1', place: 'at door' } }] })
  t.match(await ask('POST', '/api/devices/incubator-1/store', { json: { slot: 3 } }), { status: 200 })
  await granted('POST', `/api/executions/${execution_id}/resume`)
  const { status } = await until(tested, `/api/executions/${execution_id}`, ({ status }) => status === 'COMPLETED')
  t.equal(status, 'COMPLETED')
  t.match((await inventory()).stored, [
    { slot: 1, barcode: 'P-2' },
    { slot: 3, barcode: 'P-1' },
  ])
})

test('a storage that refuses has moved nothing, and nobody has to look', async (t) => {
  const { granted, load, inventory, correct, ask } = await setup(t)
  await load()
  await correct([plate(2, 'P-1')])
  await granted('POST', '/api/devices/incubator-1/stop')
  const transfers = { retrieve: { slot: 2 }, store: { slot: 3 } }
  for (const [operation, json] of Object.entries(transfers))
    isRefusal(t, await ask('POST', `/api/devices/incubator-1/${operation}`, { json }), 409)
  t.match(await inventory(), { stored: [{ slot: 2, place: 'at incubator/slot-2' }], stations: [{ labware: null }] })
  t.equal((await inventory()).stored.length, 1)
  t.same((await granted('GET', '/api/incidents')).incidents, [])
})

test('while a storage moves labware for a person, nobody says that the labware is elsewhere', async (t) => {
  const { load, inventory, correct, ask, bench, clock } = await setup(t)
  await load()
  await correct([plate(2, 'P-1')])
  const [{ labware_id }] = (await inventory()).stored as unknown as [{ labware_id: string }]
  const retrieving = ask('POST', '/api/devices/incubator-1/retrieve', { json: { slot: 2 } })
  for (let turns = 0; turns < 1000 && !bench.registry.find('incubator-1').operation.run; turns++) await clock.advance(1)
  const moves = { status: 409, body: { detail: /incubator-1 moves P-1 just now; wait, or stop incubator-1/ } }
  // The clock goes on with each request, and the transfer would end.
  const replies = [[{ slot: 2, labware: null }], [plate(4, 'P-1')]].map((slots) => correct(slots))
  replies.push(ask('PUT', `/api/labware/${labware_id}/location`, { json: { position: 'incubator/slot-5' } }))
  for (const reply of await Promise.all(replies)) t.match(reply, moves)
  t.match(await retrieving, { status: 200 })
  t.match(await inventory(), { stored: [], stations: [{ labware: { name: 'P-1', place: 'at door' } }] })
})

test('labware out of a slot of which nobody knew anything stands at the station as unknown labware', async (t) => {
  const { load, inventory, correct, ask } = await setup(t)
  await load()
  t.match(await ask('POST', '/api/devices/incubator-1/retrieve', { json: { slot: 4 } }), { status: 200 })
  t.match(await inventory(), { stored: [], stations: [{ labware: { name: 'unknown', place: 'at door' } }] })
  t.match(await ask('POST', '/api/devices/incubator-1/store', { json: { slot: 1 } }), { status: 200 })
  t.match(await inventory(), { stored: [{ slot: 1, name: 'unknown' }], stations: [{ labware: null }] })
  await correct([{ slot: 1, labware: null }])
})

test('a transfer that ends on a topology that was loaded anew is noted there', async (t) => {
  const { granted, load, inventory, correct, ask, bench, clock } = await setup(t)
  await load()
  await correct([plate(2, 'P-1'), plate(3, 'P-2')])
  const begin = async (operation: string, slot: number) => {
    const reply = ask('POST', `/api/devices/incubator-1/${operation}`, { json: { slot } })
    for (let turns = 0; turns < 1000 && !bench.registry.find('incubator-1').operation.run; turns++) await clock.advance(1)
    return { reply }
  }
  const { runs } = bench
  const { reply } = await begin('retrieve', 2)
  runs.runtime.unload()
  runs.runtime.load('stored')
  t.match(await reply, { status: 200 })
  t.match(await inventory(), { stored: [{ slot: 3 }], stations: [{ labware: { name: 'P-1', place: 'at door' } }] })
  const { reply: unseen } = await begin('store', 5)
  runs.runtime.unload()
  t.match(await unseen, { status: 200 })
  const { incidents } = (await granted('GET', '/api/incidents')) as { incidents: { message: string }[] }
  t.match(incidents, [{ message: /the transfer of P-1 .*at door or held by incubator-1 or at incubator\/slot-5/ }])
})

test('a group without a barcode gets no labware that another group names', async (t) => {
  const { tested, granted, load, correct } = await setup(t)
  await load()
  await correct([plate(1, 'P-1'), plate(2, 'P-2')])
  await granted('PUT', '/api/workflows/shake-stored', workflow)
  const groups = [{ group_id: 'a' }, { group_id: 'b', members: { plate: { barcode: 'P-1' } } }]
  const { execution_id } = await granted('POST', '/api/submissions', { workflow: 'shake-stored', run_mode: 'LIVE', groups })
  const { threads } = (await until(tested, `/api/executions/${execution_id}`, ({ status }) => status === 'COMPLETED')) as {
    threads: { group_id: string; barcode: string }[]
  }
  t.same(Object.fromEntries(threads.map(({ group_id, barcode }) => [group_id, barcode])), { a: 'P-2', b: 'P-1' })
})

test('a storage with fewer slots reports its labware in one sentence, and keeps free where other labware may be', async (t) => {
  const { granted, load, inventory, correct, ask, bench, clock, topologies } = await setup(t)
  const { positions, ...rest } = topology
  const haveSlots = async (slots: number) => {
    writeFileSync(join(topologies, 'stored.json'), JSON.stringify({ ...rest, positions: { ...positions, incubator: { slots } } }))
    await granted('POST', '/api/system/reload')
  }
  await haveSlots(20)
  await load()
  await correct(Array.from({ length: 20 }, (_, i) => plate(i + 1, `P-${i + 1}`)))
  const retrieving = ask('POST', '/api/devices/incubator-1/retrieve', { json: { slot: 6 } })
  for (let turns = 0; turns < 1000 && !bench.registry.find('incubator-1').operation.run; turns++) await clock.advance(1)
  await granted('POST', '/api/devices/incubator-1/stop')
  await retrieving
  await granted('POST', '/api/topology/unload')
  await haveSlots(1)
  await granted('POST', '/api/topology/load', { name: 'stored' })
  t.match(await inventory(), { slots: 1, stored: [{ slot: 1, name: 'P-1' }] })
  const { incidents } = (await granted('GET', '/api/incidents')) as { incidents: { category: string; message: string }[] }
  const lost = incidents.filter(({ category }) => category === 'DECK_RECONCILE_CONFLICT')
  t.match(lost, [{ message: /^P-2 stood at incubator\/slot-2, .*; and 14 more; say where it is$/ }])
  t.equal(lost.length, 1)
  await granted('POST', '/api/devices/incubator-1/initialize')
  t.match(await ask('POST', '/api/devices/incubator-1/retrieve', { json: { slot: 1 } }), {
    status: 409,
    body: { detail: /P-6 may be at door; say first where it is/ },
  })
})
