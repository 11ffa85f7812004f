// For tests: benches that send their events to a broker, and reads of what the broker has.

import type { FleetConfig } from '../config/fleet.ts'
import type { RuntimeEvent } from '../events/event.ts'
import type { Hub } from '../events/hub.ts'
import { openEvents } from '../events/open.ts'
import { Fleet, type FleetStatus } from '../fleet/fleet.ts'
import { headerNames } from '../fleet/history.ts'
import type { Stored } from '../fleet/wire.ts'

export type FleetBench = { hub: Hub; fleet: Fleet; words: string[]; close(): Promise<void> }
type Settings = { machine?: string; name?: string; more?: Partial<FleetConfig>; segment_mib?: number }
type Lifetime = { teardown(call: () => unknown): void }

/** Opens the events of a bench in a folder, and its link to a broker. */
export async function fleetBench(t: Lifetime, folder: string, url: string, settings: Settings = {}): Promise<FleetBench> {
  const { name = 'bench-1', machine = 'machine-a', more, segment_mib = 1 } = settings
  const words: string[] = []
  const say = (message: string) => void words.push(message)
  const log = { info: say, warn: say, error: say }
  const config = { system_id: name, events: { segment_mib, commit_ms: 100, queue: 1000 }, limits: { subscribers: 4 } }
  const hub = await openEvents({ folder, config, log })
  const fleet = await Fleet.open({
    config: { servers: [url], lab: 'floor-2', name, ...more },
    ...{ folder, hub, log, machine },
    report: ({ message }) => say(message),
    about: () => ({
      url: `http://${name}.lab:8520`,
      fingerprint: null,
      version: '1.2.3',
      health: 'ok',
      devices: { ready: 2 },
      incidents: 0,
      positions: ['out'],
    }),
  })
  let closed: Promise<void> | undefined
  const close = () => {
    closed ??= fleet.close().then(() => hub.close())
    return closed
  }
  t.teardown(close)
  return { hub, fleet, words, close }
}

/** Resolves when `isSo` returns true; checks it every 10 ms, without a limit. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 10))
}

/** Resolves when the broker has acknowledged all that was emitted. */
export async function sentAll({ hub, fleet }: FleetBench): Promise<FleetStatus> {
  await hub.log.until()
  await until(() => fleet.status().state === 'connected' && fleet.status().waiting === 0)
  return fleet.status()
}

export type Line = { bench: string; epoch: string; seq: number; event?: RuntimeEvent; too_large?: number }

/** The lines of messages, in their order. */
export function linesOf(messages: readonly Stored[]): Line[] {
  return messages.flatMap(({ payload, header }) =>
    new TextDecoder()
      .decode(payload)
      .trimEnd()
      .split('\n')
      .map((text) => ({ bench: header(headerNames.bench), epoch: header(headerNames.epoch), ...JSON.parse(text) })),
  )
}

/** Returns the numbers of `emitMany` that the broker has. */
export function countedIn(messages: readonly Stored[]): number[] {
  return linesOf(messages).flatMap(({ event }) => (typeof event?.context.n === 'number' ? [event.context.n] : []))
}
