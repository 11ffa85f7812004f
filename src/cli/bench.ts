// The present state of the bench from the live stream, for `status` and `top`.

import { Readable } from 'node:stream'
import { text as textOf } from 'node:stream/consumers'
import { emptyState, messagesIn, reduceAll, type State } from '../clients/ts/benchd.ts'
import type { DeviceInfo, Reading } from '../devices/records.ts'
import type { Incident } from '../events/incidents.ts'
import type { ExecutionSnapshot, ExecutionSummary, ShownThread } from '../workflow/snapshot.ts'
import { ask, open, type Service } from './client.ts'
import { CliError } from './exit.ts'

export type Health = { status: 'ok' | 'degraded' | 'starting' | 'stopping'; version: string; uptime_s: number; reasons: string[] }
type ManualStep = { step_id: string; execution_id: string; instruction: string; since: number }

/** The part that comes from the live stream. */
export type Shown = {
  health: Health
  system_id: string
  devices: DeviceInfo[]
  /** The newest readings by device. */
  readings: Readonly<Record<string, Reading>>
  runs: ExecutionSummary[]
  steps: ManualStep[]
  /** The threads of open runs that are held by an error or a restart, or that wait for a person to place or remove labware. */
  waiting: ShownThread[]
  /** The incidents that nobody has acknowledged. */
  incidents: Incident[]
  /** The requests that programs ask people to confirm. */
  confirmations: State['confirmation'][string][]
}

export type Bench = Shown & {
  /** SHA-256 of its certificate; null without TLS. */
  tls_fingerprint: string | null
  host: Host
  queue: QueueState
  /** The cameras; `failure` says why the last request brought no picture. */
  cameras: { name: string; failure: string | null }[]
}

/** Facts about the computer of a bench; null if unknown. `clock_ahead_s` is the lead of its clock over the one here. */
export type Host = {
  disk_free_bytes: number | null
  disk_bytes: number | null
  clock_synced: boolean | null
  clock_ahead_s: number | null
  under_voltage: boolean | null
  cpu_temperature_celsius: number | null
}

/** The queue of runs; null on a bench that never used it, and of earlier versions. */
type QueueState = { waiting: number; is_paused: boolean } | null

/** Returns the answer of `/health`, the only one that also comes while the service starts and stops. */
export async function healthOf(service: Service): Promise<{ health: Health; clock_ahead_s: number | null }> {
  const response = await open(service, 'GET', '/health', { also: 503 })
  const date = Date.parse(response.headers.date ?? '')
  const ahead_s = (date - Date.now()) / 1000
  return { health: JSON.parse(await textOf(response)) as Health, clock_ahead_s: Number.isNaN(ahead_s) ? null : Math.round(ahead_s) }
}

/** Yields the live state when it is complete, and after each change and beat. Ends when the service ends the stream. */
export async function* statesOf(service: Service, signal?: AbortSignal): AsyncGenerator<State> {
  const body = await open(service, 'GET', '/api/live', signal ? { signal } : {})
  let state = emptyState
  for await (const messages of messagesIn(Readable.toWeb(body) as ReadableStream<Uint8Array>)) {
    state = reduceAll(state, messages)
    if (state.ready) yield state
  }
}

/** Resolves with the first complete state. Throws `unreachable` if the stream ends before. */
export async function stateOf(service: Service): Promise<State> {
  for await (const state of statesOf(service)) return state
  throw new CliError('unreachable', 'the service ended the stream of its state; try again')
}

export function shownIn({ service, device, reading, run, thread, step, incident, confirmation }: State): Shown {
  const [[system_id, health] = ['', unknown]] = Object.entries(service)
  return {
    health,
    system_id,
    devices: Object.values(device) as DeviceInfo[],
    readings: reading,
    runs: Object.values(run).filter(({ status }) => status === 'IN_PROGRESS'),
    steps: Object.values(step),
    waiting: Object.values(thread).filter(waitsForSomebody),
    incidents: Object.values(incident).sort((a, b) => b.timestamp - a.timestamp),
    confirmations: Object.values(confirmation),
  }
}

function waitsForSomebody({ status, pause_reason }: ShownThread): boolean {
  if (status === 'PAUSED') return pause_reason === 'error' || pause_reason === 'system'
  return status === 'AWAITING_MANUAL_PLACE' || status === 'AWAITING_MANUAL_REMOVE'
}

const unknown: Health = { status: 'starting', version: '', uptime_s: 0, reasons: [] }

export async function benchOf(service: Service): Promise<Bench> {
  const [{ health, clock_ahead_s }, { tls_fingerprint = null }, state, metrics, { cameras }] = await Promise.all([
    healthOf(service),
    ask<{ tls_fingerprint?: string | null }>(service, 'GET', '/api/system'),
    stateOf(service),
    open(service, 'GET', '/metrics').then(textOf),
    // An earlier version has no cameras.
    ask<Pick<Bench, 'cameras'>>(service, 'GET', '/api/cameras').catch(() => ({ cameras: [] })),
  ])
  return { ...shownIn(state), health, tls_fingerprint, host: { ...hostIn(metrics), clock_ahead_s }, queue: queueIn(metrics), cameras }
}

export function snapshotsOf(service: Service, runs: readonly ExecutionSummary[]): Promise<ExecutionSnapshot[]> {
  return Promise.all(runs.map(({ execution_id }) => ask<ExecutionSnapshot>(service, 'GET', `/api/executions/${execution_id}`)))
}

/** Returns the value of a metric in the text format of Prometheus; null without one. */
function figureIn(metrics: string, name: string): number | null {
  const [, value] = new RegExp(`^benchd_${name} (\\S+)$`, 'm').exec(metrics) ?? []
  return value === undefined || !Number.isFinite(Number(value)) ? null : Number(value)
}

function queueIn(metrics: string): QueueState {
  const waiting = figureIn(metrics, 'queue_waiting_entries')
  return waiting === null ? null : { waiting, is_paused: figureIn(metrics, 'queue_paused') === 1 }
}

/** Reads the facts from metrics in the text format of Prometheus. */
function hostIn(metrics: string): Omit<Host, 'clock_ahead_s'> {
  const figure = (name: string) => figureIn(metrics, name)
  const flag = (name: string) => {
    const value = figure(name)
    return value === null ? null : value === 1
  }
  return {
    disk_free_bytes: figure('disk_free_bytes'),
    disk_bytes: figure('disk_bytes'),
    clock_synced: flag('clock_synced'),
    under_voltage: flag('under_voltage'),
    cpu_temperature_celsius: figure('cpu_temperature_celsius'),
  }
}
