// Calls people who are not at the bench when they are needed: each message goes to the webhooks that want its kind, and is kept
// on the disk until its receiver has accepted it. No event, stop or run ever waits for a delivery.

import { hash, randomUUID } from 'node:crypto'
import * as v from 'valibot'
import { type NotifyTarget, notifyKinds } from '../config/notify.ts'
import { LabError, messageOf as sentenceOf } from '../errors.ts'
import type { RuntimeEvent } from '../events/event.ts'
import type { Sink } from '../events/sinks.ts'
import { asTyped } from '../kit/as_typed.ts'
import { type Clock, sleep, systemClock } from '../kit/clock.ts'
import { Journal } from '../kit/journal.ts'
import type { Report } from '../kit/json_file.ts'
import type { Log } from '../kit/log.ts'
import { deliver, hostOf } from './deliver.ts'
import { type Ending, endings } from './endings.ts'
import { formats } from './formats.ts'
import { type Message, messageOf } from './messages.ts'

const Letter = v.strictObject({
  id: v.string(),
  kinds: v.array(v.picklist(notifyKinds)),
  thing: v.string(),
  text: v.string(),
  execution_id: v.nullable(v.string()),
  system_id: v.string(),
  at: v.number(),
  times: v.number(),
})
/** A line of the journal: a letter that waits for its receiver, or the id of one that no longer waits. */
const Entry = v.union([v.strictObject({ receiver: v.string(), letter: Letter }), v.strictObject({ gone: v.string() })])
type Entry = v.InferOutput<typeof Entry>
type Waiting = Extract<Entry, { letter: unknown }>

/** The state of a receiver. Times are Unix time in seconds. */
export type ReceiverStatus = {
  host: string
  on: string[]
  format: string
  waiting: number
  delivered_at: number | null
  failure: string | null
}

type Receiver = {
  key: string
  target: NotifyTarget
  delivered_at: number | null
  failure: string | null
  told_ms: number
  isSending: boolean
  isBeating: boolean
}

export type NotifierOptions = {
  folder: string
  system_id: string
  /** The address of the page of the bench; undefined if it is not known. */
  page?: string | undefined
  clock: Clock
  /** The clock for the time limit of a delivery; by default that of the system, since network time cannot be simulated. */
  network?: Clock
  log: Log
  report: Report
  /** The receivers of the configuration; `reload` replaces them. */
  targets: readonly NotifyTarget[]
  /** Whether a run uses the bench. Runs in PURE_SIM are not reported. */
  isReal(execution_id: string): boolean
  /** Returns what may end soon; asked once a day. */
  ending(): Ending
}

const mostWaiting = 1000
/** The delay after the start, so that a service that soon crashes sends no message about endings. */
const firstLook_ms = 60_000
const day_ms = 86_400_000
/** The time between two messages about one thing. */
const quiet_ms = 60_000
const mostThings = 1000
const firstAgain_ms = 5000
const longestAgain_ms = 15 * 60_000
/** The log reports a failing receiver once in this time. */
const tellAgain_ms = 3_600_000

export class Notifier implements Sink {
  readonly name = 'notify'
  readonly #options: NotifierOptions
  readonly #journal: Journal<Entry>
  readonly #closing = new AbortController()
  readonly #receivers = new Map<string, Receiver>()
  /** Keyed by thing: the number of messages that were left out in this minute, and the last of them. */
  readonly #quiet = new Map<string, { last?: Message; times: number }>()
  readonly #timers = new Set<() => void>()
  #waiting: Waiting[]
  #dropped = 0
  #writing: Promise<unknown> = Promise.resolve()
  #running = new Set<Promise<void>>()

  static async open(options: NotifierOptions): Promise<Notifier> {
    const { folder, report } = options
    const loss = 'messages that were to be sent may be lost'
    return new Notifier(options, await Journal.open({ path: `${folder}/notify.jsonl`, schema: Entry, report, loss, live: waitingOf }))
  }

  private constructor(options: NotifierOptions, journal: Journal<Entry>) {
    this.#options = options
    this.#journal = journal
    this.#waiting = waitingOf(journal.live)
    this.reload(options.targets)
    this.#after(firstLook_ms, () => this.#lookForEndings())
  }

