// The storages on the loaded topology, and what is in their slots, from the live state.

import type { Labware, State, Topology } from '../clients/ts/benchd.ts'

type Position = Topology['positions'][number]
type Standing = State['labware'][string]

/** The slots of a storage in their order, and its transfer stations, where arms put labware down and take it. */
export type Storage = { device_id: string; slots: readonly Position[]; stations: readonly Position[] }

/** Returns the storages among the transporters: those that reach slots. */
export function storagesOf({ positions, transporters }: Pick<Topology, 'positions' | 'transporters'>): Storage[] {
  return transporters.flatMap(({ device_id, positions: reached }) => {
    const its = positions.filter(({ name }) => reached.includes(name) || reached.includes(name.replace(/\/\w+-\d+$/, '')))
    const slots = its.filter(({ slot }) => slot !== null)
    return slots.length > 0 ? [{ device_id, slots, stations: its.filter(({ slot }) => slot === null) }] : []
  })
}

/** Says how full a storage is: `12 of 44`. */
export function filledWords({ slots }: Storage): string {
  return `${slots.filter(({ labware }) => labware).length} of ${slots.length}`
}

/** Labware in a slot. */
export type Stored = { slot: number; its: Standing }

/** Returns the labware in the slots of a storage, in their order. */
export function storedIn({ slots }: Storage, labware: State['labware']): Stored[] {
  return slots.flatMap(({ slot, labware: there }) => {
    const its = there && labware[there.labware_id]
    return its ? [{ slot: slot!, its }] : []
  })
}

/** Returns the labware whose barcode or name has a text in it; all of it for an empty text. */
export function searchedFor(stored: readonly Stored[], text: string): Stored[] {
  const words = text.trim().toLowerCase()
  return stored.filter(({ its: { barcode, name } }) => `${barcode ?? ''}\n${name}`.toLowerCase().includes(words))
}

/** Whether labware may be in two places. */
export function isUncertain({ place }: Standing): boolean {
  return / or /.test(place)
}

/** Names labware with its barcode, and without saying the same twice. */
export function labwareWords({ name, barcode, kind }: Pick<Labware, 'name' | 'barcode' | 'kind'>): string {
  const word = kind.replace('_', ' ')
  const named = name.startsWith(word) ? name : `${word} ${name}`
  return barcode === null || barcode === name ? named : `${named} ${barcode}`
}
