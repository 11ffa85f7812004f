// Faults on the bench of the assay: each of its devices can be broken in every way that its kind has, and is mended again.

import { test } from 'tap'
import { lineFaults } from '../../drivers/transports/faults.ts'
import { openTestBench } from '../testing/http.ts'
import { assayBench } from './assay_bench.ts'

const faults = [...lineFaults, 'unplug', 'jam', 'overtemperature', 'interlock_open']
/** An arm is neither hot nor has a door. */
const notOfArms = ['overtemperature', 'interlock_open']

test('every fault can be ordered from every device of the bench of the assay, and be taken away again', async (t) => {
  const { ask } = await openTestBench(t, assayBench)
  for (const { device_id, driver } of assayBench.devices) {
    const path = `/api/sim/devices/${device_id}/faults`
    const refused: string[] = []
    for (const fault of faults) {
      if ((await ask('POST', path, { json: { fault } })).status !== 200) refused.push(fault)
      t.equal((await ask('DELETE', path)).status, 200)
    }
    t.same(refused, driver === 'arm' ? notOfArms : [], device_id)
  }
})
