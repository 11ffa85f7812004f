import { test } from 'tap'
import { topologyWith } from '../../testing/plans.ts'
import { limitOf, secondsOf } from './timing.ts'

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

test('a call is late after its duration and the margin of the table, or that of the model where it is longer', (t) => {
  const { devices } = topologyWith()
  const shaker = devices.get('shaker-1')!
  t.equal(limitOf('shake', shaker, { params: { speed: 500, duration: 60 } }), 90)
  t.equal(limitOf('shake', { ...shaker, margins: { shake: 900 } }, { params: { speed: 500, duration: 60 } }), 960)
  t.equal(limitOf('shake', { ...shaker, margins: { shake: 3 } }, { params: { speed: 500, duration: 60 } }), 90)
  t.end()
})
