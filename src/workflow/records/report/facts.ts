// Gathers from the rows of a record what a report says of a run. Members that older records lack, and kinds of rows that are not known here, are passed over.

import { authorText } from '../../../kit/author.ts'
import { shortened } from './markup.ts'
import { joined, mostSamples, Series, type Spread } from './series.ts'

type Row = Readonly<Record<string, unknown>>

/** A step of a labware: an action at a device, a move, a condition or a wait. Times are Unix time, s. */
export type Step = {
  kind: 'action' | 'move' | 'condition' | 'wait'
  action_id: string | null
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
  /** `before` or `after`: these are the operations of the run itself, and no labware. */
  part: string | null
  /** Actions and moves. */
  steps: Step[]
  /** Conditions and waits. */
  asides: Step[]
}

/** A thread as the run knows it. */
export type KnownThread = { thread_id: string; thread_name: string; group_id: string | null; status: string; part?: string | undefined }

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

/** The classes of deviations. Each has its own limit, so that many of one class do not push out the others. */
export const classes = { incidents: 'incidents', decisions: 'decisions', others: 'other deviations' } as const
type Class = keyof typeof classes

/** The most entries of each list, so that a report of any record can be made in little memory. `deviations`: of each class. */
export const most = { steps: 60_000, plates: 10_000, deviations: 5_000, devices: 500, series: 500, rows: 1_000 } as const

