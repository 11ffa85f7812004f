// How long things take, as far as somebody knows: what is declared, else what was learned, else what is usual.

import type { Typical } from '../../devices/device.ts'
import { operations } from '../../devices/operations.ts'
import { usualSeconds } from '../../devices/usual_time.ts'
import type { TopologyDocument } from './documents.ts'
import type { Durations } from './durations.ts'
import type { Hop } from './graph.ts'
import type { KnownDevice } from './topology.ts'

type ParamValues = Readonly<Record<string, unknown>>
type Known = { params: ParamValues; said?: number | undefined; learned?: Durations | undefined }

/**
 * Seconds: what the action says is all of it. Else what the topology says, what was learned, or the table of operations, and
 * the `duration` asked for on top.
 */
export function secondsOf(operation: string, device: KnownDevice, known: Known): number {
  const own = device.own.get(operation)
  return knownSeconds(operation, device, known) ?? own?.seconds(known.params) ?? usual(operation) + durationOf(known)
}

/** How long a call may take before somebody has to look, s: what is asked for or known, and the margin of the operation. */
export function limitOf(operation: string, device: KnownDevice, known: Known): number {
  const own = device.own.get(operation)
  if (own) return Math.max(own.seconds(known.params), knownSeconds(operation, device, known) ?? 0) + own.margin_s
  const margin = Object.hasOwn(operations, operation) ? operations[operation as keyof typeof operations].margin_seconds : unknownMargin
  return Math.max(durationOf(known), knownSeconds(operation, device, known) ?? 0) + margin
}

/** The usual time of an operation that the table does not have, s. */
const unknownMargin = 600

/** Undefined where nobody has said it and nothing was learned. */
export function knownSeconds(operation: string, device: KnownDevice, known: Known): number | undefined {
  if (known.said !== undefined) return known.said
  const beyond = device.operations.get(operation)?.seconds ?? known.learned?.beyond(device.device_id, operation)
  return beyond === undefined ? undefined : beyond + durationOf(known)
}

function durationOf({ params: { duration } }: Known): number {
  return typeof duration === 'number' ? duration : 0
}

/** Returns what the table says; undefined for operations that it does not know, and for readings. */
export function usual(operation: string): number {
  return Object.hasOwn(operations, operation) ? operations[operation as keyof typeof operations].typical_seconds : 0
}

/** A device that is this near to its set point, in °C, counts as heated. */
const warmEnough = 5

/** The temperature that a device has to have before an operation begins; undefined where it need not wait for one. */
export function temperatureFor(operation: string, { temperature }: ParamValues): number | undefined {
  return operation !== 'set_temperature' && typeof temperature === 'number' ? temperature : undefined
}

/** How many °C a device has still to be heated; 0 for one that is warm enough, or has to cool down. */
export function degreesToHeat(from: number, to: number): number {
  return to - from > warmEnough ? to - from : 0
}

/** Seconds until a device is hotter by so many °C; 0 where nobody knows how fast it heats: its operations are learned with the heating. */
export function heatingSeconds(degrees: number, seconds_per_degree = 0): number {
  return degrees * seconds_per_degree
}

/** Seconds until a device that is not initialized is. */
export function initializationSeconds(device_id: string, typical: Typical | undefined, learned?: Durations): number {
  return learned?.initialization(device_id) ?? usualSeconds('initialize', typical)
}

/** The durations of the two halves of a hop, s. The way there belongs to the place. */
export type MoveSeconds = { pick: number; move: number; place: number }

/** The usual move of a translator, and of a transporter without settings. */
export const usualMove: MoveSeconds = { pick: 5, move: 2, place: 5 }

/** A learned duration replaces one that is only usual. A topology fills that in where nothing was said, so that nobody can tell. */
function moveOf(transporter: string, { transporters }: TopologyDocument, learned?: Durations): MoveSeconds {
  const said = transporters[transporter]?.seconds ?? usualMove
  const hop = isUsual(said) ? learned?.hop(transporter) : undefined
  return hop === undefined ? said : { pick: hop / 2, move: 0, place: hop / 2 }
}

/** The usual moves of all transporters and translators. */
export function movesOf(document: TopologyDocument, learned?: Durations): Record<string, { seconds: MoveSeconds }> {
  const names = [...Object.keys(document.transporters), ...Object.keys(document.translators)]
  return Object.fromEntries(names.map((name) => [name, { seconds: moveOf(name, document, learned) }]))
}

function isUsual({ pick, move, place }: MoveSeconds): boolean {
  return pick === usualMove.pick && move === usualMove.move && place === usualMove.place
}

/** The durations of the ways on a topology. */
export class Hops {
  readonly #document: TopologyDocument
  readonly #learned: Durations | undefined

  constructor(document: TopologyDocument, learned?: Durations) {
    this.#document = document
    this.#learned = learned
  }

  /** Seconds of one pick and place. */
  hop(transporter: string): number {
    const { pick, move, place } = moveOf(transporter, this.#document, this.#learned)
    return pick + move + place
  }

  longestHop(): number {
    const { transporters, translators } = this.#document
    return Math.max(0, ...[...Object.keys(transporters), ...Object.keys(translators)].map((name) => this.hop(name)))
  }

  /** Seconds of the shortest way; endless where there is none. */
  way(route: readonly Hop[] | undefined): number {
    return route ? route.reduce((sum, { transporter }) => sum + this.hop(transporter), 0) : Number.POSITIVE_INFINITY
  }
}
