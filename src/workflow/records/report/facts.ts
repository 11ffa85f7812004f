// Gathers from the rows of a record what a report says of a run. Members that older records lack, and kinds of rows that are not known here, are passed over.

import { Series } from './series.ts'

type Row = Readonly<Record<string, unknown>>

/** A step of a labware: an action at a device, or a move. Times are Unix time, s. */
export type Step = {
  kind: 'action' | 'move'
  name: string
  /** The operations with their parameters. */
  what: string
  device: string | null
  from: string | null
  to: string | null
  transporter: string | null
  started: number | null
  ended: number | null
  outcome: string
  error: string | null
}

/** A labware with what was done with it. `status` is the status of its thread, if that is known. */
export type Plate = {
  name: string
  barcode: string | null
  group: string | null
  thread: string
  status: string | null
  steps: Step[]
}

/** A thread as the run knows it. */
export type KnownThread = { thread_id: string; thread_name: string; group_id: string | null; status: string }

/** Something that did not go as planned, or that a person decided; `who` is null unless it is a decision. */
export type Deviation = {
  at: number | null
  what: string
  /** The labware. */
  about: string
  device: string | null
  who: string | null
  text: string
  thread_id: string | null
}

/** The most entries of each list, so that a report of any record can be made in little memory. */
export const most = { steps: 60_000, plates: 10_000, deviations: 5_000, devices: 500, series: 500, rows: 1_000 } as const

