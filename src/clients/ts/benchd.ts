// A client of benchd for browsers, Node.js ≥ 18, Deno and Bun: requests with the types of the API, and the live state of the bench.
//
//   const bench = new Bench({ url: 'http://bench-1.local:8520', key: 'bk_…' })
//   await bench.call('initializeDevice', { path: { device_id: 'shaker-1' } })
//   await bench.call('shakeDevice', { path: { device_id: 'shaker-1' }, body: { speed: 500, duration: 10 } })
//
//   for await (const { id, event } of bench.events({ last_event_id })) console.log(event.event_name)
//   const live = bench.live({ onState: (state) => console.log(state.device['shaker-1']?.state) })
//   live.close()

import { type CheckSamplesResponse, type DeviceInfo, type OperationRecord, type Operations, operations, type RuntimeEvent } from './api.ts'
import { emptyState, eventFramesIn, messagesIn, reduceAll, type State } from './streams.ts'

export type * from './api.ts'
export { modeWords } from './api.ts'
export * from './streams.ts'

export type BenchOptions = {
  /** The address of the bench, as `http://bench-1.local:8520`; in a page of the bench itself an empty text. */
  url: string
  /** The API key; without it only what is public can be asked. */
  key?: string | undefined
  /** The name of the person who asks, for a key that several people share. It is stored with each change as unchecked, and decides nothing. */
  operator?: string | undefined
}

/** Options that a call may have besides path, query and body. */
export type CallOptions = {
  signal?: AbortSignal
  /** Asked again with the same key, a change is made once. */
  idempotencyKey?: string
  /** Resolves with the record of an operation as soon as the device carries it out. `getOperation` says later how it ended. */
  respondAsync?: boolean
  /** Sends the request also while the page is being closed. */
  keepalive?: boolean
  /** Other headers, as those of `ifState`. */
  headers?: Record<string, string>
}

/**
 * The header by which a bench refuses what is asked of a device that is not as it was shown any more, or was stopped again since. A bench of an earlier
 * version shows no second stop, and knows the state alone.
 */
export function ifState({ state, stopped }: Pick<DeviceInfo, 'state' | 'stopped'>): { 'If-State': string } {
  return { 'If-State': stopped?.again === undefined ? state : `${state} ${(stopped.again ?? stopped).at}` }
}

type Part<Name extends string, Value> = Value extends Record<string, never> | undefined
  ? { [key in Name]?: Value }
  : { [key in Name]: Value }
/** A body that may be left out is one without a member that has to be there. */
type Body<Value> = Value extends undefined ? { body?: undefined } : Record<never, never> extends Value ? { body?: Value } : { body: Value }
type CallInput<Op extends keyof Operations> = Part<'path', Operations[Op]['path']> & { query?: Operations[Op]['query'] } & Body<
    Operations[Op]['body']
  > &
  CallOptions

/** The answer to an operation that is only begun: its record, where the service knows how to answer so. */
type Begun<Op extends keyof Operations> = Operations[Op] extends { accepted: infer Record } ? Record : Operations[Op]['answer']

/** An answer that says no. `detail` is a sentence for people, `reason` a word for programs: `busy`, `interlock`, `conflict`. */
type SampleMistake = CheckSamplesResponse['mistakes'][number]

export class BenchError extends Error {
  readonly status: number
  readonly reason: string
  /** After so many seconds the same may succeed; undefined where waiting does not help. */
  readonly retry_after_s: number | undefined
  /** Each mistake of a sheet of samples; empty for other errors. */
  readonly mistakes: readonly SampleMistake[]

  constructor(detail: string, status: number, reason: string, retry_after_s?: number, mistakes: readonly SampleMistake[] = []) {
    super(detail)
    this.name = 'BenchError'
    this.status = status
    this.reason = reason
    this.retry_after_s = retry_after_s
    this.mistakes = mistakes
  }
}

export class Bench {
  readonly url: string
  readonly key: string | undefined
  /** Sent with each change; may be set anew at any time. */
  operator: string | undefined

