// The operations of all devices, as cards and forms use them: the capabilities, how often each was done here, and the open sheet.

import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Capabilities, DeviceInfo, GetUsageResponse, ListPresetsResponse } from '../clients/ts/benchd.ts'
import { isSafe, needsInitializing } from './needs.ts'
import { ask, bench, ifState, refusalOf, state } from './store.tsx'

export type Operation = Capabilities['operations'][number]

/** The capabilities by device, from one request for all of them. */
export const capabilities = signal<Record<string, Capabilities>>({})
const usage = signal<GetUsageResponse['usage']>([])

/** The open sheet: the menu of a device, or the form of an operation with its presets. */
type Opened = { device_id: string; operation?: string }
export const opened = signal<Opened | undefined>(undefined)
export const presets = signal<ListPresetsResponse['presets']>([])

/** The pause before the capabilities are fetched again, so that devices that are initialized together cause one request. */
const gather_ms = 300
/** Operations without a form: the card has buttons of its own for them. */
const withoutForm = new Set(['initialize', 'stop'])

/** Fetches the capabilities, and again when a device was added, described or initialized, which may change its limits. */
export function useCapabilities(): void {
  const known = Object.values(state.value.device).map(({ device_id, is_initialized }) => `${device_id} ${is_initialized}`)
  const of = bench.value
  useEffect(() => {
    const fetch = () =>
      of?.call('listCapabilities').then(
        ({ devices }) => {
          capabilities.value = Object.fromEntries(devices.map((one) => [one.device_id, one]))
        },
        () => undefined,
      )
    const isFirst = Object.keys(capabilities.value).length === 0
    if (isFirst) void readUsage()
    const timer = setTimeout(fetch, isFirst ? 0 : gather_ms)
    return () => clearTimeout(timer)
  }, [of, known.join()])
}

async function readUsage(): Promise<void> {
  usage.value = (await bench.value?.call('getUsage').catch(() => undefined))?.usage ?? usage.value
}

/** Reads the presets of the device whose sheet is open. */
export async function readPresets(device_id: string): Promise<void> {
  presets.value = (await bench.value?.call('listPresets', { path: { device_id } }).catch(() => undefined))?.presets ?? []
}

/** Opens the form of an operation, once its last values and presets are read: nothing changes under the fingers of a person. */
export async function openForm(device_id: string, operation: string): Promise<void> {
  await Promise.all([readUsage(), readPresets(device_id)])
  opened.value = { device_id, operation }
}

/** The operations of a device that a person may start, the table of the device first. */
export function startable(can: Capabilities | undefined): Operation[] {
  return (
    can?.operations.filter(({ name, method, renewed_within_ms }) => method === 'POST' && !withoutForm.has(name) && !renewed_within_ms) ?? []
  )
}

export function usageOf(device_id: string): GetUsageResponse['usage'] {
  return usage.value.filter((one) => one.device_id === device_id)
}

/** Returns why an operation cannot be started; undefined if it can. */
export function whyNot(device: DeviceInfo): string | undefined {
  if (isSafe(state.value)) return 'Acknowledge the safe mode first.'
  if (device.state === 'busy') return 'The device is busy.'
  if (device.state === 'faulted') return 'The device has a fault.'
  return needsInitializing(device) ? 'Initialize the device first.' : undefined
}

/** Starts an operation. Resolves with the sentence of a refusal; its outcome comes with the live state. */
export function startOperation(device: DeviceInfo, operation: string, params: Record<string, unknown>): Promise<string | undefined> {
  const asked = { path: { device_id: device.device_id }, body: { operation, params }, respondAsync: true, ...ifState(device) }
  return refusalOf({ operation: 'performOperation', asked })
}

/** Sends a request, and shows the sentence of its refusal on the card. */
export type Press = (request: Promise<string | undefined>) => Promise<void>

/** Sends a request about a device in the state that is shown. Resolves with the sentence of a refusal. */
export function asked(
  operation: 'initializeDevice' | 'clearDeviceFault' | 'acceptDescription',
  device: DeviceInfo,
): Promise<string | undefined> {
  return refusalOf({ operation, asked: { path: { device_id: device.device_id }, body: {}, ...ifState(device) } })
}

/** A stop acts when it is pressed down. Its card shows it: no message covers the other buttons. */
export function StopOne({ device_id, label }: { device_id: string; label: string }) {
  const stop = () => void ask('stopDevice', { path: { device_id } }, { quiet: true })
  return (
    <button type="button" class="danger" onPointerDown={stop} onKeyDown={(event) => (event.key === 'Enter' || event.key === ' ') && stop()}>
      {label}
    </button>
  )
}
