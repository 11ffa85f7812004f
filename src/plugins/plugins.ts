// The plug-ins of the configuration: started once the service answers, restarted where a reload changes them, ended with the service.

import { isDeepStrictEqual } from 'node:util'
import type { PluginConfig, PluginConfigs } from '../config/plugins.ts'
import { LabError } from '../errors.ts'
import { didYouMeanAmong } from '../kit/did_you_mean.ts'
import { makeFolder } from '../kit/durable.ts'
import { InProcessPlugin } from './in_process.ts'
import { type IsolatedOptions, IsolatedPlugin } from './isolated.ts'
import { placeOf } from './place.ts'
import type { PluginRooms, PluginRunner } from './plugin_runner.ts'
import type { PluginStatus } from './status.ts'

export type PluginsOptions = PluginRooms & {
  data_dir: string
  config_path: string | undefined
  system_id: string
  /** Whether safe mode keeps plug-ins of the process of the service from starting. */
  isSafeMode(): boolean
} & IsolatedOptions

export class Plugins {
  readonly #options: PluginsOptions
  readonly #running = new Map<string, PluginRunner>()
  /** Entries that safe mode keeps from starting. */
  readonly #held = new Map<string, PluginConfig>()
  /** The last change under way, so that changes happen one after the other. */
  #changed: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(options: PluginsOptions) {
    this.#options = options
  }

  /** Starts those that are new, ends those that are gone, and restarts those that differ. Never rejects. */
  apply(configs: PluginConfigs): Promise<void> {
    return this.#next(async () => {
      const isSame = ([name, { config }]: [string, PluginRunner]) => isDeepStrictEqual(config, configs[name])
      await Promise.all([...this.#running].filter((one) => !isSame(one)).map(([name]) => this.#end(name)))
      this.#held.clear()
      for (const [name, config] of Object.entries(configs)) if (!this.#running.has(name)) this.#begin(name, config)
    })
  }

  /** Starts one anew, with its file as it is now. Rejects with `not_found`, and with `safe_mode` while that keeps it from starting. */
  async restart(name: string): Promise<PluginStatus> {
    const config = this.#running.get(name)?.config ?? this.#held.get(name)
    if (!config) {
      const known = didYouMeanAmong(name, this.#names())
      throw new LabError('not_found', `there is no plug-in ${name} in the configuration${known}`)
    }
    if (this.#holds(config))
      throw new LabError('safe_mode', `safe mode keeps the plug-in ${name} from starting in the service; acknowledge the incident first`)
    await this.#next(async () => {
      await this.#end(name)
      this.#held.delete(name)
      this.#begin(name, config)
    })
    return this.#running.get(name)!.status()
  }

  /** Lists all, by name. */
  async list(): Promise<PluginStatus[]> {
    const running = await Promise.all([...this.#running.values()].map((one) => one.status()))
    const held = [...this.#held].map(([name, config]) => heldStatus(name, config))
    return [...running, ...held].sort((one, other) => (one.name < other.name ? -1 : 1))
  }

  /** Takes note of an error that nobody caught, if it comes from a plug-in in this process; returns false for any other. */
  fault(error: unknown): boolean {
    const its = [...this.#running.values()].find((one) => one instanceof InProcessPlugin && one.isOf(error)) as InProcessPlugin | undefined
    its?.fault(error)
    return its !== undefined
  }

  /** Ends all of them. Never rejects. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#changed
    await Promise.all([...this.#running.keys()].map((name) => this.#end(name)))
  }

  #next(change: () => Promise<void>): Promise<void> {
    this.#changed = this.#changed.then(() => (this.#isClosed ? undefined : change()))
    return this.#changed
  }

  #names(): string[] {
    return [...this.#running.keys(), ...this.#held.keys()]
  }

  #holds({ in_process }: PluginConfig): boolean {
    return in_process && this.#options.isSafeMode()
  }

  #begin(name: string, config: PluginConfig): void {
    if (this.#holds(config)) {
      this.#held.set(name, config)
      this.#options.log.warn(`the plug-in ${name} is not started: safe mode keeps plug-ins out of the process of the service`)
      return
    }
    const { data_dir, config_path, system_id, hub, clock, log, call, pauses_ms } = this.#options
    const folder = `${data_dir}/plugins/${name}`
    const find = async () => {
      const path = await placeOf({ name, module: config.module }, config_path)
      await makeFolder(folder)
      return path
    }
    const parts = { hub, clock, log, call, config, start: { name, system_id, folder, settings: config.settings }, find }
    const plugin = config.in_process ? new InProcessPlugin(parts) : new IsolatedPlugin(parts, pauses_ms && { pauses_ms })
    this.#running.set(name, plugin)
    plugin.begin()
  }

  async #end(name: string): Promise<void> {
    const plugin = this.#running.get(name)
    await plugin?.end()
    if (this.#running.get(name) === plugin) this.#running.delete(name)
  }
}

function heldStatus(name: string, { module, scope }: PluginConfig): PluginStatus {
  return {
    ...{ name, title: null, module: module ?? name, layer: 'in_process', scope, state: 'held' },
    ...{ events_handled: 0, events_waiting: 0, events_dropped: 0, restarts: 0, last_error: null, last_error_at: null, memory_mib: null },
  }
}