  constructor({ url, key, operator }: BenchOptions) {
    this.url = url.trim().replace(/\/$/, '')
    // A file with the line ends of Windows leaves a carriage return behind the key.
    this.key = key?.trim()
    this.operator = operator?.trim() || undefined
  }

  /**
   * Asks for an operation of the API by its `operation_id`. Rejects with `BenchError` for an answer that says no, and with the error of `fetch`
   * where there was no answer. Of a stream it answers the bytes as they come; `events` and `live` read them.
   */
  call<Op extends keyof Operations>(operation: Op, asked: CallInput<Op> & { respondAsync: true }): Promise<Begun<Op>>
  call<Op extends keyof Operations>(operation: Op, asked?: CallInput<Op>): Promise<Operations[Op]['answer']>
  async call<Op extends keyof Operations>(operation: Op, asked: CallInput<Op> = {} as CallInput<Op>): Promise<unknown> {
    const response = await this.#ask(operation, asked)
    const kind = response.headers.get('content-type') ?? ''
    if (kind.includes('event-stream')) return response.body
    const text = await response.text()
    return kind.includes('json') ? JSON.parse(text) : text
  }

  /** Asks for a file: its bytes, and the name that the service gives it. Rejects as `call`. */
  async download<Op extends keyof Operations>(
    operation: Op,
    asked: CallInput<Op> = {} as CallInput<Op>,
  ): Promise<{ name: string; content: Blob }> {
    const response = await this.#ask(operation, asked)
    const told = response.headers.get('content-disposition') ?? ''
    const [, encoded] = /filename\*=UTF-8''([^;]+)/.exec(told) ?? []
    const [, name = operation] = /filename="([^"]+)"/.exec(told) ?? []
    return { name: encoded === undefined ? name : decodeURIComponent(encoded), content: await response.blob() }
  }

  async #ask<Op extends keyof Operations>(operation: Op, asked: CallInput<Op>): Promise<Response> {
    const [method, template] = operations[operation]
    const { path = {}, query = {}, body } = asked as { path?: object; query?: object; body?: unknown }
    const filled = template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String((path as Record<string, unknown>)[name])))
    const pairs = Object.entries(query).filter(([, value]) => value !== undefined)
    const search = pairs.length ? `?${new URLSearchParams(pairs.map(([name, value]): [string, string] => [name, String(value)]))}` : ''
    const response = await fetch(this.url + filled + search, {
      method,
      headers: this.#headers(body, asked),
      ...(body !== undefined && { body: body instanceof Blob ? body : JSON.stringify(body, finite) }),
      ...(asked.signal && { signal: asked.signal }),
      ...(asked.keepalive && { keepalive: true }),
    })
    if (!response.ok) throw errorOf(response, await response.text())
    return response
  }

  /**
   * Sends a stop before it returns: to one device, or without an id to all. The promise tells what the instruments acknowledged.
   */
  stop(device_id?: string): Promise<{ success: boolean; message: string }> {
    const path = device_id === undefined ? '/api/stop' : `/api/devices/${encodeURIComponent(device_id)}/stop`
    return fetch(this.url + path, { method: 'POST', headers: this.#headers(undefined, {}) }).then(async (response) => {
      const text = await response.text()
      if (!response.ok) throw errorOf(response, text)
      return JSON.parse(text) as { success: boolean; message: string }
    })
  }

  /**
   * Begins an operation that lasts only while it is held, such as a jog, and renews it until `end` of the answer is called. Rejects as `call`. If this
   * program ends, or the network breaks, the operation ends gently by itself.
   */
  async hold<Op extends HeldOperation>(operation: Op, asked: CallInput<Op>, { every_ms = 50 } = {}): Promise<Hold> {
    const record = (await this.call(operation, { ...asked, respondAsync: true })) as OperationRecord
    return new Hold(this, record, every_ms)
  }

  /** Follows the live state until `close`; opens the stream anew whenever it ends. */
  live(options: LiveOptions): Live {
    return new Live(this, options)
  }

  /**
   * Every event as it happens, or those behind `last_event_id` first. Opens the stream anew behind the last event whenever it breaks off. Keep the id of an event
   * when you have dealt with it: from there your program goes on after a restart. `event` is null where the service says that it has lost events (a power cut, a
   * full disk). Ends with the signal's reason when that is aborted, and with a `BenchError` when the service refuses the stream.
   */
  async *events({ last_event_id, execution_id, signal }: EventsOptions = {}): AsyncGenerator<{ id: string; event: RuntimeEvent | null }> {
    let last = last_event_id
    for (let failures = 0; ; failures++) {
      const ends = new AbortController()
      const end = () => ends.abort(signal?.reason)
      signal?.addEventListener('abort', end)
      let timer = setTimeout(end, silent_events_ms)
      try {
        signal?.throwIfAborted()
        const query = {
          heartbeat: 5,
          ...(last !== undefined && { last_event_id: last }),
          ...(execution_id !== undefined && { execution_id }),
        }
        for await (const frames of eventFramesIn(await this.call('streamEvents', { query, signal: ends.signal }))) {
          failures = 0
          clearTimeout(timer)
          for (const { id = last, data, note } of frames) {
            // The next stream begins behind the last event that was taken, and has those that this one dropped.
            if (note?.startsWith('dropped')) end()
            else if (note === 'gap') yield { id: last ?? '', event: null }
            else if (data !== undefined) yield { id: id ?? '', event: JSON.parse(data) as RuntimeEvent }
            if (ends.signal.aborted) break
            last = id
          }
          timer = setTimeout(end, silent_events_ms)
        }
      } catch (error) {
        signal?.throwIfAborted()
        if (error instanceof BenchError && error.status < 500) throw error
      } finally {
        clearTimeout(timer)
        signal?.removeEventListener('abort', end)
        ends.abort()
      }
      await new Promise((resolve) => setTimeout(resolve, again_ms[Math.min(failures, again_ms.length - 1)]))
    }
  }

  #headers(body: unknown, { idempotencyKey, respondAsync, headers }: CallOptions): Record<string, string> {
    return {
      ...(this.key !== undefined && { 'X-API-Key': this.key }),
      ...(this.operator !== undefined && { 'X-Operator': encodeURIComponent(this.operator) }),
      ...(body !== undefined && { 'Content-Type': body instanceof Blob ? body.type || 'application/octet-stream' : 'application/json' }),
      ...(idempotencyKey !== undefined && { 'Idempotency-Key': idempotencyKey }),
      // An operation that somebody stopped is an error for a program that waits for it.
      Prefer: respondAsync ? 'respond-async' : 'handling=strict',
      ...headers,
    }
  }
}

