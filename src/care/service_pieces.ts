// The pieces of a support bundle that come from the service's API, for the command and for the route.

import { messageOf } from '../errors.ts'
import type { RuntimeEvent } from '../events/event.ts'
import { indented } from '../kit/json.ts'
import type { Bundle, BundleFile } from './bundle.ts'

/** A piece that is not fetched yet. */
export type Wish = Omit<BundleFile, 'text'> & { get(): Promise<string> }
/** Asks the service with GET, and resolves with the text of its answer. */
type Asking = (path: string) => Promise<string>

const mostEvents = 2000
/** Windows of time in seconds, tried until there are enough events. */
const windows = [600, 3600, 86_400, 30 * 86_400]

/** Fetches the pieces. Failures are added to `missing` with their reasons. */
export async function gathered(wishes: readonly Wish[], missing: Bundle['missing']): Promise<Bundle> {
  const bundle = { pieces: [] as BundleFile[], missing: [...missing] }
  for (const { name, what, get } of wishes) {
    try {
      bundle.pieces.push({ name, what, text: await get() })
    } catch (error) {
      bundle.missing.push({ name, why: messageOf(error) })
    }
  }
  return bundle
}

/** The pieces for keys of scope read. */
export async function servicePieces(ask: Asking): Promise<Wish[]> {
  return [...ofService(ask), ...(await ofDevices(ask))]
}

/** The pieces for keys of scope admin. */
export function adminPieces(ask: Asking): Wish[] {
  return [
    { name: 'config.json', what: 'the configuration in force', get: answer(ask, '/api/system/config') },
    { name: 'doctor.json', what: 'what benchd doctor finds', get: answer(ask, '/api/system/doctor') },
  ]
}

function answer(ask: Asking, path: string): () => Promise<string> {
  return async () => indented(JSON.parse(await ask(path)))
}

function ofService(ask: Asking): Wish[] {
  return [
    { name: 'health.json', what: 'GET /health', get: answer(ask, '/health') },
    { name: 'system.json', what: 'GET /api/system', get: answer(ask, '/api/system') },
    { name: 'ports.json', what: 'serial ports', get: answer(ask, '/api/system/ports') },
    { name: 'incidents.json', what: 'incidents', get: answer(ask, '/api/incidents') },
    { name: 'executions.json', what: 'runs', get: answer(ask, '/api/executions') },
    { name: 'metrics.txt', what: 'GET /metrics', get: () => ask('/metrics') },
    { name: 'events.jsonl', what: `the newest events, ${mostEvents} at most`, get: () => newestEvents(ask) },
  ]
}

async function ofDevices(ask: Asking): Promise<Wish[]> {
  const { devices } = JSON.parse(await ask('/api/devices')) as { devices: { device_id: string }[] }
  const infos = await Promise.all(
    devices.map(async ({ device_id }) => JSON.parse(await ask(`/api/devices/${device_id}`)) as { device_id: string; fault: object | null }),
  )
  const faulted = infos.filter(({ fault }) => fault !== null).map(({ device_id }) => device_id)
  return [
    { name: 'devices.json', what: 'state of each device', get: async () => indented(infos) },
    ...faulted.map((device_id) => ({
      name: `wire/${device_id}.json`,
      what: `the last words with ${device_id}, which has a fault`,
      get: answer(ask, `/api/devices/${device_id}/wire`),
    })),
  ]
}

async function newestEvents(ask: Asking): Promise<string> {
  let newest: RuntimeEvent[] = []
  for (const window_s of windows) {
    newest = await eventsSince(ask, Date.now() / 1000 - window_s)
    if (newest.length >= mostEvents) break
  }
  return newest.map((event) => `${JSON.stringify(event)}\n`).join('')
}

async function eventsSince(ask: Asking, since: number): Promise<RuntimeEvent[]> {
  let newest: RuntimeEvent[] = []
  for (let from = since; ; ) {
    const path = `/events?since=${from}&limit=${mostEvents}`
    const { events, next_since } = JSON.parse(await ask(path)) as { events: RuntimeEvent[]; next_since: number }
    newest = [...newest, ...events].slice(-mostEvents)
    if (events.length < mostEvents) return newest
    from = next_since
  }
}
