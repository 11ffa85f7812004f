// The scenarios' common part: a bench with a simulated storage, from `dist/` (or the folder that $BENCHD_DIST names). A run and a person move plates in
// and out of its slots at the same time.
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { benchOf } from './bench.mjs'
import { load } from './shared.mjs'

const { barcodes, devices, first, slots, teachpoints, topology, workflow } = await load('src/testing/stored.js')

const transfers = 10
/** The last one is the run's, the others are moved by a person. */
const inRun = barcodes.at(-1)
const { opened, withBench } = benchOf(devices, ({ ask, granted, bench }) => ({ ask, granted, storage: bench.registry.find('incubator-1') }))
const positionOf = (number) => `incubator/slot-${number}`

/**
 * Acknowledges `orders PLATE FROM TO` before a person's transfer, `moves PLATE FROM TO` when the storage has begun it, and `stands PLATE PLACE` after its
 * answer. `spoil` is called before anything is opened for writing.
 */
export const storing = (spoil = () => {}) => ({
  async prepare(directory) {
    mkdirSync(`${directory}/topologies`)
    writeFileSync(`${directory}/topologies/stored.json`, JSON.stringify(topology))
    await withBench(directory, async ({ granted }) => {
      await granted('POST', '/api/teachpoints/bulk', teachpoints)
      await granted('POST', '/api/topology/load', { name: 'stored' })
      await granted('PUT', '/api/workflows/shake-stored', workflow)
      await granted('PUT', '/api/devices/incubator-1/inventory', { slots: first })
    })
  },

  async write(directory, acknowledge) {
    await spoil()
    const bench = await opened(directory)
    for (const { device_id } of devices) await bench.granted('POST', `/api/devices/${device_id}/initialize`)
    const work = { isOver: false }
    const runs = runAgain(bench, work)
    await moveByHand(bench, acknowledge)
    work.isOver = true
    await runs
    await bench.close()
  },

  async check(directory, acknowledged) {
    await withBench(directory, async (bench) => {
      const live = await look(bench)
      for (const barcode of barcodes.slice(0, -1)) {
        const [word = 'stands', ...places] = lastAbout(barcode, acknowledged) ?? ['stands', positionOf(barcodes.indexOf(barcode) + 1)]
        const { place } = live.find((piece) => piece.barcode === barcode)
        // A transfer that is ordered may not have begun; one that has begun may have ended; the place of labware at rest is known, or being left.
        const possible = word === 'orders' ? places : [places.at(-1)]
        assert.ok(
          possible.some((one) => names(place, one)),
          `${word}: the disk does not have the place of a plate`,
        )
      }
      await settle(bench)
    })
  },
})

function names(place, position) {
  return place.split(/[ ,]+/).includes(position)
}

function lastAbout(barcode, acknowledged) {
  return acknowledged
    .findLast((text) => text.split(' ')[1] === barcode)
    ?.split(' ')
    .filter((_, i) => i !== 1)
}

/** A person retrieves plates, and stores each in another slot. Refusals because of the run are tried again. */
async function moveByHand({ ask, storage }, acknowledge) {
  const at = new Map(barcodes.map((barcode, i) => [barcode, i + 1]))
  for (let i = 0; i < transfers; i++) {
    const barcode = barcodes[i % (barcodes.length - 1)]
    for (const operation of ['retrieve', 'store']) {
      for (let tries = 0, isDone = false; !isDone; tries++) {
        assert.ok(tries < 1000, `${operation} is always refused`)
        const number = operation === 'retrieve' ? at.get(barcode) : 1 + ((i + tries + 4) % slots)
        const places = operation === 'retrieve' ? [positionOf(number), 'door'] : ['door', positionOf(number)]
        await acknowledge(`orders ${barcode} ${places.join(' ')}`)
        const asked = ask('POST', `/api/devices/incubator-1/${operation}`, { slot: number })
        isDone = await watched(asked, storage, operation, () => acknowledge(`moves ${barcode} ${places.join(' ')}`))
        await acknowledge(`stands ${barcode} ${places[isDone ? 1 : 0]}`)
        if (isDone) at.set(barcode, number)
        else await sleep(5)
      }
    }
  }
}

/** Calls `begun` when the storage performs the operation of a person; resolves to whether it was done. */
async function watched(asked, storage, operation, begun) {
  let reply
  asked.then((its) => {
    reply = its
  })
  for (let isTold = false; !reply; await sleep(1)) {
    const { run } = storage.operation
    if (isTold || run?.name !== operation || run.by === null) continue
    isTold = true
    await begun()
  }
  assert.ok([200, 409].includes(reply.status), JSON.stringify(reply))
  return reply.status === 200
}

/** Runs take the last plate out of the storage, shake it, and store it again. */
async function runAgain({ ask, granted }, work) {
  const order = { workflow: 'shake-stored', run_mode: 'LIVE', groups: [{ group_id: 'a', members: { plate: { barcode: inRun } } }] }
  while (!work.isOver) {
    const { execution_id } = await granted('POST', '/api/submissions', order)
    for (let its = {}; its.status !== 'COMPLETED'; await sleep(10)) {
      its = await granted('GET', `/api/executions/${execution_id}`)
      assert.ok(!/FAILED|ABORTED|STOPPED/.test(its.status), its.status)
      // A run stops and asks where a plate at the transfer station is in its way.
      if (its.paused) await ask('POST', `/api/executions/${execution_id}/resume`)
    }
  }
}

/** Each plate is known once, in a place of its own; one that may be in several has its incident. Returns the plates. */
async function look({ granted }) {
  const { labware } = await granted('GET', '/api/labware')
  const live = labware.filter(({ run_mode }) => run_mode === 'LIVE')
  assert.deepEqual(live.map(({ barcode }) => barcode).sort(), barcodes, 'a plate is lost, or known twice')
  const seats = live.flatMap(({ position }) => position ?? [])
  assert.equal(new Set(seats).size, barcodes.length, 'two plates are in one place, or one is nowhere')
  const { incidents } = await granted('GET', '/api/incidents?limit=1000')
  for (const { place } of live.filter(({ place }) => place.includes(' or ')))
    assert.ok(
      incidents.some(({ message }) => message.includes(place)),
      'no incident says where a plate may be',
    )
  return live
}

/** A person stops the runs, puts each plate back into its first slot, and says so. */
async function settle({ ask, granted }) {
  const { executions } = await granted('GET', '/api/executions')
  for (const { execution_id, status } of executions)
    for (const confirm of /COMPLETED|ABORTED|FAILED|STOPPED/.test(status) ? [] : [false, true])
      await granted('POST', `/api/executions/${execution_id}/stop`, { confirm })
  const empty = Array.from({ length: slots - first.length }, (_, i) => ({ slot: first.length + i + 1, labware: null }))
  const correct = () => ask('PUT', '/api/devices/incubator-1/inventory', { slots: [...first, ...empty] })
  // A run that is stopped lets go of its plate a moment later.
  for (let tries = 0; (await correct()).status !== 200; tries++, await sleep(5)) assert.ok(tries < 200, 'the inventory cannot be corrected')
  const { stored } = await granted('GET', '/api/devices/incubator-1/inventory')
  const found = stored.map(({ slot, barcode }) => ({ slot, barcode }))
  assert.deepEqual(
    found,
    first.map(({ slot, labware: { barcode } }) => ({ slot, barcode })),
    'the inventory cannot be corrected',
  )
}
