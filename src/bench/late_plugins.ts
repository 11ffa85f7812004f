// The plug-ins of the bench. Their code is loaded only if the configuration names any, once the service answers requests.

import type { Config } from '../config.ts'
import { LabError } from '../errors.ts'
import type { CallBench } from '../plugins/plugin_runner.ts'
import type { Plugins, PluginsOptions } from '../plugins/plugins.ts'
import type { PluginStatus } from '../plugins/status.ts'

type Options = Pick<PluginsOptions, 'hub' | 'clock' | 'log'> & {
  reloading: { readonly config: Pick<Config, 'plugins' | 'system_id'> }
  places: { data_dir: string; config_path: string | undefined }
  /** The incident of safe mode; undefined outside of it. */
  safeMode(): object | undefined
}

export class LatePlugins {
  readonly #options: Options
  #call: CallBench | undefined
  #opening: Promise<Plugins> | undefined
  #opened: Plugins | undefined
  #isClosed = false

  constructor(options: Options) {
    this.#options = options
  }

  /** Starts the plug-ins of the configuration, whose requests `call` carries out. */
  connect(call: CallBench): void {
    this.#call ??= call
    this.reload()
  }

  /** Applies the present configuration. */
  reload(): void {
    const { plugins } = this.#options.reloading.config
    if (!this.#call || this.#isClosed || (!this.#opening && Object.keys(plugins).length === 0)) return
    this.#open(this.#call)
      .then((opened) => opened.apply(plugins))
      .catch((error) => this.#options.log.error('the plug-ins cannot be loaded', error))
  }

  /** Lists all, by name; none if the configuration has none. */
  async list(): Promise<PluginStatus[]> {
    return (await this.#opened?.list()) ?? []
  }

  /** Starts one anew. Rejects with `not_found` and `safe_mode`. */
  async restart(name: string): Promise<PluginStatus> {
    if (!this.#opened) throw new LabError('not_found', `there is no plug-in ${name}: the configuration names none in "plugins"`)
    return this.#opened.restart(name)
  }

  /** Takes note of an error that nobody caught, if it comes from a plug-in in this process; returns false for any other. */
  fault(error: unknown): boolean {
    return this.#opened?.fault(error) ?? false
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const opened = await this.#opening?.catch(() => undefined)
    await opened?.close()
  }

  #open(call: CallBench): Promise<Plugins> {
    this.#opening ??= import('../plugins/plugins.ts').then(({ Plugins }) => {
      const { reloading, places, safeMode, ...around } = this.#options
      const isSafeMode = () => safeMode() !== undefined
      this.#opened = new Plugins({ ...around, ...places, system_id: reloading.config.system_id, isSafeMode, call })
      return this.#opened
    })
    return this.#opening
  }
}
