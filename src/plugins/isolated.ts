// A plug-in in a process of its own, behind a bounded queue. A process that ends or does not answer is started again with growing pauses.

import type { RuntimeEvent } from '../events/event.ts'
import type { Sink } from '../events/sinks.ts'
import { TokenBuckets } from '../kit/token_buckets.ts'
import type { FromPlugin } from './messages.ts'
import { type PluginParts, PluginRunner } from './plugin_runner.ts'
import { type PluginMessage, PluginProcess } from './process.ts'

/** The pauses before its process is started again. After the last one it is given up. */
const pauses_ms = [1000, 2000, 4000, 8000, 16_000, 32_000]
/** A process that ran for so long has not failed at its start: the pauses begin anew. */
const settled_ms = 600_000
/** The time for Node to start, to load the module, and for `start`. */
const starting_ms = 30_000
/** The time for the queue to be delivered and for `stop`, when the service or the plug-in ends. */
const ending_ms = 2500
const mostInBatch = 256
const tellDropped_ms = 60_000
/** Requests that are carried out at once; further ones wait. */
const mostCalls = 8
const mostCallsWaiting = 1000
/** Requests a second; further ones wait. */
const calls = { burst: 50, perSecond: 50 }
const lines = { burst: 20, perSecond: 1 }

export type IsolatedOptions = { pauses_ms?: readonly number[] }

export class IsolatedPlugin extends PluginRunner {
  readonly #sink: Sink
  readonly #pauses_ms: readonly number[]
  readonly #rates: Record<'calls' | 'lines', TokenBuckets>
  #queue: RuntimeEvent[] = []
  /** Events that were dropped since the last batch. */
  #lost = 0
  #untoldInLog = 0
  #process: PluginProcess | undefined
  #began = 0
  /** The ends in a row. */
  #failures = 0
  #sinks = 0
  #batch = 0
  /** The number of events that the process has not acknowledged; undefined while none are under way. */
  #underWay: number | undefined
  #isFlushing = false
  #leftOut = 0
  readonly #calls: Extract<FromPlugin, { type: 'call' }>[] = []
  #callsUnderWay = 0
  #isCallPaused = false
  #cancelDeadline = () => {}
  #cancelPause = () => {}
  #cancelTelling: (() => void) | undefined
  #ended: (() => void) | undefined
  #isEnding = false

  constructor(parts: PluginParts, options: IsolatedOptions = {}) {
    super(parts)
    this.#pauses_ms = options.pauses_ms ?? pauses_ms
    const now = () => parts.clock.now()
    this.#rates = { calls: new TokenBuckets({ ...calls, now }), lines: new TokenBuckets({ ...lines, now }) }
    this.#sink = { name: `plug-in ${this.name}`, onEvent: (event) => this.#add(event) }
  }