export class ReportFacts {
  readonly submissions: Row[] = []
  readonly plates = new Map<string, Plate>()
  readonly devices: Row[] = []
  readonly teachpoints: Row[] = []
  readonly deviations: Deviation[] = []
  readonly files: Row[] = []
  readonly notes: Row[] = []
  /** Keyed by device and name. */
  readonly series = new Map<string, Series>()
  /** Keyed by kind: how many are not in the lists, because they are too many. */
  readonly leftOut = new Map<string, number>()
  damaged = 0
  rows = 0
  values = 0
  steps = 0
  /** The times of the first and the last row. */
  first = Number.POSITIVE_INFINITY
  last = Number.NEGATIVE_INFINITY
  /** Keyed by position: its device. */
  readonly #deviceAt = new Map<string, string>()
  /** Keyed by thread: its labware. */
  readonly #plateOf = new Map<string, Plate>()
  readonly #units = new Map<string, string>()
  readonly #kinds: Readonly<Record<string, (row: Row) => void>> = {
    submission: (row) => this.#submission(row),
    action: (row) => this.#step(row),
    move: (row) => this.#step(row),
    device: (row) => this.#device(row),
    teachpoint: (row) => this.#keep('teachpoints', this.teachpoints, row, most.rows),
    readings: (row) => this.#readings(row),
    value: () => void this.values++,
    file: (row) => this.#keep('files', this.files, row, most.rows),
    note: (row) => this.#keep('notes', this.notes, row, most.rows),
    decision: (row) => this.#deviates(row, 'Decision', wordsOf(row.text) || wordsOf(row.decision)),
    incident: (row) => this.#deviates(row, `Incident ${wordsOf(row.category)}`.trim(), wordsOf(row.message)),
    window_missed: (row) => this.#deviates(row, 'Window missed', windowWords(row)),
    wait: (row) => this.#waited(row),
    values_left_out: (row) => this.#deviates(row, 'Values left out', leftOutWords),
    rows_left_out: (row) => this.#deviates(row, 'Rows left out', leftOutWords),
    gap: (row) => this.#deviates(row, 'Gap in the record', 'Rows before this time are missing.'),
  }

  add(row: Row): void {
    this.rows++
    for (const at of [row.at, row.created, row.started, row.ended]) {
      if (typeof at !== 'number') continue
      this.first = Math.min(this.first, at)
      this.last = Math.max(this.last, at)
    }
    this.#kinds[wordsOf(row.kind)]?.(row)
  }

  /** Returns the device at a position, from the topology of the run. */
  deviceAt(position: string | null): string | null {
    return position === null ? null : (this.#deviceAt.get(position) ?? null)
  }

  /** Returns the unit of a reading of a device; empty if it is not known. */
  unitOf({ device, name }: Pick<Series, 'device' | 'name'>): string {
    return this.#units.get(`${device} ${name}`) ?? (name.includes('temperature') ? '°C' : '')
  }

  /** Lists the temperatures, of one device or of all. */
  temperatures(device?: string | null): Series[] {
    return [...this.series.values()].filter((one) => (device === undefined || one.device === device) && this.unitOf(one) === '°C')
  }

  /** Adds the statuses of the threads, and those threads that have done nothing. Sorts what was gathered by its times. */
  finish(threads: readonly KnownThread[] = []): void {
    for (const { thread_id, thread_name, group_id, status } of threads) {
      const plate = this.#plateOf.get(thread_id) ?? this.#plate({ thread_id, group_id }, thread_name)
      if (plate) plate.status = status
      else this.#leaveOut('plates')
    }
    for (const deviation of this.deviations) {
      const plate = deviation.about === '' && deviation.thread_id !== null ? this.#plateOf.get(deviation.thread_id) : undefined
      if (plate) deviation.about = labelOf(plate)
    }
    this.deviations.sort((one, other) => (one.at ?? 0) - (other.at ?? 0))
    for (const { steps } of this.plates.values()) steps.sort((one, other) => begunAt(one) - begunAt(other))
  }

  #submission({ workflow_document: _, topology_document, ...row }: Row): void {
    this.#keep('submissions', this.submissions, row, most.rows)
    const positions = membersOf(membersOf(topology_document).positions)
    for (const [position, about] of Object.entries(positions)) {
      const { device } = membersOf(about)
      if (typeof device === 'string') this.#deviceAt.set(position, device)
    }
  }

  #device(row: Row): void {
    for (const [name, unit] of Object.entries(membersOf(row.units))) this.#units.set(`${wordsOf(row.device_id)} ${name}`, wordsOf(unit))
    this.#keep('devices', this.devices, row, most.devices)
  }

  #readings({ device_id, at, values, targets }: Row): void {
    const device = wordsOf(device_id)
    const wanted = membersOf(targets)
    if (typeof at !== 'number') return
    for (const [name, value] of Object.entries(membersOf(values))) {
      if (typeof value !== 'number') continue
      const key = `${device} ${name}`
      const series = this.series.get(key) ?? (this.series.size < most.series ? new Series(device, name) : undefined)
      if (!series) continue
      this.series.set(key, series)
      series.add(at, value, numberOr(wanted[name]))
    }
  }

  #step(row: Row): void {
    const step = stepOf(row)
    if (step.outcome !== 'COMPLETED') this.#deviates({ ...row, at: step.ended ?? step.started }, faultOf(step), errorOf(step))
    const others = Array.isArray(row.others) ? row.others.map(membersOf) : []
    for (const whose of [row, ...others]) {
      const plate = this.#plate(whose, wordsOf(row.thread_name))
      if (!plate || this.steps >= most.steps) this.#leaveOut('steps')
      else {
        this.steps++
        plate.steps.push(step)
      }
    }
  }

  #plate({ labware_id, thread_id, labware, barcode, group_id }: Row, thread: string): Plate | undefined {
    const id = wordsOf(labware_id) || wordsOf(thread_id)
    const known = this.plates.get(id)
    // A barcode may be known only later.
    if (known) known.barcode ??= textOr(barcode)
    if (known || this.plates.size >= most.plates) return known
    const name = wordsOf(labware) || thread || id
    const plate = { name, barcode: textOr(barcode), group: textOr(group_id), thread, status: null, steps: [] }
    this.plates.set(id, plate)
    if (typeof thread_id === 'string') this.#plateOf.set(thread_id, plate)
    return plate
  }

  #waited(row: Row): void {
    const { step, outcome } = row
    if (outcome !== 'reached') this.#deviates(row, `Wait ${wordsOf(step)} ${wordsOf(outcome)}`, waitWords(row))
  }

  #deviates(row: Row, what: string, text: string): void {
    const { at, device_id, by, thread_name } = row
    const about = labelOf({ name: wordsOf(row.labware) || wordsOf(thread_name), barcode: textOr(row.barcode) })
    const who = what === 'Decision' ? (textOr(by) ?? 'not known') : null
    const thread_id = textOr(row.thread_id)
    const deviation = { at: numberOr(at) ?? null, what, about, device: textOr(device_id), who, text, thread_id }
    this.#keep('deviations', this.deviations, deviation, most.deviations)
  }

  #keep<Entry>(kind: string, list: Entry[], entry: Entry, limit: number): void {
    if (list.length < limit) list.push(entry)
    else this.#leaveOut(kind)
  }

  #leaveOut(kind: string): void {
    this.leftOut.set(kind, (this.leftOut.get(kind) ?? 0) + 1)
  }
}

