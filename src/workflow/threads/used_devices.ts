// The devices that a run uses, in its record: their identities, the teachpoints by which labware was moved, and their readings. A device is in use
// from the first action or move of the run at it until the end of the run.

import type { Noted } from '../../devices/readings.ts'
import type { RecordRow } from '../../events/run_record_file.ts'
import type { Teachpoint } from '../../teachpoints/teachpoint.ts'
import type { RunRecord } from '../state/run_record.ts'
import type { RunEnvironment } from './run_environment.ts'

/** `start` and `end`: a reading at the beginning or the end of an action. */
export const readingReasons = ['start', 'interval', 'end'] as const
type Reason = (typeof readingReasons)[number]
/** An action that waits for the next reading, since `since_ms` on the clock of the environment. */
type Wanted = { about: { why: Reason; action_id: string }; since_ms: number }

type RecordedRun = {
  readonly record: RunRecord
  readonly environment: Pick<RunEnvironment, 'clock' | 'equipment'>
  /** Unix time, s. */
  now(): number
}

/** The time between two rows with readings of a device. It is shorter than the 10 s between two questions, which are not asked to the millisecond. */
const between_ms = 9000
/** The age of a reading that still counts as one at the start of an action. */
const fresh_ms = 2000
/**
 * The bytes that rows with readings of one device may take: this many at once, and then so many each second. In an hour that is at most 60 kB. A reading for
 * which there is no room is left out.
 */
const mostAtOnce = 2000
const bytesPerSecond = (60_000 - mostAtOnce) / 3600
/** The length of the checksum of a row, and of its line end. */
const lengthAround = 20
/** The least bytes of a row with readings. */
const shortest = 120
/** The time between two looks at the identity of a device. */
const betweenLooks_ms = 10_000
/** The most actions of a device that wait for its next reading, and the time after which a reading shows nothing about them any more. */
const mostWanted = 20
const oldestWanted_ms = 10_000

/** A device in use, `moment` and `room_ms` on the clock of the environment. */
type Used = { wanted: Wanted[]; moment: number; room: number; room_ms: number }

export class UsedDevices {
  readonly #run: RecordedRun
  /** The JSON of the newest row about each device and each teachpoint, by key. */
  readonly #rows = new Map<string, string>()
  /** The last look at the identity of each device, on the clock of the environment, and the newest teachpoints. Neither changes from one action to the next. */
  readonly #looks = new Map<string, number>()
  readonly #taught = new Map<string, Teachpoint>()
  /** The devices in use that have readings. */
  readonly #used = new Map<string, Used>()
  #leave: (() => void) | undefined

  constructor(run: RecordedRun) {
    this.#run = run
  }

  /** Whether the run has used this device, also before a restart. */
  has(device_id: string): boolean {
    return this.#rows.has(keyOf({ kind: 'device', device_id }))
  }

