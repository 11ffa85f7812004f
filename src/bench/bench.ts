// Builds every room once, in order: the whole service without HTTP.

import { thisComputer } from '../../drivers/transports/hardware.ts'
import type { Simulation } from '../../drivers/transports/simulation.ts'
import { Backups } from '../care/backups.ts'
import { type Host, type HostFacts, thisHost } from '../care/host.ts'
import { HostWatch } from '../care/host_watch.ts'
import type { DeviceConfig } from '../config/devices.ts'
import type { Certificate } from '../config/tls.ts'
import type { Config } from '../config.ts'
import { Descriptions } from '../devices/descriptions.ts'
import { DeviceNotes } from '../devices/device_notes.ts'
import { openLatches } from '../devices/latches.ts'
import { Leases } from '../devices/leases.ts'
import { Ledger } from '../devices/ledger.ts'
import { OperationHistory } from '../devices/operation_history.ts'
import { OperationJournal } from '../devices/operation_journal.ts'
import { Presets } from '../devices/presets.ts'
import { Readings } from '../devices/readings.ts'
import { Registry } from '../devices/registry.ts'
import type { TransferOrder } from '../devices/transfer.ts'
import type { LabError } from '../errors.ts'
import type { Hub } from '../events/hub.ts'
import type { Incident } from '../events/incidents.ts'
import { Load } from '../events/load.ts'
import { openEvents } from '../events/open.ts'
import { isBehind, systemWall } from '../events/timestamps.ts'
import type { Fleet, FleetOptions } from '../fleet/fleet.ts'
import { Audit, byService } from '../keys/audit.ts'
import { Idempotency } from '../keys/idempotency.ts'
import { Keys } from '../keys/keys.ts'
import { LongRequests } from '../keys/long_requests.ts'
import { Pairing } from '../keys/pairing.ts'
import { type Clock, systemClock } from '../kit/clock.ts'
import { askAtOnce } from '../kit/disk.ts'
import type { Report } from '../kit/json_file.ts'
import { saysItsLength } from '../kit/json_lines.ts'
import type { Log } from '../kit/log.ts'
import { packageVersion } from '../kit/package_version.ts'
import { Refusals } from '../kit/refusals.ts'
import type { Notifier } from '../notify/notifier.ts'
import type { Queue } from '../queue/queue.ts'
import { Teachpoints } from '../teachpoints/store.ts'
import { taughtWay } from '../teachpoints/way.ts'
import type { ByHand } from '../workflow/runs/by_hand.ts'
import { aboutBench } from './about.ts'
import { pageOf } from './address.ts'
import { type ClosedRooms, closeHalfOpen, closeRooms } from './closing.ts'
import { exchangeDevices } from './device_exchange.ts'
import { configured } from './devices.ts'
import { LatePlugins } from './late_plugins.ts'
import type { QueueRooms } from './late_queue.ts'
import { LateRuns } from './late_runs.ts'
import { type Links, linksOf } from './links.ts'
import { NewDevices } from './new_devices.ts'
import { openNotifier, reportPaused } from './notifications.ts'
import { beginSafely, lossTeller } from './open_incidents.ts'
import { openPictures, type Pictures } from './pictures.ts'
import { takeOver } from './reload_effects.ts'
import { Reloading, type Source } from './reloading.ts'
import type { ForetoldLive, Runs } from './runs.ts'
import { type StopInput, stopsAll } from './stops_all.ts'

export const healthStates = ['ok', 'degraded', 'starting', 'stopping'] as const
/** The reasons for a degraded health. */
export const healthReasons = ['storage', 'disk', 'clock', 'under_voltage', 'temperature', 'stop_input', 'safe_mode', 'backup'] as const
export type Health = { status: (typeof healthStates)[number]; version: string; uptime_s: number; reasons: string[] }

