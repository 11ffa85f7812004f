// Describes this bench to the other benches of the lab.

import type { Config } from '../config.ts'
import type { Registry } from '../devices/registry.ts'
import type { Hub } from '../events/hub.ts'
import type { About } from '../fleet/presence.ts'
import { addressOf } from './address.ts'

type Rooms = {
  readonly config: Config
  version: string
  reloading: { readonly fingerprint: string | undefined }
  registry: Registry
  hub: Hub
  health(): { status: string }
}

/** Describes the bench as it is now; `positions` are those with `handover` of all its topologies. */
export function aboutBench({ config, version, reloading, registry, hub, health }: Rooms, positions: string[]): About {
  const devices: Record<string, number> = {}
  for (const { state } of registry.all()) devices[state] = (devices[state] ?? 0) + 1
  const incidents = hub.incidents.list().filter(({ acknowledged }) => !acknowledged).length
  const fingerprint = reloading.fingerprint ?? null
  return { url: addressOf(config), fingerprint, version, health: health().status, devices, incidents, positions }
}
