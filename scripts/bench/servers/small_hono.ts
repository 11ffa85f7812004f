// The least that a service of Hono and valibot is: one route, one schema. Its memory is the limit of that of an idle bench.

import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import * as v from 'valibot'

const Health = v.strictObject({ status: v.literal('ok'), uptime_s: v.pipe(v.number(), v.minValue(0)) })

const app = new Hono()
app.get('/health', (c) => c.json(v.parse(Health, { status: 'ok', uptime_s: process.uptime() })))
serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }: AddressInfo) => console.log(`http://127.0.0.1:${port}`))
