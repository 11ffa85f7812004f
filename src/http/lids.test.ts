// Lids over the API: a run is refused before an arm closes its fingers on the plate.

import { test } from 'tap'
import { demoTeachpoints } from '../examples/demo_bench.ts'
import { openTestBench } from '../testing/http.ts'

const lidded = (lid: object) => ({
  format: 1,
  name: 'lidded',
  topology: 'demo',
  labware: { plate: { type: '96-well' }, lid: { type: '96-well lid', kind: 'lid', on: 'plate', ...lid } },
  methods: {
    open: [{ do: 'shake', on: 'shaker-1', with: { speed: 300, duration: 1 } }, { remove_lid: 'lid', to: ['pad_1'] }, { put_lid: 'lid' }],
  },
  threads: {
    plate: {
      labware: 'plate',
      start: { at: 'pad_2', mode: 'REUSE_EXISTING' },
      end: { at: ['pad_2'], mode: 'LEAVE_IN_PLACE' },
      steps: [{ method: 'open' }],
    },
  },
  start: ['plate'],
})

test('a LIVE run with a lid needs to know how high the arm grips it', async (t) => {
  const { ask, bench } = await openTestBench(t)
  await bench.teachpoints.importAll(demoTeachpoints, { overwrite: true })
  await ask('POST', '/api/topology/load', { json: { name: 'demo' } })
  const submitted = async (lid: object) => {
    const stored = await ask('PUT', '/api/workflows/lidded', { json: lidded(lid) })
    t.ok(stored.status < 300, stored.text)
    return ask('POST', '/api/submissions', { json: { workflow: 'lidded', run_mode: 'LIVE' } })
  }
  const refused = await submitted({})
  t.equal(refused.status, 400)
  t.match(refused.text, /arm-1 would close its fingers on the plate: say in labware.lid.grip_offset_mm how much higher it grips lid/)
  t.equal((await submitted({ grip_offset_mm: 6 })).status, 202)
})
