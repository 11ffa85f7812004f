// The contents of the deck at this moment, from the live state: places with what they hold, labware, arms and people.

import type { DeviceInfo, Labware, State, Topology } from '../clients/ts/benchd.ts'
import { labwareWords, storagesOf } from './storage.ts'

export type Position = Topology['positions'][number]
export type Standing = State['labware'][string]

/** `target` is the position where the arm is or to which it moves; undefined where that is not known. `holds` is the `labware_id` in its gripper. */
export type Arm = { device_id: string; isPerson: boolean; holds: string | undefined; target: string | undefined }

type Carrier = Topology['transporters'][number]
type Known = Pick<State, 'device' | 'labware' | 'thread' | 'step'>

/** Returns where an arm or a person is, as far as tasks, moves and the last operation tell. */
export function armOf({ device_id, positions: reach }: Carrier, topology: Topology, { device, labware, thread, step }: Known): Arm {
  const its = device[device_id]
  const own = Object.values(labware).filter(({ run_mode, held_by }) => run_mode === 'LIVE' && held_by === device_id)
  const holds = own[0]?.labware_id
  const arm = { device_id, isPerson: its?.driver === 'person', holds }
  const task = Object.values(step).find(({ move }) => move?.transporter === device_id)?.move
  if (task) return { ...arm, target: task.is_taken ? task.to : task.from }
  if (own[0]) return { ...arm, target: placeTarget(own[0], reach, topology, its) }
  return { ...arm, target: (its?.operation && pickTarget(device_id, reach, { labware, thread })) ?? lastPlace(its) }
}

/** The reserved position to which an arm that holds labware brings it, else the position of the pick. */
function placeTarget({ thread_id, position }: Standing, reach: readonly string[], topology: Topology, its: DeviceInfo | undefined) {
  const isNext = ({ name, reserved_for }: Position) => reserved_for !== null && reserved_for === thread_id && reach.includes(name)
  const next = its?.operation ? topology.positions.find((one) => one.name !== position && isNext(one)) : undefined
  return next?.name ?? position ?? undefined
}

/** The position from which a busy arm picks: of labware that is moved, and may be in its gripper. */
function pickTarget(device_id: string, reach: readonly string[], { labware, thread }: Pick<Known, 'labware' | 'thread'>) {
  const isPicked = ({ thread_id, position, held_by, place }: Standing) =>
    held_by === null &&
    position !== null &&
    reach.includes(position) &&
    thread[thread_id ?? '']?.status === 'MOVING' &&
    place.includes(`held by ${device_id}`)
  return Object.values(labware).find(isPicked)?.position ?? undefined
}

function lastPlace(its: DeviceInfo | undefined): string | undefined {
  const { operation, params } = its?.last_operation ?? {}
  const at = params?.['at'] ?? params?.['teachpoint']
  const isThere = operation === 'pick' || operation === 'place' || operation === 'go_to'
  return isThere && typeof at === 'string' && its?.state !== 'not_initialized' ? at : undefined
}

/** Returns the labware at positions with their names. Labware that an arm may hold, and that may still stand where it was, is drawn in the gripper alone. */
export function standingOn({ positions }: Topology, holders: ReadonlyMap<string, unknown>): [Labware, name: string][] {
  return positions.flatMap(({ name, labware }) => (labware && !holders.has(labware.labware_id) ? [[labware, name]] : []))
}

/**
 * Returns the topology as the picture shows it: the stations of each translator, and the transfer stations of each storage, are positions of that device.
 * Slots of storages are not drawn: the card of the storage lists them.
 */
export function drawnTopology(topology: Topology): Topology {
  const storages = storagesOf(topology)
  const stations = new Map([
    ...topology.translators.flatMap(({ name, stations }) => stations.map((station) => [station, name] as const)),
    ...storages.flatMap(({ device_id, stations }) => stations.map(({ name }) => [name, device_id] as const)),
  ])
  const drawn = topology.positions.filter(({ slot }) => slot === null)
  return {
    ...topology,
    transporters: topology.transporters.filter(({ device_id }) => !storages.some((storage) => storage.device_id === device_id)),
    positions: drawn.map((one) => ({ ...one, device: one.device ?? stations.get(one.name) ?? null })),
  }
}

/** The text on a plate: its barcode, else its name. */
export function labelOf({ barcode, name }: Pick<Labware, 'barcode' | 'name'>): string {
  return barcode ?? name
}

/** The name of a thread by its id, for labware that is to come. */
export function threadName(thread_id: string | null, { thread }: Pick<State, 'thread'>): string | undefined {
  return thread_id === null ? undefined : (thread[thread_id]?.thread_name ?? 'a thread')
}

/** Says what is at a position: `plate P-17`, `reserved for plate`, `free, parking`. */
export function contentOf({ labware, parking, storage }: Position, reserved: string | undefined): string {
  if (labware) return labwareWords(labware)
  if (reserved !== undefined) return `reserved for ${reserved}`
  return ['free', ...(parking ? ['parking'] : []), ...(storage ? ['storage'] : [])].join(', ')
}

/** Names a position with its device and its content: `shaker_in of shaker-1: free`, `pad_1 for plate, reserved`. */
export function placeWords(position: Position, reserved: string | undefined): string {
  const { name, device, labware } = position
  // The picture shows the name beside its thread, and a label begins with what is shown.
  if (!labware && reserved !== undefined) return `${name} for ${reserved}, reserved${device === null ? '' : `, of ${device}`}`
  return `${name}${device === null ? '' : ` of ${device}`}: ${contentOf(position, reserved)}`
}

/** The name of a position inside its device: `site-1` of `bravo_96/site-1`, `start` of `translator_1_start`. */
export function shortName({ name, device }: Pick<Position, 'name' | 'device'>): string {
  return device !== null && name.startsWith(device) ? name.slice(device.length + 1) || name : name
}

/** Cuts a text to what has room in `width` px of letters of `font` px. */
export function cut(text: string, width: number, font: number): string {
  const most = Math.max(3, Math.floor(width / (font * 0.56)))
  return text.length > most ? `${text.slice(0, most - 1)}…` : text
}

/** Breaks a name that has no room in `width` px into two lines, where a part of it ends. */
export function linesOf(text: string, width: number, font: number): string[] {
  const most = Math.floor(width / (font * 0.56))
  if (text.length <= most) return [text]
  const end = /^.*[_\W]/.exec(text.slice(0, most))?.[0].length ?? most
  return [text.slice(0, end), cut(text.slice(end), width, font)]
}
