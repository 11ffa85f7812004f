// Watches the computer of the service: each problem is a word in `/health`, and an incident when it begins.

import type { IncidentCategory, NewIncident } from '../events/incidents.ts'
import type { Clock } from '../kit/clock.ts'
import { type Host, type HostFacts, levelOf, roomInWords } from './host.ts'

type HostReason = 'clock' | 'disk' | 'under_voltage' | 'temperature'

/** Reports a problem to people. */
type Tell = (category: IncidentCategory, message: string, more: Pick<NewIncident, 'severity' | 'detail'>) => void

type HostWatchOptions = {
  host: Host
  clock: Clock
  tell: Tell
  /** Whether the event log itself reports that the wall clock is behind it. */
  isBehindLog(): boolean
}

const look_ms = 60_000
/** The interval of the power check, equal to that of the kernel driver, which shows a dip of the voltage for only that long. */
const lookAtPower_ms = 2000
/** The time for which the same problem is not reported again. */
const again_ms = 3_600_000
/** A jump of the clock in ms that synchronization never makes. */
const step_ms = 1000

type Trouble = {
  category: IncidentCategory
  isThere(facts: HostFacts): boolean
  /** The time that a problem must last before it counts. */
  settles_ms: number
  /** The time for which it is shown after its end, so that a client that asks once a minute does not miss a dip of two seconds. */
  stays_ms: number
  words(facts: HostFacts): string
}

const troubles: Record<HostReason, Trouble> = {
  clock: {
    category: 'CLOCK',
    isThere: ({ clock_synced }) => clock_synced === false,
    // At boot there is no network yet.
    settles_ms: 300_000,
    stays_ms: 0,
    words: () =>
      'the clock of this computer is not set by a time server: events stay in order, but their times may be wrong; give the lab one, in /etc/systemd/timesyncd.conf',
  },
  disk: {
    category: 'STORAGE',
    isThere: ({ room }) => room !== null && levelOf(room) !== 'enough',
    settles_ms: 0,
    stays_ms: 0,
    words: ({ room }) =>
      `the disk of the data folder has ${room ? roomInWords(room) : 'nothing'} left; free some space, or delete old executions`,
  },
  under_voltage: {
    category: 'POWER',
    isThere: ({ under_voltage }) => under_voltage === true,
    settles_ms: 0,
    stays_ms: 600_000,
    words: () =>
      'the voltage of this board fell too low: USB devices may drop out and the card may be damaged; use the power supply made for it, a short cable, and a powered USB hub for instruments',
  },
  temperature: {
    category: 'OTHER',
    isThere: ({ temperature }) => temperature !== null && temperature.celsius >= temperature.hot,
    settles_ms: 60_000,
    stays_ms: 0,
    words: ({ temperature }) =>
      `the processor has ${Math.round(temperature?.celsius ?? 0)} °C and slows down by itself; give it air, a heat sink or a fan`,
  },
}

/** The report of a refused write before the next check; also of a quota or a lack of inodes, which no check shows. */
const fullDisk: Trouble = {
  ...troubles.disk,
  isThere: () => true,
  words: () => 'a write was refused, for the disk of the data folder is full; free some space, or delete old executions',
}

export class HostWatch {
  readonly #options: HostWatchOptions
  readonly #states = new Map<HostReason, TroubleTimes>()
  #facts: HostFacts | undefined
  #ended = false
  #cancels: (() => void)[] = [() => {}, () => {}]

  constructor(options: HostWatchOptions) {
    this.#options = options
    for (const reason of Object.keys(troubles) as HostReason[]) this.#states.set(reason, {})
  }

  /** The facts of the last check; undefined before the first. */
  get facts(): HostFacts | undefined {
    return this.#facts
  }

  /** A word for each problem. */
  get reasons(): HostReason[] {
    const now = this.#options.clock.now()
    return [...this.#states].filter(([reason, state]) => isActive(state, troubles[reason], now)).map(([reason]) => reason)
  }

  /** Checks now, and again until `close`. */
  async start(): Promise<void> {
    await this.#look()
    if (this.#facts?.under_voltage !== null) this.#again(1, lookAtPower_ms, () => this.#lookAtPower())
  }

  /** Reports a write that was refused for lack of room at once; the next check judges anew. */
  refusedForRoom(): void {
    if (!this.#ended && this.#facts) this.#judge('disk', this.#facts, fullDisk)
  }

  close(): void {
    this.#ended = true
    for (const cancel of this.#cancels) cancel()
  }

  async #look(): Promise<void> {
    const before = this.#facts
    const facts = await this.#options.host.look()
    if (this.#ended) return
    this.#take(facts)
    if (before) this.#compareClocks(before, facts)
    this.#again(0, look_ms, () => this.#look())
  }

  async #lookAtPower(): Promise<void> {
    const under_voltage = await this.#options.host.underVoltage()
    if (this.#ended) return
    if (this.#facts) {
      this.#facts = { ...this.#facts, under_voltage }
      this.#judge('under_voltage', this.#facts)
    }
    this.#again(1, lookAtPower_ms, () => this.#lookAtPower())
  }

  #again(which: 0 | 1, ms: number, look: () => Promise<void>): void {
    if (!this.#ended) this.#cancels[which] = this.#options.clock.after(ms, () => void look())
  }

  #take(facts: HostFacts): void {
    this.#facts = facts
    for (const reason of this.#states.keys()) this.#judge(reason, facts)
  }

  #judge(reason: HostReason, facts: HostFacts, trouble = troubles[reason]): void {
    const now = this.#options.clock.now()
    const state = this.#states.get(reason)!
    const wasActive = isActive(state, trouble, now)
    if (trouble.isThere(facts)) {
      state.since ??= now
      state.last = now
    } else if (!wasActive || trouble.stays_ms === 0) state.since = undefined
    if (wasActive || !isActive(state, trouble, now) || now - (state.reported ?? Number.NEGATIVE_INFINITY) < again_ms) return
    state.reported = now
    this.#options.tell(trouble.category, trouble.words(facts), { severity: 'WARNING', detail: { reason } })
  }

  /** Reports a jump of the clock, unless the event log reports with its next event that the clock was set back. */
  #compareClocks(before: HostFacts, facts: HostFacts): void {
    const step = facts.wall_ahead_ms - before.wall_ahead_ms
    if (Math.abs(step) <= step_ms || this.#options.isBehindLog()) return
    const [by, direction] = [Math.abs(step / 1000).toFixed(1), step > 0 ? 'forward' : 'back']
    const isFirstSetting = before.clock_synced === false && facts.clock_synced === true
    const message = isFirstSetting
      ? `the clock was set ${by} s ${direction} by the time server: events before this one bear the time that the computer took for true`
      : `the wall clock went ${by} s ${direction} at once: it was set, or the computer slept; events stay in order`
    this.#options.tell('CLOCK', message, { severity: isFirstSetting ? 'INFO' : 'WARNING', detail: { step_s: step / 1000 } })
  }
}

/** The times, in monotonic ms, at which the problem began without a break, was last seen, and was last reported. */
type TroubleTimes = { since?: number | undefined; last?: number; reported?: number }

function isActive({ since, last }: TroubleTimes, { settles_ms, stays_ms }: Trouble, now: number): boolean {
  if (since === undefined || last === undefined || last - since < settles_ms) return false
  return stays_ms === 0 || now - last < stays_ms
}