export class ReportFacts {
  readonly submissions: Row[] = []
  readonly plates = new Map<string, Plate>()
  readonly devices: Row[] = []
  readonly teachpoints: Row[] = []
  readonly deviations: Deviation[] = []
  /** The number of deviations in the record, of each class. */
  readonly counts: Record<Class, number> = { incidents: 0, decisions: 0, others: 0 }
  /** The number of times that somebody emitted an event. Most are programs, so that these decisions are not listed. */
  emitted = 0
  readonly files: Row[] = []
  readonly notes: Row[] = []
  /** The plans that the bench followed. */
  readonly plans: Row[] = []
  /** The ends of the run that were foretold. */
  readonly forecasts: Row[] = []
  /** Keyed by device and name. */
  readonly series = new Map<string, Series>()
  /** The samples of all series. */
  samples = 0
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
  /** Keyed by action: the temperatures at its beginning and its end. */
  readonly #atAction = new Map<string, Map<Series, Spread>>()
  #temperaturesOf: Map<string, Series[]> | undefined
  /** Conditions and waits, whose labware may be known only later. */
  readonly #asides: Row[] = []
  readonly #kinds: Readonly<Record<string, (row: Row) => void>> = {
    submission: (row) => this.#submission(row),
    condition: (row) => this.#keep('steps', this.#asides, row, most.steps),
    action: (row) => this.#step(row),
    move: (row) => this.#step(row),
    device: (row) => this.#device(row),
    teachpoint: (row) => this.#keep('teachpoints', this.teachpoints, row, most.rows),
    readings: (row) => this.#readings(row),
    value: () => void this.values++,
    file: (row) => this.#keep('files', this.files, row, most.rows),
    note: (row) => this.#keep('notes', this.notes, row, most.rows),
    decision: (row) =>
      row.decision === 'emit' ? void this.emitted++ : this.#deviates(row, 'Decision', wordsOf(row.text) || wordsOf(row.decision)),
    incident: (row) => this.#deviates(row, `Incident ${wordsOf(row.category)}`.trim(), wordsOf(row.message)),
    window_missed: (row) => this.#deviates(row, 'Window missed', windowWords(row)),
    wait: (row) => this.#waited(row),
    not_done: ({ part: thread_name, operation, on: device_id, ...row }) =>
      this.#deviates({ ...row, thread_name, device_id }, `Operation ${wordsOf(operation)} not done`, wordsOf(row.reason)),
    plan: ({ reason, makespan_s, bound_s }) => this.#keep('plans', this.plans, { reason, makespan_s, bound_s }, most.steps),
    forecast: ({ eta, at }) => this.#keep('forecasts', this.forecasts, { eta, at }, most.steps),
    values_left_out: (row) => this.#deviates(row, 'Values left out', leftOutWords(row)),
    rows_left_out: (row) => this.#deviates(row, 'Rows left out', leftOutWords(row)),
    gap: (row) => this.#deviates(row, 'Gap in the record', 'Rows before this time are missing.'),
  }

  add(row: Row): void {
    this.rows++
    for (const at of [row.at, row.created, row.began, row.started, row.ended]) {
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

  /** Lists the temperatures of all devices. */
  get temperatures(): Series[] {
    return [...this.series.values()].filter((one) => this.unitOf(one) === '°C')
  }

  /** Lists the temperatures of one device. Call it when all rows were added. */
  temperaturesOf(device: string | null): readonly Series[] {
    if (!this.#temperaturesOf) {
      this.#temperaturesOf = new Map()
      for (const one of this.temperatures) this.#temperaturesOf.set(one.device, [...(this.#temperaturesOf.get(one.device) ?? []), one])
    }
    return this.#temperaturesOf.get(device ?? '') ?? []
  }

  /** Returns the temperatures that were read for an action at its beginning and its end, usually within 2 s. */
  temperaturesAt({ action_id }: Step): ReadonlyMap<Series, Spread> | undefined {
    return action_id === null ? undefined : this.#atAction.get(action_id)
  }

  /** Adds the statuses of the threads, and those threads that have done nothing. Sorts what was gathered by its times. */
  finish(threads: readonly KnownThread[] = []): void {
    for (const { thread_name, status, ...its } of threads) {
      const plate = this.#plateOf.get(its.thread_id) ?? this.#plate(its, thread_name)
      if (plate) plate.status = status
      else this.#leaveOut('plates')
    }
    for (const deviation of this.deviations) {
      const plate = deviation.about === '' && deviation.thread_id !== null ? this.#plateOf.get(deviation.thread_id) : undefined
      if (plate) deviation.about = labelOf(plate)
    }
    this.deviations.sort((one, other) => (one.at ?? 0) - (other.at ?? 0))
    this.#placeAsides()
    for (const { steps } of this.plates.values()) steps.sort((one, other) => begunAt(one) - begunAt(other))
  }

  /** Gives conditions and waits to their labware, which is found by an id, by its name with its barcode, by its name, or by its thread. */
  #placeAsides(): void {
    const named = new Map<string, Plate>()
    const plates = this.#asides.length > 0 ? [...this.plates.values()] : []
    for (const nameOf of [labelOf, ({ name }: Plate) => name, ({ thread }: Plate) => thread])
      for (const plate of plates) if (!named.has(nameOf(plate))) named.set(nameOf(plate), plate)
    for (const row of this.#asides) {
      const [name, thread] = [wordsOf(row.labware), wordsOf(row.thread_name)]
      const byId = this.plates.get(wordsOf(row.labware_id)) ?? this.#plateOf.get(wordsOf(row.thread_id))
      const byName = named.get(labelOf({ name, barcode: textOr(row.barcode) })) ?? named.get(name) ?? named.get(thread)
      const plate = byId ?? byName ?? (name || thread ? this.#plate({ ...row, labware_id: name || thread }, thread) : undefined)
      plate?.asides.push(stepOf(row))
    }
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

  #readings({ device_id, at, values, targets, action_id }: Row): void {
    const device = wordsOf(device_id)
    const wanted = membersOf(targets)
    if (typeof at !== 'number') return
    for (const [name, value] of Object.entries(membersOf(values))) {
      if (typeof value !== 'number') continue
      const key = `${device} ${name}`
      const series = this.series.get(key) ?? (this.series.size < most.series ? new Series(device, name) : undefined)
      if (!series) continue
      this.series.set(key, series)
      const target = numberOr(wanted[name])
      this.#sample(series, { at, value, target })
      if (typeof action_id === 'string' && this.unitOf(series) === '°C')
        this.#readAt(action_id, series, { lowest: value, highest: value, target: target ?? null })
    }
  }

  #readAt(action_id: string, series: Series, spread: Spread): void {
    const known = this.#atAction.get(action_id) ?? (this.#atAction.size < most.steps ? new Map<Series, Spread>() : undefined)
    if (!known) return
    this.#atAction.set(action_id, known.set(series, joined(known.get(series), spread)!))
  }

  /** Adds a sample. Thins the longest series if there are too many in all. */
  #sample(series: Series, { at, value, target }: { at: number; value: number; target: number | undefined }): void {
    this.samples -= series.at.length
    series.add(at, value, target)
    this.samples += series.at.length
    if (this.samples < mostSamples.all) return
    const longest = [...this.series.values()].reduce((one, other) => (other.at.length > one.at.length ? other : one))
    this.samples -= longest.at.length
    longest.thin()
    this.samples += longest.at.length
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

  #plate({ labware_id, thread_id, labware, barcode, group_id, part }: Row, thread: string): Plate | undefined {
    const id = wordsOf(labware_id) || wordsOf(thread_id)
    const known = this.plates.get(id)
    // A barcode may be known only later.
    if (known) known.barcode ??= textOr(barcode)
    if (known || this.plates.size >= most.plates) return known
    const name = wordsOf(labware) || thread || id
    const its = { barcode: textOr(barcode), group: textOr(group_id), part: textOr(part), status: null }
    const plate = { name, thread, ...its, steps: [], asides: [] }
    this.plates.set(id, plate)
    if (typeof thread_id === 'string') this.#plateOf.set(thread_id, plate)
    return plate
  }

  #waited(row: Row): void {
    const { step, outcome } = row
    this.#keep('steps', this.#asides, row, most.steps)
    if (cutWaits.has(outcome)) this.#deviates(row, `Wait ${wordsOf(step)} ${wordsOf(outcome)}`, waitWords(row))
  }

  #deviates(row: Row, what: string, text: string): void {
    const { at, device_id, by, operator, thread_name } = row
    const about = labelOf({ name: wordsOf(row.labware) || wordsOf(thread_name), barcode: textOr(row.barcode) })
    const who = what === 'Decision' ? authorText(by, operator) || 'not known' : null
    const thread_id = textOr(row.thread_id)
    const of = row.kind === 'incident' ? 'incidents' : who !== null ? 'decisions' : 'others'
    this.counts[of]++
    if (this.counts[of] > most.deviations) return
    this.deviations.push({ at: numberOr(at) ?? null, what, about, device: textOr(device_id), who, text: shortened(text, 1000), thread_id })
  }

  #keep<Entry>(kind: string, list: Entry[], entry: Entry, limit: number): void {
    if (list.length < limit) list.push(entry)
    else this.#leaveOut(kind)
  }

  #leaveOut(kind: string): void {
    this.leftOut.set(kind, (this.leftOut.get(kind) ?? 0) + 1)
  }
}