export type Bench = {
  /** The configuration in force. A reload may change part of it. */
  readonly config: Config
  /** Rereads the configuration file while the service runs. */
  reloading: Reloading
  /** Adds devices to the configuration file. */
  new_devices: NewDevices
  log: Log
  /** The folder of the state, and the file of the configuration if there is one. */
  places: { data_dir: string; config_path: string | undefined }
  version: string
  clock: Clock
  hub: Hub
  ledger: Ledger
  registry: Registry
  /** The readings of the devices in the last day. */
  readings: Readings
  /** The notes and photos of the devices. */
  notes: DeviceNotes
  teachpoints: Teachpoints
  /** The parameters of operations that people saved under a name. */
  presets: Presets
  keys: Keys
  /** The pairing requests of programs that want a key. */
  pairing: Pairing
  /** Answers of requests with an Idempotency-Key, so that each is carried out once. */
  idempotency: Idempotency
  /** The record of who did what. */
  audit: Audit
  /** The requests that were refused because of a limit of the service. */
  refusals: Refusals
  /** Counts streams and long polls, by key. */
  long_requests: LongRequests
  /** The backups of the data folder; one is made each day. */
  backups: Backups
  /** Calls the configured webhooks when a person is needed. */
  notifier: Notifier
  /** The cameras, and the pictures that are kept. */
  pictures: Pictures
  /** The plug-ins of the configuration. */
  plugins: LatePlugins
  /** The connection to the broker of the lab; undefined if the configuration names none. */
  fleet: Fleet | undefined
  /** The connections to other systems that the program opens beside the bench. */
  links: Links
  /** The workflows, the runs and their records. Throws before `openRuns`. */
  readonly runs: Runs
  /** The queue of runs; undefined before it is open, and where none was ever used. */
  readonly queue: Queue | undefined
  /** Opens the workflows, unless they are open. The start does that only if any were used before. */
  openRuns(): Promise<Runs>
  /** The forecasts of the open LIVE runs; none before the workflows are open. */
  readonly foretold: readonly ForetoldLive[]
  /** Adds what a person does with a device by hand to the records of the open runs. Never throws, and reads no disk. */
  recordByHand(deed: ByHand): void
  /** Prepares the workflows before their first use: now if they are open, else when they are opened. Rejects as `prepare` does. */
  prepareRuns(prepare: (runs: Runs) => Promise<unknown>): Promise<void>
  /** The controls of simulated devices, by device. */
  simulations: ReadonlyMap<string, Simulation>
  /** Generates events, to test clients. */
  load: Load
  /** The last known facts of the computer; undefined before the first look. */
  readonly host: HostFacts | undefined
  health(): Health
  /** Called when the disk refused a write, so that a full disk is noticed at once. */
  onRefusedWrite(error: LabError): void
  /** The incident whose acknowledgement ends safe mode. Until then nothing may move. Undefined outside safe mode. */
  readonly safe_mode: Incident | undefined
  /** Whether `close` was called. Later changes may be lost. */
  readonly is_stopping: boolean
  /** Refuses new work, ends everything, and resolves when all is on the disk. */
  close(): Promise<void>
}

type BenchOptions = {
  data_dir: string
  /** The configuration file, for backups and reloads. */
  source?: Source | undefined
  certificate?: Certificate | undefined
  /** Called after a reload, with the configuration and the certificate in force. */
  taken?: ((config: Config, certificate: Certificate | undefined) => void) | undefined
  topologies?: string | undefined
  /** The reason to open in safe mode; undefined for none. */
  safe?: string | undefined
  log: Log
  clock?: Clock
  /** Replaces the facts of this computer, for tests. */
  host?: Host | undefined
  /** Called when the devices are open. Until everything else is open, only stops are accepted. */
  stoppable?: ((rooms: Pick<Bench, 'config' | 'registry' | 'keys' | 'audit' | 'refusals' | 'log'>) => void) | undefined
  /** The counter of refusals, if code outside the bench shares it. */
  refusals?: Refusals | undefined
}

/** Opens the bench on a data folder that this process has locked. Sends only queries to the devices. Leaves nothing open if it rejects. */
export async function openBench(config: Config, options: BenchOptions): Promise<Bench> {
  const rooms: Partial<ClosedRooms> = {}
  try {
    return await open(config, options, rooms)
  } catch (error) {
    await closeHalfOpen(rooms)
    throw error
  }
}

