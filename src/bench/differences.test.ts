import { test } from 'tap'
import { checkConfig } from '../config.ts'
import { differences } from './differences.ts'

const shaker = { device_id: 'shaker-1', driver: 'bioshake', transport: { kind: 'simulated' } }
const robot = { device_id: 'robot-1', driver: 'external' }
const config = (more: object) => checkConfig({ format: 1, ...more }, 'it')

test('configurations that say the same do not differ, however they say it', async (t) => {
  const long = { ...shaker, name: 'shaker-1', settings: {}, limits: {}, on_restart: 'halt' }
  t.same(differences(await config({ devices: [shaker] }), await config({ $schema: './x', hosts: [], devices: [long] })), [])
})

test('each member that differs is named by its place, and a device by its id', async (t) => {
  const from = await config({ hosts: ['a.lab'], stop_input: { bcm: 4 }, devices: [shaker, robot] })
  const to = await config({
    hosts: ['a.lab', 'b.lab'],
    cors: { origins: ['http://b.lab'] },
    listen: { port: 8000, tls: { cert: 'c', key: 'k' } },
    events: { queue: 5 },
    devices: [
      { ...shaker, settings: { model: 'Q1' }, limits: { speed: { max: 1000 } } },
      { ...robot, device_id: 'robot-2' },
    ],
  })
  t.same(differences(from, to).sort(), [
    'cors.origins',
    'devices: robot-1 is gone',
    'devices: robot-2 is new',
    'devices: shaker-1.limits.speed',
    'devices: shaker-1.settings.model',
    'events.queue',
    'hosts',
    'listen.port',
    'listen.tls',
    'stop_input',
  ])
  t.same(differences(await config({ devices: [shaker, robot] }), await config({ devices: [robot, shaker] })), ['devices: their order'])
})
