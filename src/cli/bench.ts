// The whole bench at a moment: what `status` prints and `top` keeps on the screen.

import { text as textOf } from 'node:stream/consumers'
import type { DeviceInfo } from '../devices/records.ts'
import type { Incident } from '../events/incidents.ts'
import type { ExecutionSnapshot, ExecutionSummary } from '../workflow/snapshot.ts'
import { ask, open, type Service } from './client.ts'
import { devicesOf } from './devices/shown.ts'

export type Health = { status: 'ok' | 'degraded' | 'starting' | 'stopping'; version: string; uptime_s: number; reasons: string[] }
type ManualStep = { step_id: string; execution_id: string; instruction: string; since: number }

export type Bench = {
  health: Health
  system_id: string
  /** SHA-256 of its certificate; null without TLS. */
  tls_fingerprint: string | null
  devices: DeviceInfo[]
  runs: ExecutionSummary[]
  steps: ManualStep[]
  /** The incidents that nobody has acknowledged. */
  incidents: Incident[]
  host: Host
}

/** Facts about the computer of a bench; null what it cannot tell. `clock_ahead_s` is how far its clock is ahead of the one here. */
export type Host = {
  disk_free_bytes: number | null
  disk_bytes: number | null
  clock_synced: boolean | null
  clock_ahead_s: number | null
  under_voltage: boolean | null
  cpu_temperature_celsius: number | null
}

/** Returns the answer of `/health`, which also comes while the service starts and stops, when it answers nothing else. */
export async function healthOf(service: Service): Promise<{ health: Health; clock_ahead_s: number | null }> {
  const response = await open(service, 'GET', '/health', { also: 503 })
  const date = Date.parse(response.headers.date ?? '')
  const ahead_s = (date - Date.now()) / 1000
  return { health: JSON.parse(await textOf(response)) as Health, clock_ahead_s: Number.isNaN(ahead_s) ? null : Math.round(ahead_s) }
}

export async function benchOf(service: Service): Promise<Bench> {
  const { health, clock_ahead_s } = await healthOf(service)
  const [{ system_id, tls_fingerprint = null }, devices, { executions: runs }, { steps }, { incidents }, metrics] = await Promise.all([
    ask<{ system_id: string; tls_fingerprint?: string | null }>(service, 'GET', '/api/system'),
    devicesOf(service),
    ask<{ executions: ExecutionSummary[] }>(service, 'GET', '/api/executions?status=IN_PROGRESS&limit=1000'),
    ask<{ steps: ManualStep[] }>(service, 'GET', '/api/operator/steps'),
    ask<{ incidents: Incident[] }>(service, 'GET', '/api/incidents?acknowledged=false&limit=1000'),
    open(service, 'GET', '/metrics').then(textOf),
  ])
  return { health, system_id, tls_fingerprint, devices, runs, steps, incidents, host: { ...hostIn(metrics), clock_ahead_s } }
}

export function snapshotsOf(service: Service, runs: readonly ExecutionSummary[]): Promise<ExecutionSnapshot[]> {
  return Promise.all(runs.map(({ execution_id }) => ask<ExecutionSnapshot>(service, 'GET', `/api/executions/${execution_id}`)))
}

/** Reads the facts from the figures in the text format of Prometheus. */
function hostIn(metrics: string): Omit<Host, 'clock_ahead_s'> {
  const figure = (name: string) => {
    const [, value] = new RegExp(`^benchd_${name} (\\S+)$`, 'm').exec(metrics) ?? []
    return value === undefined || !Number.isFinite(Number(value)) ? null : Number(value)
  }
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
