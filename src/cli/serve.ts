// `benchd serve` and `benchd demo`: run the service in the foreground until a signal ends it.

import type { Config } from '../config.ts'
import type { Registry } from '../devices/registry.ts'
import { asTyped } from '../kit/as_typed.ts'
import { ownerBlamed } from '../kit/blame.ts'
import { type Log, log } from '../kit/log.ts'
import { ServiceManager } from '../kit/service_manager.ts'
import { command, type OptionValues } from './command.ts'
import { CliError, exitCodes } from './exit.ts'
import { numberOf, portOf } from './numbers.ts'
import { configPath, dataDir, topologiesDir } from './places.ts'

export const listenOptions = {
  host: { type: 'string', value: 'H', help: 'Address to listen on' },
  port: { type: 'string', value: 'N', help: 'Port to listen on; 0 for any free port' },
  'data-dir': { type: 'string', value: 'DIR', help: 'Folder of the state' },
  topologies: { type: 'string', value: 'DIR', help: 'Folder of topologies and workflows; default: topologies beside the configuration' },
} as const

const serve = command({
  name: 'serve',
  summary: 'Run the service (what systemd starts)',
  options: {
    config: { type: 'string', value: 'FILE', help: 'Configuration; default /etc/benchd/config.json' },
    safe: { type: 'boolean', help: 'Start in safe mode: no device moves until the incident is acknowledged' },
    ...listenOptions,
  },
  no_json: 'without a terminal its log is lines of JSON',
  async run({ options }) {
    const { readConfig } = await import('../config.ts')
    const { askAtOnce } = await import('../kit/disk.ts')
    askAtOnce(true)
    const path = configPath(options.config)
    const read = async () => listening(await readConfig(path), options)
    const config = await read()
    const words = log(process.stdout)
    const folders = {
      data_dir: dataDir(options['data-dir']),
      source: { path, read },
      topologies: topologiesDir(options.topologies, path),
      runtime_dir: process.env.RUNTIME_DIRECTORY,
      safe: options.safe,
    }
    const code = await serveUntilSignalled(config, folders, (service) => {
      words.info(`benchd ${service.bench.version} listens on ${service.url}`)
      if (service.fingerprint) words.info(`the certificate has the SHA-256 fingerprint ${service.fingerprint}`)
      if (service.bench.keys.list().length === 0)
        words.warn('there is no key yet; make one with: benchd key create --name NAME --scope operate')
    })
    return ending(code)
  },
})

const demo = command({
  name: 'demo',
  summary: 'Run a simulated bench, no hardware needed',
  options: {
    ...listenOptions,
    'time-scale': { type: 'string', value: 'N', help: 'Simulated seconds per real second; default 16' },
    bench: {
      type: 'string',
      value: 'NAME',
      help: 'Bench to simulate: small with four instruments (default), hands with a person who carries instead of an arm, incubator with a storage and a scanner, or assay with all devices of the workflow smc_assay',
    },
  },
  no_json: 'its output is for people; ask it with benchd status --json',
  example: 'benchd demo --time-scale 1',
  async run({ options }) {
    const { benchNames, demoConfig, prepareDemoAgain, welcome } = await import('../examples/demo.ts')
    const bench = benchNames.find((name) => name === (options.bench ?? 'small'))
    if (!bench) throw new CliError('usage', `there is no bench ${options.bench}; there are ${benchNames.join(', ')}`)
    const { makeThrowAwayFolder, removeFolder } = await import('../kit/folder.ts')
    const config = listening(
      await demoConfig(numberOf('--time-scale', options['time-scale'] ?? '16', 'a number between 1 and 1000', isTimeScale), bench),
      options,
    )
    const named = options['data-dir']
    const folder = named ? dataDir(named) : await makeThrowAwayFolder('benchd-demo')
    try {
      const folders = { data_dir: folder, topologies: topologiesDir(options.topologies, undefined) }
      const words = log(process.stdout, true)
      // Before the welcome, only trouble is worth a line.
      let isWelcome = false
      const greet = async (service: Service) => {
        const api_key = await prepareDemoAgain(service.bench, bench)
        const folderKept = named ? folder : undefined
        process.stdout.write(asTyped(welcome({ url: service.url, api_key, rooms: service.bench, folder: folderKept, bench })))
        isWelcome = true
      }
      const code = await serveUntilSignalled(config, folders, greet, { ...words, info: (message) => isWelcome && words.info(message) })
      return ending(code)
    } finally {
      if (!named) await removeFolder(folder)
    }
  },
})

export const commands = [serve, demo]

type Service = Awaited<ReturnType<typeof import('../main.ts').startService>>

