// The common parts of the bead assay and its older arrangement.

import type { ActionInput } from '../workflow/plans/author.ts'
import type { TopologyInput } from '../workflow/plans/topology_schema.ts'

/** `many('pad', 3, 4)`: pad_4, pad_5, pad_6 */
export function many(name: string, count: number, first = 1): string[] {
  return Array.from({ length: count }, (_, i) => `${name}_${first + i}`)
}

export const shakers = many('shaker', 10)
export const stations = ['translator_1_start', 'translator_1_end', 'translator_2_start', 'translator_2_end']

export const translators: NonNullable<TopologyInput['translators']> = {
  translator_1: ['translator_1_start', 'translator_1_end'],
  translator_2: ['translator_2_start', 'translator_2_end'],
}

type Transporters = NonNullable<TopologyInput['transporters']>
type Devices = NonNullable<TopologyInput['devices']>

/** Returns a transporter that reaches these positions; a hop takes 12 s. */
export function zone(...positions: (string | readonly string[])[]): Transporters[string] {
  return { positions: positions.flat(), seconds: { pick: 5, move: 2, place: 5 } }
}

export function each(names: readonly string[], position: TopologyInput['positions'][string]): TopologyInput['positions'] {
  return Object.fromEntries(names.map((name) => [name, position]))
}

/** Returns positions, each of which is the nest of the device with the same name. */
export function sites(names: readonly string[]): TopologyInput['positions'] {
  return Object.fromEntries(names.map((name) => [name, { device: name }]))
}

/** Returns the instruments of both arrangements; `sites` are those of the liquid handlers. The durations of protocols are assumed. */
export function instruments({ sites, reader }: { sites: number; reader: string }): Devices {
  const runs = (seconds: number) => ({ operations: { run_protocol: { seconds } } })
  // The requested duration is the whole duration.
  const asAsked = (operation: string) => ({ operations: { [operation]: { seconds: 0 } } })
  return {
    bravo_96: { sites, ...runs(300) },
    bravo_384: { sites, ...runs(300) },
    biotek_1: runs(240),
    biotek_2: runs(240),
    centrifuge: asAsked('centrifuge'),
    sealer: asAsked('seal'),
    [reader]: { operations: { read: { seconds: 600 } } },
    delidder: { operations: { delid: { seconds: 15 } } },
    ...Object.fromEntries(shakers.map((name) => [name, asAsked('shake')])),
  }
}

/** The labware that a protocol needs besides the plate, and its unusual settings. */
type Extra<Labware extends string> = {
  labware?: readonly Labware[]
  tips?: { readonly [Name in NoInfer<Labware>]?: number }
  seconds?: number
}

export function protocol<const Labware extends string = never>(
  on: string,
  name: string,
  extra: Extra<Labware> = {},
): ActionInput<Labware>[] {
  return [{ do: 'run_protocol', on, with: { protocol: `${name}.pro` }, ...extra }]
}

export function shake(duration: number, speed: number): ActionInput<never>[] {
  return [{ do: 'shake', on: 'shaker_collection', with: { speed, duration } }]
}

export function spin(duration: number, g: number): ActionInput<never>[] {
  return [{ do: 'centrifuge', on: 'centrifuge', with: { g, duration } }]
}

export function readOn(reader: string): ActionInput<never>[] {
  return [{ do: 'read', on: reader, with: { protocol: 'read.pro', output: 'results.csv' } }]
}

export const delid: ActionInput<never>[] = [{ do: 'delid', on: 'delidder' }]
