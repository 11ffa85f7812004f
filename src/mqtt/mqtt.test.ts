// The state of a bench at a real MQTT broker.

import type { Test } from 'tap'
import { openService } from '../testing/http.ts'
import { type Mosquitto, mosquitto, withMosquitto } from '../testing/mosquitto.ts'

async function connected(t: Test, broker: Mosquitto, mqtt: object = {}) {
  const listener = await broker.listen()
  const online = listener.next(({ topic, payload }) => topic === 'benchd/bench-1/availability' && payload === 'online')
  const service = await openService(t, { system_id: 'bench-1', mqtt: { url: broker.url, ...mqtt } })
  await online
  return { ...service, listener }
}

withMosquitto('devices are retained with their state, also for a client that comes later', async (t) => {
  const broker = await mosquitto(t)
  const { listener, ask } = await connected(t, broker)
  const ready = listener.next(({ topic, payload }) => topic === 'benchd/bench-1/device/shaker-1/state' && JSON.parse(payload).state === 'idle')
  await ask('POST', '/api/devices/shaker-1/initialize')
  await ready
  const kept = await broker.retained()
  t.match(JSON.parse(kept.get('benchd/bench-1/device/shaker-1/state')!), { device_id: 'shaker-1', state: 'idle' })
  t.match(JSON.parse(kept.get('benchd/bench-1/state')!), { status: /ok|degraded/ })
})
