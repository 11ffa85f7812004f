// The bench against which plans are checked: its devices, their operations, and the taught points.

import type { OwnOperation } from '../../devices/description.ts'
import type { Limits, Margins } from '../../devices/device.ts'
import type { Instrument } from '../../devices/instrument.ts'
import { knowsNoHeights, obstaclesOn, type Way, whyNoLids } from '../../devices/way.ts'
import { messageOf } from '../../errors.ts'
import type { Teachpoints } from '../../teachpoints/store.ts'
import type { Teachpoint } from '../../teachpoints/teachpoint.ts'
import { wayTo } from '../../teachpoints/way.ts'

export type BenchDevice = {
  device_id: string
  type: string
  /** Whether the device has a driver. */
  driven: boolean
  /** Whether it is a transporter that needs no teachpoints. */
  knowsPositions?: boolean
  /** The reason why a LIVE run must not use this device, in words that follow its name. */
  unfit?: string | undefined
  operations: readonly string[]
  limits: Limits
  /** The times after which its operations are given up, where they are longer than those of the table. */
  margins?: Margins | undefined
  simulated: boolean
  isPerson?: boolean
  /** The operations that its bridge describes, with their parameters. */
  own?: ReadonlyMap<string, OwnOperation>
  /** Whether it is a bridge whose program has never run. */
  isUndescribed?: boolean
}

export type Bench = {
  devices: readonly BenchDevice[]
  hasTeachpoint(device_id: string, name: string): boolean
  /**
   * Returns why a transporter cannot use its points as they are taught: a sentence for each reason, with the points. An arm that has not yet
   * reported its skills is assumed to have all. Absent if nothing is taught.
   */
  obstacles?(device_id: string, names: readonly string[]): string[]
  /**
   * Returns why a transporter cannot grip lids at these positions; undefined if it can. `needsOffset` says whether it needs to know how much higher than a plate it
   * grips a lid. Absent if nothing is taught.
   */
  lids?(device_id: string, names: readonly string[]): { why: string | undefined; needsOffset: boolean }
}

/** Returns the bench as it is whenever it is asked: its instruments, and the points that are taught then. */
export function benchOf(instruments: () => readonly Instrument[], teachpoints: Pick<Teachpoints, 'list'>): Required<Bench> {
  const find = (wanted: string) => instruments().find(({ device_id }) => device_id === wanted)
  return {
    get devices() {
      return instruments().map(benchDevice)
    },
    lids: (device_id, names) => lidsAt(find(device_id), names, teachpoints.list(device_id)),
    hasTeachpoint: (device_id, name) => teachpoints.list(device_id).some((point) => point.name === name),
    obstacles(device_id, names) {
      const points = teachpoints.list(device_id)
      const wanted = new Set(names)
      const faults: string[] = []
      const ways = points.flatMap((point): Way[] => {
        if (!wanted.has(point.name)) return []
        try {
          return [wayTo(point, points)]
        } catch (error) {
          faults.push(messageOf(error))
          return []
        }
      })
      const skills = find(device_id)?.abilities.skills
      return [...faults, ...(skills ? obstaclesOn(ways, device_id, skills) : [])]
    },
  }
}

/** Returns whether a transporter can grip lids at these positions. A person needs no heights, and a simulated one that knows its positions neither. */
function lidsAt(
  instrument: Instrument | undefined,
  names: readonly string[],
  points: readonly Teachpoint[],
): ReturnType<NonNullable<Bench['lids']>> {
  if (!instrument || instrument.abilities.person) return { why: undefined, needsOffset: false }
  const { device_id, simulated, abilities } = instrument
  if (abilities.knowsPositions) return { why: simulated ? undefined : knowsNoHeights(device_id), needsOffset: !simulated }
  const ways = points.flatMap((point): Way[] => {
    try {
      return names.includes(point.name) ? [wayTo(point, points)] : []
    } catch {
      // The points that cannot be used are reported with the topology.
      return []
    }
  })
  return { why: whyNoLids(ways, device_id), needsOffset: true }
}

function benchDevice(instrument: Instrument): BenchDevice {
  const { device_id, driven, simulated } = instrument
  const { names, margins, own, isUndescribed, knowsPositions, unfit, person } = instrument.abilities
  const { type } = instrument.summary()
  const { limits } = instrument.limits.shown
  const isPerson = person !== undefined
  return { device_id, type, driven, simulated, limits, margins, operations: names, own, isUndescribed, knowsPositions, unfit, isPerson }
}