  /** Messages that were left out because too many waited, since the service began. */
  get dropped(): number {
    return this.#dropped
  }

  /** The state of each receiver, in the order of the configuration. */
  status(): ReceiverStatus[] {
    return [...this.#receivers.values()].map(({ key, target, delivered_at, failure }) => ({
      host: hostOf(target),
      on: target.on,
      format: target.format,
      waiting: this.#waiting.filter(({ receiver }) => receiver === key).length,
      delivered_at,
      failure,
    }))
  }

  onEvent(event: RuntimeEvent): void {
    if (this.#receivers.size === 0) return
    const message = messageOf(event, this.#options.page)
    if (!message || (message.execution_id !== null && !this.#options.isReal(message.execution_id))) return
    this.tell(message)
  }

  /** Queues a message. About one thing it sends one message a minute, and at the end of the minute the last one that was left out. */
  tell(message: Message, times = 0): void {
    if (this.#receivers.size === 0) return
    const quiet = this.#quiet.get(message.thing)
    if (quiet) {
      quiet.last = message
      quiet.times++
      return
    }
    if (this.#quiet.size >= mostThings) {
      this.#dropped++
      return
    }
    this.#quiet.set(message.thing, { times: 0 })
    this.#after(quiet_ms, () => {
      const { last, times } = this.#quiet.get(message.thing)!
      this.#quiet.delete(message.thing)
      if (last) this.tell(last, times - 1)
    })
    this.#post(message, times)
  }

  /** Replaces the receivers. Messages for a receiver that was removed are dropped. */
  reload(wanted: readonly NotifyTarget[]): void {
    const targets = new Map(wanted.map((target) => [keyOf(target), target] as const))
    for (const key of this.#receivers.keys()) if (!targets.has(key)) this.#receivers.delete(key)
    for (const [key, target] of targets) {
      const receiver = this.#receivers.get(key) ?? newReceiver(key, target)
      receiver.target = target
      this.#receivers.set(key, receiver)
      if (!receiver.isBeating) this.#beat(receiver)
      this.#send(receiver)
    }
    for (const { receiver, letter } of [...this.#waiting]) if (!this.#receivers.has(receiver)) this.#drop(letter.id)
  }

  /** Sends a test message to each receiver at once, and returns the outcomes. Rejects with `conflict` if none is configured. */
  async test(): Promise<{ host: string; failure: string | null }[]> {
    if (this.#receivers.size === 0) throw new LabError('conflict', 'the configuration names no receiver: add one to "notify", then reload')
    const { system_id } = this.#options
    const text = 'This is a test. When somebody is needed at the bench, a message like this one comes'
    const letter = { id: randomUUID(), kinds: [], thing: 'test', text, execution_id: null, system_id, at: Date.now() / 1000, times: 0 }
    return Promise.all(
      [...this.#receivers.values()].map(async (receiver) => {
        const isBeat = receiver.target.on.every((kind) => kind === 'alive')
        await this.#deliver(receiver, isBeat ? undefined : letter)
        return { host: hostOf(receiver.target), failure: receiver.failure }
      }),
    )
  }

  /** Resolves when no delivery is under way. Queued messages are sent after the next start. */
  async close(): Promise<void> {
    this.#closing.abort()
    for (const cancel of this.#timers) cancel()
    await Promise.all(this.#running)
    await this.#writing
    await this.#journal.close()
  }

  #lookForEndings(): void {
    for (const message of endings(this.#options.ending(), Date.now() / 1000)) this.tell(message)
    this.#after(day_ms, () => this.#lookForEndings())
  }

  #post(message: Message, times: number): void {
    const { system_id } = this.#options
    for (const receiver of this.#receivers.values()) {
      if (!message.kinds.some((kind) => receiver.target.on.includes(kind))) continue
      const entry = {
        receiver: receiver.key,
        letter: { ...message, text: asTyped(message.text), id: randomUUID(), system_id, at: Date.now() / 1000, times },
      }
      this.#waiting.push(entry)
      this.#write(entry)
      if (this.#waiting.length > mostWaiting) {
        this.#dropped++
        this.#drop(this.#waiting[0]!.letter.id)
      }
      this.#send(receiver)
    }
  }

  /** Sends the queued messages of a receiver one after the other. */
  #send(receiver: Receiver): void {
    if (receiver.isSending) return
    receiver.isSending = true
    const running = this.#sendAll(receiver).finally(() => this.#running.delete(running))
    this.#running.add(running)
  }

  async #sendAll(receiver: Receiver): Promise<void> {
    for (let again_ms = firstAgain_ms; ; ) {
      const next = this.#waiting.find((one) => one.receiver === receiver.key)
      if (!next || !this.#isOurs(receiver)) {
        receiver.isSending = false
        return
      }
      if (await this.#deliver(receiver, next.letter)) {
        this.#drop(next.letter.id)
        again_ms = firstAgain_ms
      } else {
        await sleep(this.#options.clock, again_ms, this.#closing.signal).catch(() => undefined)
        again_ms = Math.min(2 * again_ms, longestAgain_ms)
      }
    }
  }

  /** Delivers a letter, or without one the sign of life. Returns whether the receiver accepted it. */
  async #deliver(receiver: Receiver, letter: Waiting['letter'] | undefined): Promise<boolean> {
    const { target } = receiver
    const sent = letter ? { method: 'POST' as const, ...formats[target.format](letter) } : { method: 'GET' as const }
    try {
      await deliver(target, sent, { clock: this.#options.network ?? systemClock, closing: this.#closing.signal })
      receiver.delivered_at = Date.now() / 1000
      receiver.failure = null
      return true
    } catch (error) {
      if (this.#closing.signal.aborted) return false
      receiver.failure = sentenceOf(error)
      const now_ms = this.#options.clock.now()
      if (now_ms - receiver.told_ms >= tellAgain_ms) {
        receiver.told_ms = now_ms
        this.#options.log.warn(`notify: ${hostOf(target)} ${receiver.failure}; its messages are kept and sent again`)
      }
      return false
    }
  }

  /** Sends the sign of life now and from then on, for as long as the receiver wants it. */
  #beat(receiver: Receiver): void {
    receiver.isBeating = this.#isOurs(receiver) && receiver.target.on.includes('alive')
    if (!receiver.isBeating) return
    const beating = this.#deliver(receiver, undefined).then(() => {
      this.#running.delete(beating)
      this.#after(receiver.target.every_s * 1000, () => this.#beat(receiver))
    })
    this.#running.add(beating)
  }

  /** False after `close`, and for a receiver that was removed from the configuration, even if its address was added again. */
  #isOurs(receiver: Receiver): boolean {
    return !this.#closing.signal.aborted && this.#receivers.get(receiver.key) === receiver
  }

  #drop(id: string): void {
    this.#waiting = this.#waiting.filter(({ letter }) => letter.id !== id)
    this.#write({ gone: id })
  }

  /** Writes to the journal. If the disk refuses, only deliveries after a restart are lost. */
  #write(entry: Entry): void {
    this.#writing = this.#writing.then(() => this.#journal.append(entry)).catch(() => undefined)
  }

  #after(ms: number, call: () => void): void {
    if (this.#closing.signal.aborted) return
    const cancel = this.#options.clock.after(ms, () => {
      this.#timers.delete(cancel)
      call()
    })
    this.#timers.add(cancel)
  }
}

/** No two receivers have the same address. */
function keyOf({ url }: NotifyTarget): string {
  return hash('sha256', JSON.stringify(url)).slice(0, 16)
}

function newReceiver(key: string, target: NotifyTarget): Receiver {
  return { key, target, delivered_at: null, failure: null, told_ms: Number.NEGATIVE_INFINITY, isSending: false, isBeating: false }
}

function waitingOf(entries: readonly Entry[]): Waiting[] {
  const gone = new Set(entries.flatMap((entry) => ('gone' in entry ? [entry.gone] : [])))
  return entries.filter((entry): entry is Waiting => 'letter' in entry && !gone.has(entry.letter.id)).slice(-mostWaiting)
}