/** Opens the rooms. Notes each open one in `rooms`, so that it can be closed if a later one fails. */
async function open(config: Config, options: BenchOptions, rooms: Partial<ClosedRooms>): Promise<Bench> {
  const { data_dir, source, topologies, safe, log, clock = systemClock, host = thisHost({ data_dir }) } = options
  const { refusals = new Refusals({ log, clock }) } = options
  const opened = <Name extends keyof ClosedRooms>(name: Name, room: ClosedRooms[Name]): ClosedRooms[Name] => {
    rooms[name] = room
    return room
  }
  const [version, began] = [packageVersion(), clock.now()]
  const hub = opened('hub', await openEvents({ folder: data_dir, config, clock, log }))
  const report: Report = reportsTo(hub, log)
  const [ending, isReal] = [() => ({ certificate: reloading.certificate, keys: keys.list() }), (id: string) => !runs.isRehearsed(id)]
  const notifying = { folder: data_dir, system_id: config.system_id, clock, log, report, targets: config.notify, isReal, ending }
  const notifier = opened('notifier', await openNotifier(hub, { version, safe }, { ...notifying, page: pageOf(config) }))
  const safeMode = safe === undefined ? () => undefined : beginSafely(hub, log, safe)
  const load = opened('load', new Load(hub, clock))
  const ledger = opened('ledger', new Ledger({ history: new OperationHistory({ folder: data_dir, report }) }))
  const latches = opened('latches', await openLatches(data_dir, { clock, report }))
  const descriptions = opened('descriptions', await Descriptions.open(data_dir, { clock, report, changed: () => runs.described() }))
  const leases = await Leases.open(data_dir, report, (key_id) => keys.isOver(key_id))
  const [presets, notes] = [await Presets.open(data_dir, report), await DeviceNotes.open(data_dir, report)]
  const journal = opened('journal', await OperationJournal.open(data_dir, report))
  const teachpoints = opened('teachpoints', await Teachpoints.open({ folder: data_dir, report }))
  const keys = opened('keys', await Keys.open({ folder: data_dir, report, passed: () => passed(hub) }))
  const long_requests = new LongRequests({ keys, clock, refusals, limits: () => reloading.config.limits })
  const perAddress = () => reloading.config.limits.pairings_per_address
  const pairing = new Pairing({ keys, clock, perAddress, refused: (message) => refusals.count('pairings_per_address', message) })
  // Versions that write the length of operations.jsonl create the file of requests before they carry out anything, so a missing one is a loss.
  const isUsed = await saysItsLength(`${data_dir}/operations.jsonl`)
  const idempotency = opened('idempotency', await Idempotency.open({ folder: data_dir, isUsed, tellLost: lossTeller(hub, log) }))
  const audit = opened('audit', new Audit({ folder: data_dir, log, report, clock }))
  audit.note({ ...byService, what: `start ${version}`, details: { text: `Started benchd ${version}` } })
  const simulations = new Map<string, Simulation>()
  opened('simulations', simulations)
  const made = { clock, log, hardware: thisComputer(), descriptions }
  const make = (device: DeviceConfig, simulations: Map<string, Simulation>) =>
    configured(device, config.time_scale, { ...made, simulations })
  const devices = config.devices.map((device) => make(device, simulations))
  const wayTo = (device_id: string, teachpoint: string) => taughtWay(teachpoints, device_id, teachpoint)
  const around = { clock, hub, ledger, latches, leases, journal, log, wayTo, ...motionsOf(() => runs) }
  const registry = opened('registry', new Registry(devices, around))
  const readings = opened('readings', new Readings({ devices: () => registry.all(), clock }))
  const watch = opened('watch', watched(host, clock, hub))
  const sources = { data_dir, config: source?.path, topologies, version, system_id: config.system_id }
  const backups = opened('backups', new Backups({ sources, log, report, clock }))
  await backups.start()
  // From now on the service must be able to stop instruments.
  askAtOnce(false)
  registry.start()
  options.stoppable?.({ config, registry, keys, audit, refusals, log })
  const runs: LateRuns = new LateRuns({
    get config() {
      return reloading.config
    },
    ...{ data_dir, topologies, clock, hub, registry, readings, teachpoints, simulations, descriptions, refusals, log, report },
    queueing: queueingOf(audit, watch, safeMode),
  })
  const input = config.stop_input && opened('input', stopsAll(config.stop_input, { ...made, hub, audit, registry, runs }))
  const reloading: Reloading = new Reloading({
    config,
    source,
    certificate: options.certificate,
    exchange: (changed, changes) =>
      exchangeDevices(changed, changes, { registry, simulations, make, usedBy: (device_id) => runs.usedBy(device_id) }),
    taken(changed, certificate, reloaded) {
      takeOver(changed, reloaded, { hub, registry, audit, notifier, plugins })
      options.taken?.(changed, certificate)
    },
  })
  const pictures = opened('pictures', await openPictures({ data_dir, hub, clock, log, config: () => reloading.config, runs: () => runs }))
  await opened('runs', runs).openIfUsed()
  reportPaused(runs, notifier, log)
  const places = { data_dir, config_path: source?.path }
  const fleet = opened('fleet', await openFleet(config, { folder: data_dir, hub, log, report }, () => aboutBench(bench, runs.handovers)))
  const plugins = opened('plugins', new LatePlugins({ reloading, places, hub, clock, log, safeMode }))
  const shown = { reloading, log, places, version, clock, hub, ledger, registry, teachpoints, keys, pairing, idempotency, audit, refusals }
  const added = { new_devices: new NewDevices(reloading), pictures, backups, notifier, plugins, links: linksOf(clock) }
  const hidden = { runs, watch, input, safeMode, began, closed: rooms }
  const bench = benchOf({ ...shown, ...hidden, ...added, presets, notes, fleet, long_requests, simulations, load, readings })
  return bench
}

