// The durations of operations and moves: declared, else learned, else usual.

import { askedSeconds } from '../../devices/asked_time.ts'
import type { Typical } from '../../devices/device.ts'
import { operations } from '../../devices/operations.ts'
import { marginSeconds, usualSeconds } from '../../devices/usual_time.ts'
import type { Durations } from './durations.ts'
import type { Hop } from './graph.ts'
import type { KnownDevice } from './topology.ts'
import type { TopologyDocument } from './topology_schema.ts'

type ParamValues = Readonly<Record<string, unknown>>
type Known = { params: ParamValues; said?: number | undefined; learned?: Durations | undefined }

/**
 * Returns seconds. A duration in the action is the total. Else it is that of the topology, the learned one, or that of the table of operations,
 * plus the requested time.
 */
export function secondsOf(operation: string, device: KnownDevice, known: Known): number {
  const own = device.own.get(operation)
  return knownSeconds(operation, device, known) ?? own?.seconds(known.params) ?? usual(operation) + askedSeconds(operation, known.params)
}

/** Returns the seconds after which a call is late: the requested or known duration, plus the margin of the operation. */
export function limitOf(operation: string, device: KnownDevice, known: Known): number {
  const own = device.own.get(operation)
  if (own) return Math.max(own.seconds(known.params), knownSeconds(operation, device, known) ?? 0) + own.margin_s
  const margin = Object.hasOwn(operations, operation) ? marginSeconds(operation as keyof typeof operations, device.margins) : unknownMargin
  return Math.max(askedSeconds(operation, known.params), knownSeconds(operation, device, known) ?? 0) + margin
}

/** The margin of an operation that the table does not have, s. */
const unknownMargin = 600

/** Returns the declared or learned duration; undefined without one. */
export function knownSeconds(operation: string, device: KnownDevice, known: Known): number | undefined {
  if (known.said !== undefined) return known.said
  const beyond = device.operations.get(operation)?.seconds ?? known.learned?.beyond(device.device_id, operation)
  return beyond === undefined ? undefined : beyond + askedSeconds(operation, known.params)
}

/** Returns the typical seconds of the table; 0 for readings and operations that the table does not have. */
export function usual(operation: string): number {
  return Object.hasOwn(operations, operation) ? operations[operation as keyof typeof operations].typical_seconds : 0
}

/** Returns the seconds of a scan: those that the topology declares, else learned ones, else the usual ones. */
export function scanSeconds(scanner: string, { devices }: TopologyDocument, learned?: Durations): number {
  return devices[scanner]?.operations.scan?.seconds ?? learned?.beyond(scanner, 'scan') ?? usual('scan')
}

/** The distance from the set point, in °C, within which a device counts as heated. */
const warmEnough = 5

/** Returns the temperature that a device needs before an operation; undefined if it does not wait for one. */
export function temperatureFor(operation: string, { temperature }: ParamValues): number | undefined {
  return operation !== 'set_temperature' && typeof temperature === 'number' ? temperature : undefined
}

/** Returns the °C by which a device still has to be heated; 0 if it is warm enough or has to cool. */
export function degreesToHeat(from: number, to: number): number {
  return to - from > warmEnough ? to - from : 0
}

/** Returns the seconds to heat by that many °C; 0 if the rate is unknown, as the learned operations then include the heating. */
export function heatingSeconds(degrees: number, seconds_per_degree = 0): number {
  return degrees * seconds_per_degree
}

/** Returns the seconds to initialize a device. */
export function initializationSeconds(device_id: string, typical: Typical | undefined, learned?: Durations): number {
  return learned?.initialization(device_id) ?? usualSeconds('initialize', typical)
}

/** The durations of the parts of a hop, s. The move belongs to the place. */
export type MoveSeconds = { pick: number; move: number; place: number }

/** The usual move of a translator, and of a transporter without settings. */
export const usualMove: MoveSeconds = { pick: 5, move: 2, place: 5 }

/** Returns the durations of a transporter. A learned one replaces the default, which a topology fills in. */
function moveOf(transporter: string, { transporters }: TopologyDocument, learned?: Durations): MoveSeconds {
  const said = transporters[transporter]?.seconds ?? usualMove
  const hop = isUsual(said) ? learned?.hop(transporter) : undefined
  return hop === undefined ? said : halves(hop)
}

/** The durations of one transporter: usually, and between two positions, which people learn for each pair. */
export type Moves = { seconds: MoveSeconds; between?(from: string, to: string): MoveSeconds }

/** Returns the moves of all transporters and translators. */
export function movesOf(document: TopologyDocument, learned?: Durations): Record<string, Moves> {
  const names = [...Object.keys(document.transporters), ...Object.keys(document.translators)]
  const between = (transporter: string) => (from: string, to: string) => moveBetween({ transporter, from, to }, document, learned)
  return Object.fromEntries(names.map((name) => [name, { seconds: moveOf(name, document, learned), between: between(name) }]))
}

/** Returns the durations of a hop. Those of the topology go before those of the two positions, and these before those of the transporter. */
function moveBetween(hop: Hop, document: TopologyDocument, learned?: Durations): MoveSeconds {
  const said = document.transporters[hop.transporter]?.seconds ?? usualMove
  const seconds = isUsual(said) ? learned?.between(hop) : undefined
  return seconds === undefined ? moveOf(hop.transporter, document, learned) : halves(seconds)
}

function halves(seconds: number): MoveSeconds {
  return { pick: seconds / 2, move: 0, place: seconds / 2 }
}

function isUsual({ pick, move, place }: MoveSeconds): boolean {
  return pick === usualMove.pick && move === usualMove.move && place === usualMove.place
}

/** The durations of routes on a topology. */
export class Hops {
  readonly #document: TopologyDocument
  readonly #learned: Durations | undefined

  constructor(document: TopologyDocument, learned?: Durations) {
    this.#document = document
    this.#learned = learned
  }

  /** Seconds of one pick and place, with the scan between them of a transporter that has a scanner. */
  hop(transporter: string): number {
    const { pick, move, place } = moveOf(transporter, this.#document, this.#learned)
    return pick + move + place + this.#scanOf(transporter)
  }

  #between(hop: Hop): number {
    const { pick, move, place } = moveBetween(hop, this.#document, this.#learned)
    return pick + move + place + this.#scanOf(hop.transporter)
  }

  #scanOf(transporter: string): number {
    const scanner = this.#document.transporters[transporter]?.scanner
    return scanner === undefined ? 0 : this.scan(scanner)
  }

  /** Seconds of one scan. */
  scan(scanner: string): number {
    return scanSeconds(scanner, this.#document, this.#learned)
  }

  longestHop(): number {
    const { transporters, translators } = this.#document
    return Math.max(0, ...[...Object.keys(transporters), ...Object.keys(translators)].map((name) => this.hop(name)))
  }

  /** Returns the seconds of a route; infinite without one. */
  way(route: readonly Hop[] | undefined): number {
    return route ? route.reduce((sum, hop) => sum + this.#between(hop), 0) : Number.POSITIVE_INFINITY
  }
}
