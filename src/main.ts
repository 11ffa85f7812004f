// The daemon: takes its data folder, opens the bench, listens, and closes all of it again.

import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { SecureContextOptions } from 'node:tls'
import { type Bench, openBench } from './bench/bench.ts'
import type { Source } from './bench/reloading.ts'
import { type Certificate, readTls } from './config/tls.ts'
import type { Config } from './config.ts'
import type { Registry } from './devices/registry.ts'
import { LabError, messageOf } from './errors.ts'
import { app } from './http/app.ts'
import { claimFolder, openToGroup } from './http/control_socket.ts'
import { closeServer, listen, serverOf } from './http/server.ts'
import { type Stoppable, startingApp } from './http/starting.ts'
import { EndingClock, systemClock } from './kit/clock.ts'
import { atOnce } from './kit/disk.ts'
import { finishTransaction, giveUpTransaction } from './kit/file_transaction.ts'
import { makePrivateFolder } from './kit/folder.ts'
import { whenNoCommandWorks } from './kit/folder_lock.ts'
import type { Log } from './kit/log.ts'
import { Refusals } from './kit/refusals.ts'
import { brokenOff, Starts } from './kit/starts.ts'
import type { HttpSessions } from './mcp/http_sessions.ts'
import type { Mqtt } from './mqtt/mqtt.ts'

export type Service = {
  bench: Bench
  /** The address of the service: `http://127.0.0.1:8520`. */
  url: string
  /** SHA-256 of its certificate, for people to compare; undefined without TLS. */
  readonly fingerprint: string | undefined
  /** Ends it within five seconds, and no timer of it is left; a second call waits for the first. */
  close(): Promise<void>
}

type ServiceOptions = {
  data_dir: string
  /** The file that the configuration is from, for backups and to be read again. */
  source?: Source | undefined
  topologies?: string | undefined
  /** The path of a second control socket, for the group, in the folder that `RuntimeDirectory=` made. */
  runtime_dir?: string | undefined
  /** Begin in safe mode, also if nothing broke off. */
  safe?: boolean | undefined
  /** Called once the devices can be stopped, while the service still starts. */
  onStoppable?: ((registry: Registry) => void) | undefined
  log: Log
}

/** Rejects with `config`, `in_use` for its folder or `conflict` for its port when it cannot be started; nothing is left running then. */
export function startService(config: Config, options: ServiceOptions): Promise<Service> {
  return atOnce(() => begin(config, options))
}

async function begin(
  config: Config,
  { data_dir, source, topologies, runtime_dir, safe, onStoppable, log }: ServiceOptions,
): Promise<Service> {
  process.umask(0o077)
  let { limits } = config
  const clock = new EndingClock(systemClock)
  const refusals = new Refusals({ log, clock })
  const bounded = { limits: () => limits, refusals }
  let tls = config.listen.tls ? await readTls(config.listen.tls) : undefined
  await makePrivateFolder(data_dir)
  const door = { app: startingApp() }
  const control = serverOf(() => door.app, { ...bounded, local: true })
  await claimFolder(data_dir, control, (message) => log.warn(message))
  const server = serverOf(() => door.app, { ...bounded, tls })
  const forGroup = serverOf(() => door.app, { ...bounded, local: true })
  const servers = [server, control, forGroup]
  const taken = (changed: Config, certificate: Certificate | undefined) => {
    limits = changed.limits
    if (!certificate || certificate === tls) return
    tls = certificate
    renew(server, certificate)
    log.info(`the certificate is a new one, its SHA-256 fingerprint ${certificate.fingerprint}`)
  }
  try {
    // Before any port of a device is opened: if this one is taken, another service may have those.
    const address = await listen(server, config.listen.host, config.listen.port)
    if (runtime_dir) await openToGroup(runtime_dir, forGroup)
    await whenNoCommandWorks(data_dir, () => log.info('a command works on the data folder; the service goes on when it has ended'))
    const undone = await finishRestore(data_dir, log)
    const starts = await Starts.open(data_dir, ({ message }) => log.error(message))
    const broke = whySafe(safe, await starts.begin())
    const why = undone ?? broke
    const stoppable = (rooms: Stoppable) => {
      door.app = startingApp(rooms)
      onStoppable?.(rooms.registry)
    }
    const opening = openBench(config, { data_dir, source, topologies, log, clock, safe: why, certificate: tls, taken, refusals, stoppable })
    // An opening that was refused, for example because of its configuration, has not broken off.
    const bench = await opening.catch((error) => starts.end().then(() => Promise.reject(error)))
    door.app = app(bench)
    const mqtt = await openMqtt(bench, (request) => door.app.fetch(request))
    const mcp = await openMcp(bench, (request, env) => door.app.fetch(request, env))
    return {
      bench,
      url: urlOf(address, tls !== undefined),
      get fingerprint() {
        return tls?.fingerprint
      },
      close: closing({ bench, servers, starts, clock, mqtt, mcp }),
    }
  } catch (error) {
    await Promise.all(servers.map((one) => closeServer(one, 0)))
    clock.end()
    throw error
  }
}