/** The operations that last only while they are renewed. */
export type HeldOperation = 'jogDevice' | 'freeDrive'

/** A held operation, which is renewed until `end`. */
export class Hold {
  /** The record of the operation when it began. */
  readonly record: OperationRecord
  readonly #bench: Bench
  readonly #over = new AbortController()

  constructor(bench: Bench, record: OperationRecord, every_ms: number) {
    this.record = record
    this.#bench = bench
    void this.#renew(every_ms)
  }

  /** Whether it is renewed no more: `end` was called, or the service has refused a renewal, because the operation has ended. */
  get isOver(): boolean {
    return this.#over.signal.aborted
  }

  /** Ends the operation gently. Resolves with its record when it has ended. Rejects as `call`; the operation then ends by itself. */
  async end(): Promise<OperationRecord> {
    this.#over.abort()
    const path = { operation_id: this.record.operation_id }
    let record = await this.#bench.call('endOperation', { path })
    while (record.status === 'running') {
      await new Promise((resolve) => setTimeout(resolve, 20))
      record = await this.#bench.call('getOperation', { path })
    }
    return record
  }

  async #renew(every_ms: number): Promise<void> {
    const { signal } = this.#over
    while (!signal.aborted) {
      try {
        await this.#bench.call('renewOperation', { path: { operation_id: this.record.operation_id }, signal })
      } catch (error) {
        // A renewal that found no answer is followed by another.
        if (error instanceof BenchError && error.status < 500) this.#over.abort()
      }
      await new Promise((resolve) => setTimeout(resolve, every_ms))
    }
  }
}