  /** Notes that an action begins at a device, or ends. */
  action(device_id: string | null, action_id: string, why: 'start' | 'end'): void {
    if (device_id === null || !this.#run.record.isKept) return
    if (why === 'start') this.#use(device_id)
    const used = this.#used.get(device_id)
    if (!used) return
    const { readings } = this.#run.environment.equipment
    const about = { why, action_id }
    // A reading from before the end does not show what the action has changed.
    const fresh = why === 'start' ? readings?.newestOf(device_id, fresh_ms) : undefined
    if (fresh) this.#addReading(device_id, fresh, about)
    else {
      used.wanted = [...used.wanted.slice(1 - mostWanted), { about, since_ms: this.#run.environment.clock.now() }]
      readings?.want(device_id)
    }
  }

  /** Notes that a transporter begins to pick or to place at a position. */
  move(transporter: string, position: string): void {
    if (!this.#run.record.isKept) return
    this.#use(transporter)
    for (const teachpoint of this.#run.environment.equipment.teachpointsTo?.(transporter, position) ?? []) {
      const key = `${transporter} ${teachpoint.name}`
      if (this.#taught.get(key) === teachpoint) continue
      this.#taught.set(key, teachpoint)
      this.#addIfNew({ kind: 'teachpoint', transporter, position: teachpoint.name, teachpoint })
    }
  }

  /** Adds the end of the run: nothing is in use any more. Actions that still wait for a reading get the newest one, if it is not older than they. */
  end(): void {
    const { readings } = this.#run.environment.equipment
    for (const [device_id, { wanted }] of this.#used) {
      const noted = wanted.length > 0 ? readings?.newestOf(device_id) : undefined
      if (noted) for (const { about, since_ms } of wanted) if (noted.moment >= since_ms) this.#addReading(device_id, noted, about)
    }
    this.leave()
  }

  /** Takes no more readings. */
  leave(): void {
    this.#leave?.()
    this.#leave = undefined
    this.#used.clear()
  }

  /** Takes over a row of kind `device` or `teachpoint` from the record of a restored run. */
  restore({ at: _, ...row }: RecordRow): void {
    this.#rows.set(keyOf(row), JSON.stringify(row))
    if (row.kind === 'device') this.#begin(row.device_id as string, row.units as object)
  }

  #use(device_id: string): void {
    const now_ms = this.#run.environment.clock.now()
    if (now_ms - (this.#looks.get(device_id) ?? Number.NEGATIVE_INFINITY) < betweenLooks_ms) return
    this.#looks.set(device_id, now_ms)
    const identity = this.#run.environment.equipment.identityOf?.(device_id)
    if (!identity) return
    this.#addIfNew({ kind: 'device', device_id, ...identity })
    this.#begin(device_id, identity.units)
  }

  #begin(device_id: string, units: object): void {
    if (this.#used.has(device_id) || Object.keys(units).length === 0) return
    const { clock, equipment } = this.#run.environment
    this.#used.set(device_id, { wanted: [], moment: Number.NEGATIVE_INFINITY, room: mostAtOnce, room_ms: clock.now() })
    this.#leave ??= equipment.readings?.listen((device_id, noted) => this.#onReading(device_id, noted))
  }

  #onReading(device_id: string, noted: Noted | undefined): void {
    const used = this.#used.get(device_id)
    if (!used) return
    const from_ms = this.#run.environment.clock.now() - oldestWanted_ms
    used.wanted = used.wanted.filter(({ since_ms }) => since_ms >= from_ms)
    if (!noted) {
      // It gives none while it initializes, for example.
      if (used.wanted.length > 0) this.#run.environment.equipment.readings?.want(device_id)
      return
    }
    for (const { about } of used.wanted.splice(0)) this.#addReading(device_id, noted, about)
    if (noted.moment - used.moment >= between_ms) this.#addReading(device_id, noted, { why: 'interval' })
  }

  #addReading(device_id: string, { moment, reading }: Noted, about: Wanted['about'] | { why: 'interval' }): void {
    const { record, environment } = this.#run
    const used = this.#used.get(device_id)!
    const now_ms = environment.clock.now()
    used.room = Math.min(mostAtOnce, used.room + ((now_ms - used.room_ms) / 1000) * bytesPerSecond)
    used.room_ms = now_ms
    if (used.room < shortest) return
    const at = this.#run.now() - (now_ms - moment) / 1000
    const row = { kind: 'readings', at: Math.round(at * 1000) / 1000, device_id, ...shown(reading), ...about }
    const length = JSON.stringify(row).length + lengthAround
    if (length > used.room) return
    used.room -= length
    used.moment = Math.max(used.moment, moment)
    record.add(row)
  }

  #addIfNew({ kind, ...row }: RecordRow): void {
    const json = JSON.stringify({ kind, ...row })
    const key = keyOf({ kind, ...row })
    if (this.#rows.get(key) === json) return
    this.#rows.set(key, json)
    this.#run.record.add({ kind, at: this.#run.now(), ...row })
  }
}

function keyOf({ kind, device_id, transporter, position }: RecordRow): string {
  return kind === 'device' ? `device ${device_id}` : `teachpoint ${transporter} ${position}`
}

/** Returns the values of a reading by name, and the targets of those that have one. */
function shown({ temperature, target, others }: Noted['reading']) {
  const all = Object.entries({ ...(temperature !== null && { temperature: { value: temperature, target } }), ...others })
  const targets = all.flatMap(([name, { target }]) => (target === null ? [] : [[name, target] as const]))
  return {
    values: Object.fromEntries(all.map(([name, { value }]) => [name, value])),
    ...(targets.length > 0 && { targets: Object.fromEntries(targets) }),
  }
}
