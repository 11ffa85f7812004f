// A configured plug-in, whichever layer it is in.

import type { PluginConfig } from '../config/plugins.ts'
import { messageOf } from '../errors.ts'
import type { Hub } from '../events/hub.ts'
import type { Clock } from '../kit/clock.ts'
import type { Log } from '../kit/log.ts'
import type { Scope } from '../kit/scope.ts'
import type { PluginAnswer } from './author.ts'
import type { PluginStart } from './messages.ts'
import type { PluginStatus } from './status.ts'

export type PluginHub = Pick<
  Hub,
  'registerSink' | 'unregisterSink' | 'getEventsSince' | 'getEventsForExecution' | 'incident' | 'brokenSink'
>

/** A request of a plug-in to a route of the bench. */
export type PluginCall = { method: string; path: string; body?: unknown }
/** Carries a request out, with the scope and in the name of the plug-in. Never rejects. */
export type CallBench = (plugin: { name: string; scope: Scope }, call: PluginCall) => Promise<PluginAnswer>

/** The rooms that plug-ins use. */
export type PluginRooms = { hub: PluginHub; clock: Clock; log: Log; call: CallBench }

/** The parts of a plug-in. `find` returns the path of its file, or rejects with the reason why there is none. */
export type PluginParts = PluginRooms & {
  config: PluginConfig
  start: Omit<PluginStart, 'path'>
  find(): Promise<string>
}

/** The common part of both layers: the state, the last error, and the log. */
export abstract class PluginRunner {
  protected readonly parts: PluginParts
  protected state: PluginStatus['state'] = 'stopped'
  protected title: string | null = null
  protected path: string | undefined
  protected handled = 0
  protected dropped = 0
  protected restarts = 0
  #error: { message: string; at: number } | undefined

  constructor(parts: PluginParts) {
    this.parts = parts
  }

  get config(): PluginConfig {
    return this.parts.config
  }

  get name(): string {
    return this.parts.start.name
  }

  /** Begins to start it. Never throws. */
  abstract begin(): void
  /** Ends it. Resolves when it has ended; never rejects. */
  abstract end(): Promise<void>
  /** The number of events that wait. */
  protected abstract get waiting(): number
  protected abstract memory_mib(): Promise<number | null>

  async status(): Promise<PluginStatus> {
    const { in_process, scope, module } = this.config
    return {
      name: this.name,
      title: this.title,
      module: this.path ?? module ?? this.name,
      layer: in_process ? 'in_process' : 'isolated',
      scope,
      state: this.state,
      events_handled: this.handled,
      events_waiting: this.waiting,
      events_dropped: this.dropped,
      restarts: this.restarts,
      last_error: this.#error?.message ?? null,
      last_error_at: this.#error?.at ?? null,
      memory_mib: await this.memory_mib(),
    }
  }

  protected note(message: string): void {
    this.#error = { message, at: Date.now() / 1000 }
  }

  /** Writes a warning about it to the log. */
  protected warn(message: string): void {
    this.parts.log.warn(`the plug-in ${this.name} ${message}`)
  }

  /** Gives it up, and records an incident. */
  protected giveUp(why: string, advice: string): void {
    this.state = 'failed'
    this.note(why)
    const message = `the plug-in ${this.name} is given up: ${why}; ${advice}`
    this.parts.log.error(message)
    const about = { severity: 'WARNING', recovery_action: 'PLUGIN_DISABLE', detail: { plugin: this.name } } as const
    this.parts.hub.incident('PLUGIN_HANDLER_EXCEPTION', message, about)
  }

  /** Resolves with the path of its file; undefined if there is none, and it is given up then. */
  protected async found(): Promise<string | undefined> {
    try {
      this.path = await this.parts.find()
      return this.path
    } catch (error) {
      this.giveUp(messageOf(error), `then: benchd plugins restart ${this.name}`)
      return undefined
    }
  }
}
