// Every fault of the catalogue can be made on the devices of the assay's bench, and is taken back: an arm has no heater and no door.

import { test } from 'tap'
import { openBench } from '../testing/http.ts'
import { assayBench } from './assay_bench.ts'

const faults = ['no_reply', 'garbage', 'half_reply', 'late_reply', 'unplug', 'jam', 'overtemperature', 'interlock_open']

test('every fault can be made on each device of the assay that can have it, and ends when it is taken back', async (t) => {
  const { ask, lab } = await openBench(t, assayBench)
  const devices = lab.registry.all().filter(({ driven }) => driven)
  t.equal(devices.length, assayBench.devices.length)
  for (const instrument of devices) {
    const { device_id } = instrument
    const isArm = instrument.info().driver === 'arm'
    for (const fault of faults) {
      const made = await ask('POST', `/api/sim/devices/${device_id}/faults`, { json: { fault } })
      const cannot = isArm && ['overtemperature', 'interlock_open'].includes(fault)
      t.same(
        [made.status, made.body],
        cannot
          ? [400, { detail: `${device_id} cannot have the fault ${fault}` }]
          : [200, { success: true, message: `${device_id} has the fault ${fault}` }],
      )
      t.match((await ask('DELETE', `/api/sim/devices/${device_id}/faults`)).status, 200)
    }
  }
})