/** The outcomes of a wait that did not come to its end. */
const cutWaits: ReadonlySet<unknown> = new Set(['timeout', 'failed', 'skipped', 'ended'])

const wordsOfStep: Readonly<Record<Step['kind'], (row: Row) => Pick<Step, 'name' | 'what' | 'outcome'>>> = {
  action: (row) => ({ name: wordsOf(row.name), what: operationsOf(row), outcome: wordsOf(row.outcome) }),
  move: (row) => ({ name: wordsOf(row.name), what: '', outcome: wordsOf(row.outcome) }),
  condition: (row) => ({
    name: ['Condition', wordsOf(row.step)].filter(Boolean).join(' '),
    what: wordsOf(row.text) || listOf(row.values),
    outcome: wordsOf(row.side),
  }),
  wait: (row) => ({ name: ['Wait', wordsOf(row.step)].filter(Boolean).join(' '), what: waitWords(row), outcome: wordsOf(row.outcome) }),
}

function stepOf(row: Row): Step {
  const kind = row.kind as Step['kind']
  return {
    ...{ kind, action_id: textOr(row.action_id), ...wordsOfStep[kind](row), device: textOr(row.device_id) },
    ...{ from: textOr(row.from), to: textOr(row.to), transporter: textOr(row.transporter) },
    ...{ started: numberOr(row.started) ?? numberOr(row.began) ?? numberOr(row.at) ?? null, ended: numberOr(row.ended) ?? null },
    error: textOr(row.error),
  }
}

/** Words members: `speed 500, duration 5`. */
function listOf(members: unknown): string {
  const words = ([name, value]: [string, unknown]) => `${name} ${typeof value === 'object' ? JSON.stringify(value) : value}`
  return Object.entries(membersOf(members)).map(words).join(', ')
}

/** Words the operations of an action: `shake: speed 500, duration 5`. */
function operationsOf({ operations }: Row): string {
  const all = Array.isArray(operations) ? operations.map(membersOf) : []
  const words = all.map(({ operation, params }) => [wordsOf(operation), listOf(params)].filter(Boolean).join(': '))
  return words.join('; ')
}

function faultOf({ kind, name, from, to, outcome }: Step): string {
  const what = kind === 'move' ? `Move ${from ?? '?'} → ${to ?? '?'}` : `Action ${name}`
  return `${what} ${outcome ? outcome.toLowerCase() : 'without an outcome'}`
}

function errorOf({ error, outcome }: Step): string {
  return error ?? (outcome === '' ? 'Its end is not in the record.' : 'No error was recorded with it.')
}

const whyLeftOut: Readonly<Record<string, string>> = {
  size: 'from here on, because the record is too long',
  disk: 'until the disk took rows again',
}

/** Words which rows the record lacks, and why: rows of kind `rows_left_out`, or `values_left_out`. */
export function leftOutWords({ kind, of, why }: Row): string {
  if (kind === 'values_left_out') return 'Values are not in the record from here on, because the run has too many.'
  const what = textOr(of) ? `Rows of the kind ${of}` : 'Some rows'
  return `${what} are not in the record ${whyLeftOut[wordsOf(why)] ?? 'from here on'}.`
}

function windowWords({ after, before, allowed_s, took_s }: Row): string {
  const between = `Between ${wordsOf(after) || '?'} and ${wordsOf(before) || '?'} at most ${seconds(allowed_s)} were allowed`
  return typeof took_s === 'number'
    ? `${between}; it took ${seconds(took_s)}.`
    : `${between}; ${wordsOf(before) || 'the second'} never began.`
}

function waitWords({ of, what, began, ended, target, seconds: length }: Row): string {
  if (of === undefined) return wordsOf(what)
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
