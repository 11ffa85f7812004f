// A plug-in in the process of the service: its sinks are called at once, in the order in which they were registered.

import { LabError, messageOf } from '../errors.ts'
import type { Sink } from '../events/sinks.ts'
import { onBehalfOf, onOurOwn } from '../kit/blame.ts'
import { sleep } from '../kit/clock.ts'
import { loadModule } from '../kit/modules.ts'
import type { PluginBench, PluginSink, Stop } from './author.ts'
import { benchFor, namedSink, pluginOf, stopOf } from './bench_for.ts'
import { PluginRunner } from './plugin_runner.ts'

/** The time for `start` and for `stop`. Code that blocks takes as long as it likes. */
const starting_ms = 30_000
const ending_ms = 1500

export class InProcessPlugin extends PluginRunner {
  readonly #sinks = new Map<PluginSink, Sink>()
  #stop: Stop | undefined
  #isEnding = false

  begin(): void {
    void this.#start()
  }

  async end(): Promise<void> {
    this.#isEnding = true
    this.#detach()
    if (this.state !== 'running') return
    this.state = 'stopped'
    try {
      await this.#within(ending_ms, (async () => onBehalfOf(this, () => this.#stop?.()))())
    } catch (error) {
      this.note(messageOf(error))
      this.warn(`failed to stop: ${messageOf(error)}`)
    }
  }

  /** Takes note of an error that the plug-in threw outside of every call. */
  fault(error: unknown): void {
    this.note(messageOf(error))
    this.parts.log.error(`the plug-in ${this.name} threw outside of every call`, error)
  }

  /** Whether the error comes from the file of this plug-in. */
  isOf(error: unknown): boolean {
    return this.path !== undefined && error instanceof Error && Boolean(error.stack?.includes(`${this.path}?`))
  }

  protected get waiting(): number {
    return 0
  }

  protected async memory_mib(): Promise<null> {
    return null
  }

  async #start(): Promise<void> {
    this.state = 'starting'
    const path = await this.found()
    if (path === undefined || this.#isEnding) return
    try {
      const plugin = pluginOf(await onBehalfOf(this, () => loadModule(path)), path)
      this.title = plugin.name
      const started = (async () => stopOf(await onBehalfOf(this, () => plugin.start(this.#bench()))))()
      this.#stop = await this.#within(starting_ms, started).catch((error) => this.#stopLater(started, error))
      this.state = 'running'
      this.parts.log.info(`the plug-in ${this.name} is started from ${path}, in the process of the service`)
      if (this.#isEnding) await this.end()
    } catch (error) {
      this.#detach()
      this.state = 'stopped'
      // Nobody asks for it any more.
      if (this.#isEnding) return
      this.giveUp(`it cannot be started: ${messageOf(error)}`, `mend it, then: benchd plugins restart ${this.name}`)
    }
  }

  /** Ends the work of a `start` that is still under way, once that is done. */
  #stopLater(started: Promise<Stop | undefined>, why: unknown): never {
    started.then((stop) => onBehalfOf(this, () => stop?.())).catch((error) => error !== why && this.fault(error))
    throw why
  }

  async #within<Value>(ms: number, work: Promise<Value>): Promise<Value> {
    const done = new AbortController()
    const late = sleep(this.parts.clock, ms, done.signal).then(() => {
      throw new LabError('internal', `it took more than ${ms / 1000} s`)
    })
    try {
      return await Promise.race([work, late])
    } finally {
      done.abort()
      late.catch(() => undefined)
    }
  }

  #bench(): PluginBench {
    const { start, hub, call, config, log } = this.parts
    return benchFor(start, {
      registerSink: (sink) => this.#register(sink),
      unregisterSink: (sink) => this.#unregister(sink),
      call: (method, path, body) => onOurOwn(() => call({ name: this.name, scope: config.scope }, { method, path, body })),
      log: (message) => log.info(`plug-in ${this.name}: ${message}`),
      lists: {
        getEventsSince: (timestamp) => hub.getEventsSince(timestamp ?? undefined),
        getEventsForExecution: (execution_id) => hub.getEventsForExecution(execution_id),
      },
    })
  }

  #register(sink: PluginSink): void {
    if (this.#sinks.has(sink) || this.#isEnding || this.state === 'failed') return
    const counted = namedSink(this.name, sink, (call) => {
      this.handled++
      return onBehalfOf(this, () => this.#noted(call))
    })
    this.#sinks.set(sink, counted)
    this.parts.hub.registerSink(counted)
  }

  /** Makes the call, and takes note of its error. */
  #noted(call: () => unknown): unknown {
    const note = (error: unknown): never => {
      this.note(messageOf(error))
      throw error
    }
    try {
      const result = call()
      return result instanceof Promise ? result.catch(note) : result
    } catch (error) {
      return note(error)
    }
  }

  #unregister(sink: PluginSink): void {
    const counted = this.#sinks.get(sink)
    if (counted) this.parts.hub.unregisterSink(counted)
    this.#sinks.delete(sink)
  }

  #detach(): void {
    for (const sink of [...this.#sinks.keys()]) this.#unregister(sink)
  }
}
