// The inventory of a storage: which labware is in which slot. Slots are positions of the loaded topology, so the inventory is a view of where labware
// stands, with the same promises over kills and power cuts.

import * as v from 'valibot'
import type { SeenSlot } from '../devices/configured.ts'
import { LabError } from '../errors.ts'
import { described, Whole } from '../kit/described.ts'
import { Barcode } from '../kit/name.ts'
import type { Position } from './plans/graph.ts'
import type { Labware } from './state/labware.ts'
import type { RunEnvironment } from './threads/run_environment.ts'
import { Whereabouts } from './whereabouts.ts'

const Slot = described(Whole(1, 1000), 'Slot of the storage, from 1')

const Standing = v.pick(Whereabouts, ['labware_id', 'name', 'type', 'barcode', 'stored_at', 'thread_id', 'thread_name', 'place', 'remedy'])

const StoredLabware = v.strictObject({
  slot: Slot,
  position: described(v.string(), 'The name of the slot in workflows, such as `incubator/slot-12`'),
  ...Standing.entries,
})

export const Inventory = v.strictObject({
  device_id: v.string(),
  slots: described(Whole(1, 1000), 'The number of slots'),
  stored: described(v.array(StoredLabware), 'The slots that are taken, in their order'),
  stations: described(
    v.array(v.strictObject({ position: v.string(), labware: v.nullable(Standing) })),
    'The transfer stations, and what stands there',
  ),
})
export type Inventory = v.InferOutput<typeof Inventory>

/** The content of a slot as a person found it: labware, or nothing. */
export const SlotContent = v.strictObject({
  slot: Slot,
  labware: described(
    v.nullable(
      v.strictObject({
        barcode: described(v.optional(v.nullable(Barcode), null), 'null for labware without one'),
        type: described(v.optional(v.pipe(v.string(), v.minLength(1), v.maxLength(128)), 'unknown'), 'Of a catalogue: 96-well'),
        name: described(v.optional(v.pipe(v.string(), v.minLength(1), v.maxLength(128))), 'Default: its barcode, else `plate`'),
      }),
    ),
    'null for an empty slot',
  ),
})
export type SlotContent = v.InferOutput<typeof SlotContent>
type StoredContent = NonNullable<SlotContent['labware']>

/** A storage on the loaded topology: its slots in their order, and the transfer stations, where arms put labware down and take it. */
export type Storage = { device_id: string; slots: readonly Position[]; stations: readonly Position[] }

/** Returns a storage of the topology; undefined for a device without slots on it. */
export function storageOn({ scheduler: { graph } }: Pick<RunEnvironment, 'scheduler'>, device_id: string): Storage | undefined {
  const reached = [...(graph.reach.get(device_id) ?? [])].map((name) => graph.positions.get(name)!)
  const slots = reached.filter(({ slot }) => slot !== null)
  return slots.length > 0 ? { device_id, slots, stations: reached.filter(({ slot }) => slot === null) } : undefined
}

/** Returns a storage. Throws `conflict`, with the remedy, if the loaded topology does not have its slots. */
export function mustBeStorage(environment: RunEnvironment | null, device_id: string): { environment: RunEnvironment; storage: Storage } {
  const storage = environment && storageOn(environment, device_id)
  if (storage) return { environment, storage }
  const why = environment ? 'the loaded topology has no slots of it' : 'no topology is loaded'
  throw new LabError(
    'conflict',
    `the inventory of ${device_id} is not kept: ${why}; load a topology with "transporters": {"${device_id}": {"positions": ["door", "${device_id}"]}} and "positions": {"${device_id}": {"slots": …}}`,
  )
}

/** Returns the inventory of a storage. `labware` is all labware of the bench. */
export function inventoryOf({ device_id, slots, stations }: Storage, labware: readonly Whereabouts[]): Inventory {
  const at = new Map<string, v.InferOutput<typeof Standing>>()
  for (const { position, run_mode, ...its } of labware) {
    if (position === null || run_mode !== 'LIVE') continue
    const { labware_id, name, type, barcode, stored_at, thread_id, thread_name, place, remedy } = its
    at.set(position, { labware_id, name, type, barcode, stored_at, thread_id, thread_name, place, remedy })
  }
  return {
    device_id,
    slots: slots.length,
    stored: slots.flatMap(({ name: position, slot }) => {
      const there = at.get(position)
      return there ? [{ slot: slot!, position, ...there }] : []
    }),
    stations: stations.map(({ name: position }) => ({ position, labware: at.get(position) ?? null })),
  }
}

type Edit = { environment: RunEnvironment; storage: Storage; newId(): string; now(): number }

/**
 * Takes a person's word for what is in some slots; all others stay as they are. Labware that was elsewhere in the storage, by its barcode, is moved.
 * Throws `not_found` for a slot that is not there, `invalid` for a slot or barcode that is named twice, and `conflict` for a slot whose labware a run
 * moves; nothing has changed then.
 */