/** The rooms of an open bench that only the bench itself uses. */
type InnerRooms = {
  runs: LateRuns
  watch: HostWatch
  input: StopInput | undefined
  /** The rooms that `close` closes. */
  closed: Partial<ClosedRooms>
  safeMode(): Incident | undefined
  /** When the bench was opened. */
  began: number
}

/** The rooms that the bench shows as they are. */
type PublicRooms = Omit<
  Bench,
  | 'config'
  | 'runs'
  | 'queue'
  | 'foretold'
  | 'openRuns'
  | 'prepareRuns'
  | 'recordByHand'
  | 'host'
  | 'health'
  | 'onRefusedWrite'
  | 'safe_mode'
  | 'is_stopping'
  | 'close'
  | 'simulations'
> & {
  simulations: Map<string, Simulation>
}

/** Puts the open rooms together. */
function benchOf(rooms: PublicRooms & InnerRooms): Bench {
  const { runs, watch, input, closed, safeMode, began, ...shown } = rooms
  const { reloading, version, clock, hub, backups } = rooms
  let stopping = false
  return {
    ...shown,
    get config() {
      return reloading.config
    },
    get runs() {
      return runs.opened
    },
    get queue() {
      return runs.queue
    },
    get foretold() {
      return runs.foretold
    },
    openRuns: () => runs.open(),
    prepareRuns: (prepare) => runs.prepare(prepare),
    recordByHand: (deed) => runs.addByHand(deed),
    get host() {
      return watch.facts
    },
    get safe_mode() {
      return safeMode()
    },
    get is_stopping() {
      return stopping
    },
    health() {
      const ours = [...(input?.trouble ? ['stop_input'] : []), ...(safeMode() ? ['safe_mode'] : []), ...(backups.trouble ? ['backup'] : [])]
      const reasons = [...new Set([...hub.troubles(), ...watch.reasons, ...ours])]
      const status = stopping ? 'stopping' : reasons.length ? 'degraded' : 'ok'
      return { status, version, uptime_s: Math.floor((clock.now() - began) / 1000), reasons }
    },
    onRefusedWrite({ cause }) {
      if (cause instanceof Error && 'code' in cause && (cause.code === 'ENOSPC' || cause.code === 'EDQUOT')) watch.refusedForRoom()
    },
    async close() {
      stopping = true
      await closeRooms(closed)
    },
  }
}

/** Opens the link to the broker. Loads its code only if the configuration names a broker. */
async function openFleet(
  config: Config,
  options: Omit<FleetOptions, 'config' | 'about'>,
  about: FleetOptions['about'],
): Promise<Fleet | undefined> {
  if (!config.fleet) return undefined
  const { Fleet } = await import('../fleet/fleet.ts')
  return Fleet.open({ config: config.fleet, ...options, about })
}

function queueingOf(audit: Audit, watch: HostWatch, safeMode: () => Incident | undefined): QueueRooms {
  return { audit, isSynced: () => (watch.facts ? watch.facts.clock_synced : false), isSafeMode: () => safeMode() !== undefined }
}

/** Returns a report of damaged files: to the log, and as an incident. */
function reportsTo(hub: Hub, log: Log): Report {
  return ({ message }) => {
    log.error(message)
    hub.incident('STORAGE', message)
  }
}

/** Returns the time of the newest event, to detect a system clock that is behind it; undefined if the clock is synchronized. */
function passed(hub: Hub): number | undefined {
  return systemWall.inStep() ? undefined : hub.log.newest_us / 1e6
}

function watched(host: Host, clock: Clock, hub: Hub): HostWatch {
  const watch = new HostWatch({
    host,
    clock,
    tell: (category, message, more) => void hub.incident(category, message, more),
    isBehindLog: () => isBehind(systemWall, hub.log.newest_us),
  })
  void watch.start()
  return watch
}

/** Makes the calls by which instruments tell the runs about motions of transporters and storages. */
function motionsOf(runs: () => LateRuns) {
  return {
    beginMotion: (device_id: string) => runs().beginMotion(device_id),
    beginTransfer: (order: TransferOrder) => runs().beginTransfer(order),
    scanned: (device_id: string, seen: unknown) => runs().scanned(device_id, seen),
    stood: () => runs().stood(),
  }
}
