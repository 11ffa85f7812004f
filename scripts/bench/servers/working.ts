// The demo bench, which carries out runs and refuses what an interlock forbids, with the broker of a lab or without.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { demoConfig, prepareDemo } from '../../../src/examples/demo.ts'
import { silent } from '../../../src/kit/log.ts'
import { startService } from '../../../src/main.ts'
import { answerParent } from '../child.ts'

/** The time of a step of a run, and of a request that an interlock refuses. */
export type Worked = { step_ms: number; refusal_ms: number }

const steps = 50
/** `broker` is the address of a lab's broker, for a bench with a fleet. */
const [, , broker] = process.argv
const data_dir = mkdtempSync(join(tmpdir(), 'benchd-working-'))
process.on('exit', () => rmSync(data_dir, { recursive: true, force: true }))
const fleet = broker ? { fleet: { servers: [broker], lab: 'floor-2', name: 'bench-1' } } : {}
const config = { ...(await demoConfig(1000)), ...fleet, listen: { host: '127.0.0.1', port: 0, tls: null } }
const { bench, url } = await startService(config, { data_dir, log: silent })
const api_key = await prepareDemo(bench)
const { runtime } = await bench.openRuns()

await ask('PUT', '/api/workflows/steps', {
  format: 1,
  name: 'steps',
  topology: 'demo',
  labware: { plate: { type: '96-well' } },
  methods: { count: Array.from({ length: steps }, (_, i) => ({ emit: `step.${i}` })) },
  threads: {
    plate: {
      labware: 'plate',
      start: { at: 'pad_1', mode: 'REUSE_EXISTING' },
      end: { at: ['pad_1'], mode: 'LEAVE_IN_PLACE' },
      steps: [{ method: 'count' }],
    },
  },
  start: ['plate'],
})
await ask('POST', '/api/devices/shaker-1/initialize')
await ask('POST', '/api/devices/shaker-1/unlock_plate')

answerParent({}, async (): Promise<Worked> => {
  const [step_ms, refusal_ms] = [(await timeOf(run)) / steps, await timeOf(refusal)]
  return { step_ms, refusal_ms }
})

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}

let ended = (_status: string) => {}
runtime.registerSink({
  name: 'bench',
  onEvent: ({ entity_type, status }) => {
    if (entity_type === 'EXECUTION' && ['COMPLETED', 'FAILED', 'ABORTED'].includes(status)) ended(status)
  },
})

async function run(): Promise<void> {
  const over = new Promise<string>((resolve) => (ended = resolve))
  await ask('POST', '/api/submissions', { workflow: 'steps', run_mode: 'LIVE' })
  const status = await over
  if (status !== 'COMPLETED') throw new Error(`the run is ${status}`)
}

async function refusal(): Promise<void> {
  const { status } = await request('POST', '/api/devices/shaker-1/shake', { speed: 500, duration: 1 })
  if (status !== 409) throw new Error(`a shake of an open lock is answered ${status}`)
}

async function ask(method: string, path: string, body?: object): Promise<void> {
  const response = await request(method, path, body)
  if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`)
}

function request(method: string, path: string, body?: object): Promise<Response> {
  const headers = { 'X-API-Key': api_key, ...(body && { 'Content-Type': 'application/json' }) }
  return fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
}