function stepOf(row: Row): Step {
  const kind = row.kind === 'move' ? 'move' : 'action'
  return {
    ...{ kind, name: wordsOf(row.name), what: kind === 'move' ? '' : operationsOf(row), device: textOr(row.device_id) },
    ...{ from: textOr(row.from), to: textOr(row.to), transporter: textOr(row.transporter) },
    ...{ started: numberOr(row.started) ?? null, ended: numberOr(row.ended) ?? null },
    ...{ outcome: wordsOf(row.outcome), error: textOr(row.error) },
  } as Step
}

/** Words the operations of an action: `shake: speed 500, duration 5`. */
function operationsOf({ operations }: Row): string {
  const all = Array.isArray(operations) ? operations.map(membersOf) : []
  const words = all.map(({ operation, params }) => {
    const given = Object.entries(membersOf(params)).map(
      ([name, value]) => `${name} ${typeof value === 'object' ? JSON.stringify(value) : value}`,
    )
    return given.length > 0 ? `${wordsOf(operation)}: ${given.join(', ')}` : wordsOf(operation)
  })
  return words.join('; ')
}

function faultOf({ kind, name, from, to, outcome }: Step): string {
  const what = kind === 'move' ? `Move ${from ?? '?'} → ${to ?? '?'}` : `Action ${name}`
  return `${what} ${outcome ? outcome.toLowerCase() : 'without an outcome'}`
}

function errorOf({ error, outcome }: Step): string {
  return error ?? (outcome === '' ? 'Its end is not in the record.' : 'No error was recorded with it.')
}

const leftOutWords = 'From here on they are not in the record, because it has too many.'

function windowWords({ after, before, allowed_s, took_s }: Row): string {
  const between = `Between ${wordsOf(after) || '?'} and ${wordsOf(before) || '?'} at most ${seconds(allowed_s)} were allowed`
  return typeof took_s === 'number'
    ? `${between}; it took ${seconds(took_s)}.`
    : `${between}; ${wordsOf(before) || 'the second'} never began.`
}

function waitWords({ of, began, ended, target, seconds: length }: Row): string {
  const took = typeof began === 'number' && typeof ended === 'number' ? ` It lasted ${seconds(ended - began)}.` : ''
  return of === 'delay' ? `A delay of ${seconds(length)}.${took}` : `A wait for ${wordsOf(target) || '?'} °C.${took}`
}

function seconds(value: unknown): string {
  return typeof value === 'number' ? `${Math.round(value * 10) / 10} s` : '? s'
}

/** Names a labware: `plate-1 (P001)`. */
export function labelOf({ name, barcode }: Pick<Plate, 'name' | 'barcode'>): string {
  return barcode ? `${name} (${barcode})` : name
}

export function begunAt({ started, ended }: Step): number {
  return started ?? ended ?? 0
}

export function wordsOf(value: unknown): string {
  return typeof value === 'string' ? value : value === undefined || value === null ? '' : JSON.stringify(value)
}

export function textOr(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}

export function numberOr(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

export function membersOf(value: unknown): Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Row) : {}
}
