// The profile and the abilities of a bridge, as its program describes them at each moment.

import type { Description, OwnOperation } from '../../src/devices/description.ts'
import type { AnyProfile, Limits, SelfDescribed } from '../../src/devices/device.ts'

type Describing = {
  readonly description: Description | undefined
  readonly operations: ReadonlyMap<string, OwnOperation>
  readonly limits: Limits
  readonly uninterruptible: boolean
  readonly jog: unknown
  readonly free_drive: unknown
}

/** Words why no LIVE run uses a device whose halt is only proposed. */
export function unaccepted(proposed: readonly string[]): string {
  const names = [...new Set(proposed)]
  const listed = [names.slice(0, -1).join(', '), names.at(-1)].filter(Boolean).join(' and ')
  const accepted = `add "--halt", ${JSON.stringify(names.join(','))} to its command ("none" if nothing does), then reload the configuration`
  return `its program proposes to halt it by ${listed}, which nobody has accepted; if they end all motion and heat, ${accepted}`
}

/** Returns the profile of the present description. */
export function profileOf(bridge: Describing): AnyProfile {
  return {
    get model() {
      return bridge.description?.model ?? 'unknown'
    },
    get limits() {
      return bridge.limits
    },
    get features() {
      return bridge.uninterruptible ? { uninterruptible: true } : {}
    },
    get ends_early() {
      const held = (['jog', 'free_drive'] as const).filter((name) => bridge[name])
      return [...held, ...[...bridge.operations].flatMap(([name, { can_end_early }]) => (can_end_early ? [name] : []))]
    },
  }
}

/** Adds what a program has described to the calls of its device. */
export function describedOf(bridge: Describing, calls: Pick<SelfDescribed, 'accept' | 'perform' | 'read' | 'fetching'>): SelfDescribed {
  return {
    ...calls,
    isProgram: true,
    get operations() {
      return bridge.operations
    },
    get isKnown() {
      return bridge.description !== undefined
    },
    get readings() {
      return bridge.description?.readings ?? {}
    },
  }
}