export function correct(contents: readonly SlotContent[], { environment, storage, newId, now }: Edit): void {
  const changes = contents.map((content) => ({ content, position: positionIn(storage, content.slot) }))
  mustBeOnce(contents)
  for (const { content, position } of changes) mustBeAtRest(environment, position, content)
  const { labware, scheduler } = environment
  const byBarcode = new Map([...labware.values()].flatMap((one) => (one.barcode === null ? [] : [[one.barcode, one] as const])))
  const wholeOf = (known: Labware | undefined, { barcode, type, name = barcode ?? 'plate' }: StoredContent): Labware => {
    const rest = { held_by: null, placing: undefined, taken_by: undefined }
    const whole = known ?? { ...newLabware(name, type), labware_id: newId() }
    return { ...whole, ...rest, barcode, state: 'ENDED', stored_at: now() }
  }
  // Nobody who waits for a slot gets it before all labware is where it was found.
  scheduler.together(() => {
    for (const { position } of changes) takeOff(environment, position)
    for (const { content, position } of changes) {
      if (!content.labware) continue
      const known = byBarcode.get(content.labware.barcode ?? '')
      if (known) takeAway(environment, known.labware_id)
      const whole = wholeOf(known, content.labware)
      labware.set(whole.labware_id, whole)
      scheduler.put(whole.labware_id, position, null)
    }
  })
}

/** Returns labware of which nobody knows more than its type. */
export function newLabware(name: string, type: string): Omit<Labware, 'labware_id'> {
  return { name, template: name, type, kind: 'plate', barcode: null, tips: null, tips_left: null, state: 'ENDED', held_by: null }
}

/** Returns the position of a slot. Throws `not_found` for one that the storage does not have. */
export function positionIn({ device_id, slots }: Storage, slot: number): string {
  const position = slots.find((one) => one.slot === slot)
  if (position) return position.name
  throw new LabError('not_found', `${device_id} has no slot ${slot}: it has ${slots.length} on the loaded topology, from 1`)
}

function mustBeOnce(contents: readonly SlotContent[]): void {
  const seen = new Set<string>()
  for (const { slot, labware } of contents) {
    const words = [`slot ${slot}`, ...(labware?.barcode ? [`the barcode ${labware.barcode}`] : [])]
    for (const word of words) {
      if (seen.has(word)) throw new LabError('invalid', `${word} is named twice; labware is in one slot, and a slot holds one labware`)
      seen.add(word)
    }
  }
}

/** Throws `conflict` if a run moves what stands there or comes there, or the labware that is to stand there. */
function mustBeAtRest(environment: RunEnvironment, position: string, { slot, labware: wanted }: SlotContent): void {
  const { labware, scheduler } = environment
  const refused = (why: string) =>
    new LabError('conflict', `slot ${slot} cannot be corrected: ${why}; wait until the run has moved it on, or stop the run`)
  const { labware_id, reserved_for } = scheduler.position(position)
  const holder = labware_id === null ? null : scheduler.whose(labware_id)
  if (holder !== null) throw refused(`thread ${holder} has ${labware.get(labware_id!)?.name} there`)
  if (reserved_for !== null && !labware.has(reserved_for)) throw refused(`it is reserved for thread ${reserved_for}`)
  const named = [...labware.values()].filter(({ barcode }) => wanted?.barcode && barcode === wanted.barcode)
  for (const id of [labware_id, reserved_for, ...named.map((one) => one.labware_id)]) labware.mustNotBeInTransfer(id ?? '')
  const moved = named.find((one) => scheduler.whose(one.labware_id) !== null)
  if (moved) throw refused(`thread ${scheduler.whose(moved.labware_id)} has the labware with the barcode ${moved.barcode}`)
}

/** Empties a slot. Labware that might have been there is not. */
function takeOff(environment: RunEnvironment, position: string): void {
  const { labware, scheduler } = environment
  const { labware_id, reserved_for } = scheduler.position(position)
  if (labware_id !== null) takeAway(environment, labware_id)
  const other = reserved_for !== null && labware.get(reserved_for)
  if (!other) return
  scheduler.forget(reserved_for)
  labware.set(reserved_for, { ...other, placing: undefined })
}

/** Takes labware off the bench. The positions where it may have been were reserved in its own name. */
function takeAway({ labware, scheduler }: RunEnvironment, labware_id: string): void {
  scheduler.remove(labware_id)
  scheduler.forget(labware_id)
  labware.delete(labware_id)
}

/** Compares what a storage has seen with its inventory: a clause for each difference. */
export function contradictions({ stored }: Inventory, seen: readonly SeenSlot[]): string[] {
  const known = new Map(stored.map((one) => [one.slot, one]))
  return seen.flatMap(({ slot, taken, barcode }) => {
    const there = known.get(slot)
    if (!taken) return there ? [`slot ${slot} is empty, and ${there.name} should be there`] : []
    if (!there) return [`slot ${slot} has ${barcode === null ? 'labware' : `labware with the barcode ${barcode}`}, and should be empty`]
    if (barcode === null || there.barcode === null || barcode === there.barcode) return []
    return [`slot ${slot} has labware with the barcode ${barcode}, and should have ${there.barcode}`]
  })
}
