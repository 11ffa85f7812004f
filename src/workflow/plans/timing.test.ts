import { test } from 'tap'
import { topologyWith } from '../../testing/plans.ts'
import { secondsOf } from './timing.ts'

test('the time of an operation is what the action says, else the topology, else the table, and then the duration on top', async (t) => {
  const { devices } = topologyWith()
  const [shaker, sealer, washer] = ['shaker-1', 'sealer-1', 'washer'].map((id) => devices.get(id)!)
  t.equal(secondsOf('shake', shaker!, { params: { speed: 500, duration: 60 }, said: 3 }), 3)
  t.equal(secondsOf('shake', shaker!, { params: { speed: 500, duration: 60 } }), 65)
  t.equal(secondsOf('seal', sealer!, { params: { temperature: 165, duration: 3 } }), 10)
  t.equal(secondsOf('run_protocol', washer!, { params: {} }), 240)
  t.equal(secondsOf('lock_plate', shaker!, { params: {} }), 3)
  t.equal(secondsOf('get_temperature', sealer!, { params: {} }), 0)
})
