// Hono with the two routes and valibot, and nothing else: what the framework costs by itself.

import { randomUUID } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import * as v from 'valibot'
import { devices, isDevice, isKey, key, limits, tellOf } from './serving.ts'

const within = ({ min, max }: { min: number; max: number }) => v.pipe(v.number(), v.finite(), v.minValue(min), v.maxValue(max))
const Shake = v.strictObject({ speed: within(limits.speed), duration: within(limits.duration) })
const headers = { 'X-API-Version': '2.1.0', 'Cache-Control': 'no-store' }

const app = new Hono()
app.use(async (c, next) => (isKey(c.req.header('x-api-key')) ? next() : c.json({ detail: 'a key is needed' }, 401)))
app.get('/api/devices', (c) => c.json({ devices }, 200, headers))
app.post('/api/devices/:device_id/shake', async (c) => {
  const device_id = c.req.param('device_id')
  if (!isDevice(device_id)) return c.json({ detail: 'nothing there' }, 404)
  if (c.req.header('content-type') !== 'application/json') return c.json({ detail: 'JSON is needed' }, 415)
  const { success, output: params } = v.safeParse(Shake, await c.req.json())
  if (!success) return c.json({ detail: 'the body must hold speed and duration in their ranges' }, 400)
  const { speed, duration } = params
  const message = `${device_id}: shook at ${speed} rpm for ${duration} s`
  return c.json({ success: true, message }, 200, { ...headers, 'Operation-Id': randomUUID() })
})

serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }: AddressInfo) => tellOf({ port, host: `127.0.0.1:${port}`, key }))