type Folders = {
  data_dir: string
  source?: { path: string; read(): Promise<Config> } | undefined
  topologies: string | undefined
  runtime_dir?: string | undefined
  safe?: boolean | undefined
}

/** The signals that would kill the process with devices left on, and that can be caught. */
const deadly = [
  ...(['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGABRT', 'SIGALRM', 'SIGUSR2', 'SIGXCPU', 'SIGVTALRM', 'SIGIO'] as const),
  ...(process.platform === 'linux' ? (['SIGSTKFLT', 'SIGPWR'] as const) : []),
]

async function serveUntilSignalled(
  config: Config,
  folders: Folders,
  ready: (service: Service) => void | Promise<void>,
  words = log(process.stdout),
): Promise<number> {
  let stoppable: Stoppable | undefined
  let service: Service | undefined
  const ended = signalled(async (signal) => {
    words.warn(`${signal} again: ending at once, without waiting for runs; every halt that is owed is sent before`)
    await stoppable?.haltBeforeExit().catch(() => undefined)
    process.exit(signal === 'SIGINT' ? exitCodes.interrupted[0] : exitCodes.failed[0])
  })
  goOnUnread()
  const { startService } = await import('../main.ts')
  const onStoppable = (registry: Stoppable) => {
    stoppable = registry
  }
  const { driverBlamed } = await import('../../drivers/outside.ts')
  process.on('uncaughtException', (error) => {
    const owner = ownerBlamed(error)
    owner?.fault(error)
    const driver = owner ? owner.driver : driverBlamed(error)
    if (driver !== undefined) return failDriver(driver, error, { registry: stoppable, log: words })
    if (owner || service?.bench.plugins.fault(error)) return
    words.error('ending because of a fault of our own; every device is stopped', error)
    void stoppable?.haltAll({ by: 'the service' }).catch(() => undefined)
    process.exit(exitCodes.failed[0])
  })
  const started = await startService(config, { ...folders, log: words, onStoppable })
  service = started
  const manager = new ServiceManager()
  let signal: NodeJS.Signals
  try {
    await ready(started)
    manager.ready()
    signal = await ended
    words.info(`${signal}: ending`)
    manager.stopping()
  } finally {
    await started.close()
    manager.close()
  }
  return signal === 'SIGINT' ? exitCodes.interrupted[0] : exitCodes.ok[0]
}

type Stoppable = Pick<Registry, 'haltBeforeExit' | 'haltAll' | 'all'>

/** Ends what the devices of a driver of the lab's own do, because its code threw where nobody waits for it. */
function failDriver(driver: string, error: unknown, { registry, log }: { registry: Stoppable | undefined; log: Log }): void {
  const blamed = (registry?.all() ?? []).filter((device) => device.info().driver === driver && device.fail)
  const ids = blamed.map(({ device_id }) => device_id).join(' and ')
  log.error(`the driver ${driver} failed; ${ids ? `${ids} cannot be used until initialized` : 'no device uses it now'}`, error)
  for (const device of blamed) device.fail?.(error)
}

/** The time for the process to end by itself after the service is closed. */
const afterwards_ms = 1000

/** Ends the process soon with this code, also if a workflow in TypeScript keeps it alive. */
function ending(code: number): number {
  setTimeout(() => process.exit(code), afterwards_ms).unref()
  return code
}

/** Signals within this time of the first are ignored: Ctrl-C under npm arrives twice, from the terminal and from npm. */
const sameWish_ms = 1000

/** Resolves with the first signal to end. Calls `again` with a later one that is not a repeat. */
export function signalled(again: (signal: NodeJS.Signals) => void = () => {}): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let first_ms: number | undefined
    const heard = (signal: NodeJS.Signals) => {
      first_ms ??= performance.now()
      if (performance.now() - first_ms >= sameWish_ms) again(signal)
      resolve(signal)
    }
    for (const signal of deadly) process.on(signal, heard)
  })
}

/** Ignores write errors of a closed terminal or pipe, so that the service still switches devices off. */
export function goOnUnread(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.removeAllListeners('error')
    stream.on('error', () => undefined)
  }
}

/** Returns the configuration with the address from the flags and the environment. */
function listening(config: Config, options: OptionValues<typeof listenOptions>): Config {
  const host = options.host ?? process.env.BENCHD_HOST ?? config.listen.host
  const port = options.port ?? process.env.BENCHD_PORT
  return { ...config, listen: { ...config.listen, host, port: port === undefined ? config.listen.port : portOf(port) } }
}

const isTimeScale = (scale: number) => scale >= 1 && scale <= 1000
