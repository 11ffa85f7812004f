// A stop is taken in whatever state a device or the service is; and what is wrong in a driver is a fault like any other.

import { mkdir } from 'node:fs/promises'
import { test } from 'tap'
import { drivers } from '../../drivers/index.ts'
import { atTheEnd, isRefusal, openTestBench, type TestedBench } from '../testing/http.ts'

const shaker = '/api/devices/shaker-1'
const gentle = { speed: 500, duration: 60 }

/** What brings the shaker into a state, from the start of the service. */
const states: Record<string, (setup: TestedBench) => Promise<unknown>> = {
  not_initialized: async () => {},
  ready: ({ ask }) => ask('POST', `${shaker}/initialize`),
  async busy(setup) {
    await states.ready!(setup)
    await setup.ask('POST', `${shaker}/lock_plate`)
    await setup.ask('POST', `${shaker}/shake`, { json: gentle, headers: { prefer: 'respond-async' } })
    await setup.clock.advance(4000)
  },
  async stopped(setup) {
    await states.busy!(setup)
    await setup.ask('POST', `${shaker}/stop`)
  },
  async faulted(setup) {
    await states.busy!(setup)
    await setup.ask('POST', '/api/sim/devices/shaker-1/faults', { json: { fault: 'jam' } })
    await setup.clock.advance(10_000)
  },
}

for (const [state, reach] of Object.entries(states)) {
  for (const storage of ['works', 'does not work']) {
    test(`a stop is sent to a device that is ${state}, and latches it, where the storage ${storage}`, async (t) => {
      const setup = await openTestBench(t)
      const { ask, bench, data_dir, clock } = setup
      if (storage !== 'works') await breakStorage(data_dir)
      await reach(setup)
      t.match((await ask('GET', shaker)).body, { state })
      const before = said(setup).length
      t.match(await ask('POST', `${shaker}/stop`, { key: 'read' }), { status: 200, body: { success: Boolean, message: /^shaker-1/ } })
      t.match(said(setup)[before], /^shakeEmergencyOff/, 'its bytes are the next on the wire')
      await clock.advance(5000)
      t.match((await ask('GET', shaker)).body, { is_initialized: false, operation: null, fault: Object })
      isRefusal(t, await ask('POST', `${shaker}/lock_plate`), 409, 'stopped')
      t.equal(bench.registry.find('shaker-1').state, 'stopped')
    })
  }
}

test('a stop is sent while keys are rewritten', async (t) => {
  const setup = await openTestBench(t)
  await states.busy!(setup)
  const { ask, clock } = setup
  const made = Array.from({ length: 8 }, (_, i) => ask('POST', '/api/keys', { json: { name: `key ${i}`, scope: 'read' } }))
  t.match(await ask('POST', `${shaker}/stop`, { key: 'read' }), { status: 200 })
  for (const { status } of await clock.run(Promise.all(made))) t.equal(status, 201)
  t.match((await ask('GET', shaker)).body, { state: 'stopped' })
})

test('what throws in a driver is an internal error in words of ours, halts the device and latches it', async (t) => {
  const ending = atTheEnd(t)
  const driver = await drivers.bioshake()
  const { open } = driver
  ending.push(async () => {
    driver.open = open
  })
  const lock_plate = async () => {
    throw new TypeError('secret of the house')
  }
  driver.open = (at) => Object.assign(open(at), { lock_plate })
  const setup = await openTestBench(t)
  const { ask, logged } = setup
  await states.ready!(setup)
  const before = said(setup).length
  isRefusal(t, await ask('POST', `${shaker}/lock_plate`), 500, 'internal')
  t.match(said(setup)[before], /^shakeEmergencyOff/)
  t.match((await ask('GET', shaker)).body, {
    state: 'faulted',
    is_initialized: false,
    fault: { command: 'lock_plate', error_type: 'Internal' },
  })
  t.match(logged.join('\n'), /lock_plate failed in the driver/)
  isRefusal(t, await ask('POST', `${shaker}/shake`, { json: gentle }), 409, 'faulted')
  t.match(await ask('POST', `${shaker}/initialize`), { status: 200 })
})

/** A folder stands where the file of the latches belongs. */
async function breakStorage(data_dir: string): Promise<void> {
  await mkdir(`${data_dir}/latches.json/in-the-way`, { recursive: true })
}

function said({ bench }: TestedBench): string[] {
  const { frames } = bench.registry.find('shaker-1').wire()
  return frames.filter(({ direction }) => direction === 'to_device').map(({ text }) => text)
}