/** Throws for NaN and infinity, of which `JSON.stringify` would make null; null as a temperature switches a heater off. */
function finite(name: string, value: unknown): unknown {
  if (typeof value !== 'number' || Number.isFinite(value)) return value
  throw new TypeError(`${name} is ${value}, and nothing was sent; see how it was computed`)
}

function errorOf(response: Response, text: string): BenchError {
  const after = Number(response.headers.get('retry-after') ?? Number.NaN)
  const reason = response.headers.get('x-reason') ?? 'unknown'
  const { detail = `the service answered ${response.status}`, mistakes } = bodyOf(text)
  return new BenchError(detail, response.status, reason, Number.isFinite(after) ? after : undefined, mistakes)
}

function bodyOf(text: string): { detail?: string; mistakes?: SampleMistake[] } {
  try {
    return JSON.parse(text) ?? {}
  } catch {
    return {}
  }
}

export type EventsOptions = {
  /** The id of the last event that your program has dealt with; without it events come from now on. */
  last_event_id?: string | undefined
  /** The execution whose events are wanted; without it all are. */
  execution_id?: string | undefined
  signal?: AbortSignal | undefined
}

export type LiveOptions = {
  /** The execution whose timeline is wanted too. */
  run?: string | undefined
  /** Reads the whole state so often instead of following it, and holds no connection in between, ms. */
  poll_ms?: number | undefined
  /** The state after each piece of the stream. */
  onState?(state: State): void
  /** `live` when the opening is whole, `lost` when the stream has ended or is silent for three seconds, with the reason. */
  onLink?(link: 'live' | 'lost', error?: unknown): void
}

const silent_ms = 3000
/** A stream of events that is asked for a heartbeat every five seconds is lost when it has been silent for so long. */
const silent_events_ms = 15_000
const again_ms = [250, 500, 1000, 2000]

/** A stream of the live state that opens anew by itself. While it is lost the last state stays. */
export class Live {
  state: State = emptyState
  readonly #bench: Bench
  readonly #options: LiveOptions
  #closed = false
  #abort = new AbortController()

  constructor(bench: Bench, options: LiveOptions) {
    this.#bench = bench
    this.#options = options
    void this.#follow()
  }

  close(): void {
    this.#closed = true
    this.#abort.abort()
  }

  async #follow(): Promise<void> {
    const { poll_ms } = this.#options
    for (let failures = 0; !this.#closed; failures++) {
      try {
        const isWhole = await this.#read(() => {
          failures = 0
        })
        if (isWhole && poll_ms !== undefined) {
          await new Promise((resolve) => setTimeout(resolve, poll_ms))
          continue
        }
        if (!this.#closed) this.#options.onLink?.('lost')
      } catch (error) {
        if (this.#closed) return
        this.#options.onLink?.('lost', error)
        // A key that is not good stays so.
        if (error instanceof BenchError && (error.status === 401 || error.status === 403)) return
      }
      await new Promise((resolve) => setTimeout(resolve, again_ms[Math.min(failures, again_ms.length - 1)]))
    }
  }

  /** Returns whether it ended because the state is polled, and is whole. */
  async #read(onReady: () => void): Promise<boolean> {
    this.#abort = new AbortController()
    let timer = setTimeout(() => this.#abort.abort(), silent_ms * 2)
    const { run } = this.#options
    try {
      const stream = await this.#bench.call('streamState', { query: run === undefined ? {} : { run }, signal: this.#abort.signal })
      let state: State = emptyState
      for await (const messages of messagesIn(stream)) {
        clearTimeout(timer)
        timer = setTimeout(() => this.#abort.abort(), silent_ms)
        const wasReady = state.ready
        state = reduceAll(state, messages)
        if (!state.ready) continue
        this.state = state
        if (!wasReady) {
          onReady()
          this.#options.onLink?.('live')
        }
        this.#options.onState?.(state)
        if (this.#options.poll_ms !== undefined && state.time > 0) return true
      }
      return false
    } finally {
      clearTimeout(timer)
    }
  }
}