/** Connections that are there keep the certificate that they began with. */
function renew(server: Server, { cert, key }: Certificate): void {
  const secure = server as Server & { setSecureContext(options: SecureContextOptions): void }
  secure.setSecureContext({ cert, key })
}

/** Opens the connection to the MQTT broker. Loads its code only if the configuration names a broker. */
async function openMqtt(bench: Bench, fetch: (request: Request) => Response | Promise<Response>): Promise<Mqtt | undefined> {
  if (!bench.config.mqtt) return undefined
  const { openMqtt } = await import('./mqtt/of_bench.ts')
  const mqtt = await openMqtt(bench, fetch)
  bench.links.mqtt = mqtt
  return mqtt
}

/** Opens the MCP server. Loads its code only if the configuration has one. */
async function openMcp(
  bench: Bench,
  fetch: (request: Request, env?: { local: true }) => Response | Promise<Response>,
): Promise<HttpSessions | undefined> {
  if (!bench.config.mcp) return undefined
  const { openMcp } = await import('./mcp/bench_server.ts')
  const mcp = await openMcp(bench, fetch)
  bench.links.mcp = mcp
  return mcp
}

/** A sentence for the operator, if nothing may be moved before one has looked. */
function whySafe(asked: boolean | undefined, times: number): string | undefined {
  if (times >= brokenOff.times) return `the service broke off ${times} times in ${brokenOff.within_s / 60} minutes`
  return asked ? 'the service was started with --safe' : undefined
}

/**
 * Before anything is read: ends a restore that a power cut has interrupted. Where that is impossible, returns why nothing may be moved
 * before somebody has looked. A card that cannot be written is left alone: nothing can come of waiting.
 */
async function finishRestore(data_dir: string, log: Log): Promise<string | undefined> {
  try {
    const before = await finishTransaction(data_dir)
    if (before) log.warn(`a restore that was interrupted is done; what was there before is in ${data_dir}/${before}`)
    return undefined
  } catch (error) {
    log.error(messageOf(error))
    if (error instanceof LabError && (error.cause as NodeJS.ErrnoException | undefined)?.code === 'EROFS') return undefined
    const aside = await giveUpTransaction(data_dir)
    return `a restore was interrupted and cannot be completed, so some files may be restored and others not; its files are kept in ${data_dir}/${aside}. End the service and restore the backup again`
  }
}

function urlOf({ address, family, port }: AddressInfo, isSecure: boolean): string {
  return `${isSecure ? 'https' : 'http'}://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}

type Open = {
  bench: Bench
  servers: readonly Server[]
  starts: Starts
  clock: EndingClock
  mqtt: Mqtt | undefined
  mcp: HttpSessions | undefined
}

function closing({ bench, servers, starts, clock, mqtt, mcp }: Open): () => Promise<void> {
  let closed: Promise<void> | undefined
  const close = async () => {
    try {
      mcp?.close()
      await mqtt?.close()
      await bench.close()
      await starts.end()
    } finally {
      // Open servers would keep the process from ending.
      await Promise.all(servers.map((server) => closeServer(server)))
      // Runs that are taken up again stand where they waited, also for a time.
      clock.end()
    }
  }
  return () => {
    closed ??= close()
    return closed
  }
}