  begin(): void {
    this.#isEnding = false
    this.parts.hub.registerSink(this.#sink)
    void this.#start()
  }

  end(): Promise<void> {
    this.#isEnding = true
    this.parts.hub.unregisterSink(this.#sink)
    this.#cancelPause()
    this.#cancelTelling?.()
    this.#tellDropped()
    const { clock } = this.parts
    const running = this.#process
    if (!running) {
      this.state = 'stopped'
      return Promise.resolve()
    }
    return new Promise((resolve) => {
      const cancel = clock.after(ending_ms, () => running.kill('it did not end in time'))
      this.#ended = () => {
        cancel()
        resolve()
      }
      if (this.state === 'running') this.#flush()
      if (this.#underWay === undefined) running.send({ type: 'stop' })
    })
  }

  protected get waiting(): number {
    return this.#queue.length + (this.#underWay ?? 0)
  }

  protected async memory_mib(): Promise<number | null> {
    return (await this.#process?.memory_mib()) ?? null
  }

  async #start(): Promise<void> {
    this.state = 'starting'
    const path = await this.found()
    if (path === undefined) return this.#forget()
    if (this.#isEnding) {
      this.state = 'stopped'
      return
    }
    const { clock, config, start } = this.parts
    this.#began = clock.now()
    this.#sinks = 0
    const its: PluginProcess = new PluginProcess({
      memory_mib: config.memory_mib,
      now: () => clock.now(),
      onMessage: (message) => this.#process === its && this.#took(message),
      onOutput: (line) => this.#say(line),
      onEnd: (how) => this.#process === its && this.#lostProcess(how),
    })
    this.#process = its
    its.send({ type: 'start', path, ...start })
    this.#expect(starting_ms, 'start')
  }

  /** Ends the process unless `#answered` is called in time. */
  #expect(ms: number, what: string): void {
    const { clock } = this.parts
    const its = this.#process
    this.#cancelDeadline()
    this.#cancelDeadline = clock.after(ms, () => {
      // The answer may be there, if it was the service that was late.
      let isHere = false
      const cancel = () => {
        isHere = true
      }
      this.#cancelDeadline = cancel
      setImmediate(() => setImmediate(() => !isHere && its?.kill(`it did not answer within ${ms / 1000} s (${what})`)))
    })
  }

  #took(message: PluginMessage): void {
    if (message.type === 'done') this.#done(message.n)
    else if (message.type === 'call') this.#call(message)
    else if (message.type === 'sinks') this.#sinks = message.count
    else if (message.type === 'started') this.#started(message.name)
    else if (message.type === 'refused') this.#process?.kill(`it cannot be started: ${message.message}`)
    else if (message.type === 'crashed') this.#process?.kill(`it threw: ${message.message}`)
    else if (message.type === 'broken') this.#broken(message)
    else this.#say(message.message, message.type === 'warn')
    if (message.type === 'sinks' && this.state === 'running') this.#flush()
  }

  #started(name: string): void {
    this.#cancelDeadline()
    this.title = name
    this.state = 'running'
    this.parts.log.info(`the plug-in ${this.name} is started from ${this.path}`)
    if (this.#isEnding) this.#process?.send({ type: 'stop' })
    else this.#flush(true)
  }

  #broken({ sink, message, error_type }: Extract<FromPlugin, { type: 'broken' }>): void {
    this.note(message)
    this.parts.hub.brokenSink(sink, Object.assign(new Error(message), { name: error_type }))
  }

  #add(event: RuntimeEvent): void {
    this.#queue.push(event)
    if (this.#queue.length > this.config.queue) {
      this.#queue.shift()
      this.#lost++
      this.dropped++
      this.#untoldInLog++
      this.#cancelTelling ??= this.parts.clock.after(tellDropped_ms, () => this.#tellDropped())
    }
    if (this.#isFlushing || this.state !== 'running' || this.#underWay !== undefined) return
    this.#isFlushing = true
    setImmediate(() => {
      this.#isFlushing = false
      this.#flush()
    })
  }

  #tellDropped(): void {
    this.#cancelTelling = undefined
    if (this.#untoldInLog > 0)
      this.warn(`is behind: ${this.#untoldInLog} events were dropped; see why it is slow, or give it a longer queue ("queue")`)
    this.#untoldInLog = 0
  }

  /** Sends the events that wait, or none as a question whether it answers. Does nothing while the last ones are not acknowledged. */
  #flush(isQuestion = false): void {
    if (this.state !== 'running' || this.#underWay !== undefined) return
    if (this.#sinks === 0) this.#queue = []
    if (this.#queue.length === 0 && !isQuestion) return
    const events = this.#queue.splice(0, mostInBatch)
    const dropped = this.#lost
    this.#lost = 0
    this.#underWay = events.length
    this.#process?.send({ type: 'events', n: ++this.#batch, dropped, events })
    this.#expect(this.config.answer_s * 1000, events.length ? `${events.length} events` : 'a question')
  }

  #done(n: number): void {
    if (n !== this.#batch || this.#underWay === undefined) return
    this.#cancelDeadline()
    this.handled += this.#underWay
    this.#underWay = undefined
    if (this.#queue.length > 0 && this.#sinks > 0) this.#flush()
    else if (this.#isEnding) this.#process?.send({ type: 'stop' })
    else this.#cancelDeadline = this.parts.clock.after(this.config.answer_s * 1000, () => this.#flush(true))
  }

  #call(call: Extract<FromPlugin, { type: 'call' }>): void {
    if (this.#calls.length >= mostCallsWaiting) {
      this.#process?.kill(`more than ${mostCallsWaiting} of its requests wait for an answer`)
      return
    }
    this.#calls.push(call)
    this.#callNext()
  }

  #callNext(): void {
    while (this.#process && !this.#isCallPaused && this.#calls.length > 0 && this.#callsUnderWay < mostCalls) {
      if (this.#rates.calls.take('')) this.#carryOut(this.#process, this.#calls.shift()!)
      else this.#pauseCalls()
    }
  }

  /** Waits for the next token, with one timer for all requests. */
  #pauseCalls(): void {
    this.#isCallPaused = true
    this.parts.clock.after(1000 / calls.perSecond + 1, () => {
      this.#isCallPaused = false
      this.#callNext()
    })
  }

  #carryOut(its: PluginProcess, { id, method, path, body }: Extract<FromPlugin, { type: 'call' }>): void {
    this.#callsUnderWay++
    void this.parts.call({ name: this.name, scope: this.config.scope }, { method, path, body }).then((answer) => {
      this.#callsUnderWay--
      if (this.#process === its) its.send({ type: 'answer', id, ...answer })
      this.#callNext()
    })
  }

  /** Writes a line of the plug-in to the log; too many are left out. */
  #say(line: string, isWarning = false): void {
    if (isWarning) this.note(line)
    if (!this.#rates.lines.take('')) {
      this.#leftOut++
      return
    }
    const leftOut = this.#leftOut ? ` (${this.#leftOut} lines before it are left out)` : ''
    this.#leftOut = 0
    const text = `plug-in ${this.name}: ${line.slice(0, 1000)}${leftOut}`
    if (isWarning) this.parts.log.warn(text)
    else this.parts.log.info(text)
  }

  #lostProcess(how: string): void {
    this.#process = undefined
    this.#cancelDeadline()
    this.#calls.length = 0
    this.dropped += this.#underWay ?? 0
    this.#lost += this.#underWay ?? 0
    this.#underWay = undefined
    if (this.#isEnding) {
      this.state = 'stopped'
      this.#ended?.()
      return
    }
    const { clock } = this.parts
    if (clock.now() - this.#began >= settled_ms) this.#failures = 0
    const pause_ms = this.#pauses_ms[this.#failures++]
    if (pause_ms === undefined) {
      this.giveUp(`${how}, ${this.#failures} times`, `see its messages in the log, then: benchd plugins restart ${this.name}`)
      this.#forget()
      return
    }
    this.note(how)
    this.state = 'waiting'
    this.warn(`has ended: ${how}; it is started again in ${pause_ms / 1000} s`)
    this.#cancelPause = clock.after(pause_ms, () => {
      this.restarts++
      void this.#start()
    })
  }

  /** Receives no more events. */
  #forget(): void {
    this.parts.hub.unregisterSink(this.#sink)
    this.#queue = []
    if (this.#isEnding) this.#ended?.()
  }
}
