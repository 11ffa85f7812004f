// The workflow runtime of this bench: workflows, open runs, and records.

import type { Simulation } from '../../drivers/transports/simulation.ts'
import type { Config } from '../config.ts'
import type { Descriptions } from '../devices/descriptions.ts'
import { Readings } from '../devices/readings.ts'
import type { Registry } from '../devices/registry.ts'
import { messageOf } from '../errors.ts'
import type { Hub } from '../events/hub.ts'
import type { Incident } from '../events/incidents.ts'
import { sweepRunFolders } from '../events/run_folders.ts'
import { handsTopology, shakeAndSeal } from '../examples/hands.ts'
import { incubatorTopology, shortRests, twoDayAssay } from '../examples/incubator.ts'
import { demoTopology, sealAndSpin } from '../examples/seal_and_spin.ts'
import { smcAssay, smcTopology } from '../examples/smc_assay.ts'
import { type Clock, sleep } from '../kit/clock.ts'
import { flatId } from '../kit/flat_id.ts'
import type { Report } from '../kit/json_file.ts'
import type { Log } from '../kit/log.ts'
import type { Refusals } from '../kit/refusals.ts'
import type { Teachpoints } from '../teachpoints/store.ts'
import { Catalog } from '../workflow/catalog.ts'
import { DrivenEquipment } from '../workflow/equipment/driven_equipment.ts'
import { Inventories } from '../workflow/inventories.ts'
import { benchOf } from '../workflow/plans/bench.ts'
import type { Source } from '../workflow/plans/library.ts'
import { hasDevice } from '../workflow/plans/topology.ts'
import { addEndRows, addRow } from '../workflow/records/added_rows.ts'
import type { AttachedFiles } from '../workflow/records/attached_files.ts'
import type { Notes } from '../workflow/records/notes.ts'
import { RecordFile } from '../workflow/records/record_file.ts'
import { abortOrphanedRuns } from '../workflow/recovery/orphaned_runs.ts'
import { addByHand, type ByHand } from '../workflow/runs/by_hand.ts'
import type { Decided } from '../workflow/runs/decision.ts'
import { Runtime } from '../workflow/runtime.ts'
import type { RuntimeOptions } from '../workflow/runtime_options.ts'
import { findBeside, foretellBeside, isSafeBeside } from '../workflow/search_worker.ts'
import { foretoldOf } from '../workflow/snapshot.ts'
import { benchId } from '../workflow/standing_labware.ts'
import { openAdded, openRunFiles, rowTargets } from './added_to_runs.ts'
import { simulatedBench } from './devices.ts'
import { LateQueue, type QueueRooms } from './late_queue.ts'
import { openLearned } from './learned.ts'
import { keptIn, takeUp, untilStored } from './persisted_runs.ts'

export type Runs = {
  catalog: Catalog
  runtime: Runtime
  /** The inventories of the storages. */
  inventories: Inventories
  /** The queue of runs. */
  queue: LateQueue
  /** The files of runs. */
  attached: AttachedFiles
  /** Adds the notes of people to the records of runs. */
  notes: Notes
  /** Adds a decision about an incident to the record of its run, open or ended. Rejects with `storage`. */
  addAbout(incident: Incident, decided: Decided): Promise<void>
  /** Adds what a person does with a device by hand to the records of the open runs. Never throws. */
  addByHand(deed: ByHand): void
  /** Names the open run whose topology has the device, as a clause; undefined if none does. PURE_SIM runs use no device. */
  usedBy(device_id: string): string | undefined
  /** Lists the forecasts of the open LIVE runs, of fifty at most. */
  foretold(): ForetoldLive[]
  /** Resolves when the state of every run is on the disk. Rejects with `storage`. */
  written(): Promise<void>
  /** Aborts the open runs. Resolves when they have ended, or the time for that is over. */
  abort(): Promise<void>
  close(): Promise<void>
}

/** The forecast of an open LIVE run. `eta`: Unix time, s; null where no end can be foretold. `progress`: from 0 to 1. */
export type ForetoldLive = { execution_id: string; workflow_name: string; eta: number | null; progress: number }

/** The most runs whose forecasts are told as metrics. */
const mostForetold = 50

export type RunRooms = {
  /** The configuration in force, looked up at each use. */
  readonly config: Config
  data_dir: string
  topologies: string | undefined
  clock: Clock
  hub: Hub
  registry: Registry
  readings: Readings
  teachpoints: Teachpoints
  /** The controls of the simulated devices. */
  simulations?: ReadonlyMap<string, Simulation>
  /** The accepted descriptions of the programs behind devices. */
  descriptions: Pick<Descriptions, 'get'>
  refusals: Refusals
  log: Log
  report: Report
  /** The rooms that only the queue uses; absent in tests without them. */
  queueing?: QueueRooms | undefined
}

const shipped = [
  ...[demoTopology, sealAndSpin, smcTopology, smcAssay],
  ...[handsTopology, shakeAndSeal, incubatorTopology, twoDayAssay, shortRests],
].map((input): Source => ({ origin: `example ${input.name}`, form: 'typescript', input }))

/** The share of the runs in the five seconds that a service has to end. */
const unwinding_ms = 2500

/** Opens the runtime. `instead` replaces options, for tests. */
export async function openRuns(rooms: RunRooms, instead: Partial<RuntimeOptions> = {}): Promise<Runs> {
  const { data_dir, topologies, clock, hub, registry, readings, teachpoints, refusals, log, report } = rooms
  const warn = (message: string) => log.warn(message)
  const file = await RecordFile.open({ folder: data_dir, clock, report })
  const files = openRunFiles(rooms)
  const target = rowTargets(hub, (execution_id) => catalog.runtime.runs.get(execution_id))
  const learned = await openLearned({ data_dir, clock, report })
  const bench = benchOf(() => registry.all(), teachpoints)
  const queue = new LateQueue(rooms, { bench, file, runtime: () => catalog.runtime })
  const closed = new AbortController()
  const catalog: Catalog = await Catalog.open(
    {
      ...{ data_dir, topologies, shipped, bench, report, warn },
      saved: hub.log.saved.runs.get(benchId)?.keys,
    },
    (library, storeStanding) =>
      new Runtime({
        hub,
        clock,
        now: () => Date.now() / 1000,
        warn,
        bench,
        library,
        live: new DrivenEquipment({ registry, readings, teachpoints, clock, forgives: false, scanners: rooms.simulations }),
        openSimulated: async () => openSimulated(rooms),
        records: file.records,
        durations: learned,
        search: findBeside,
        foretell: foretellBeside,
        safety: { decideUnbounded: isSafeBeside },
        keep: keptIn(hub, { files, addRow: (execution_id, row) => addRow(execution_id, row, target(execution_id)) }),
        recorded: () => file.written(),
        untilStored: (work) => untilStored(work, { clock, closing: closed.signal }),
        versionsOf: (workflow, run_mode) => catalog.versionsOf(workflow, run_mode),
        // Labware was moved, or another topology was loaded.
        storeStanding: (standing) => queue.lookAfter(storeStanding(standing)),
        lost: ({ category, what }) => hub.incident(category, `${what}; say where it is`),
        admission: {
          limits: () => rooms.config.limits,
          refused: (bound, message) => refusals.count(bound, `a run is refused: ${message}`),
        },
        backpressure: () => hub.log.backpressure(),
        note: (sentence) => log.info(`scheduler: ${sentence}`),
        ...instead,
      }),
  )
  const { runtime } = catalog
  await restore(catalog, file, rooms)
  await queue.openIfUsed()
  const inventories = new Inventories({ catalog, hub, newId: flatId, now: () => Date.now() / 1000 })
  inventories.reportCutOff()
  return {
    ...{ catalog, runtime, inventories, queue, ...openAdded(files, runtime, target) },
    addByHand: (deed) => addByHand(runtime.runs.open(), deed, warn),
    usedBy: (device_id) => userOf(device_id, runtime),
    foretold: () => foretoldLive(runtime),
    written: () => file.written(),
    async abort() {
      queue.stop()
      const done = new AbortController()
      const late = sleep(clock, unwinding_ms, done.signal).catch(() => undefined)
      await Promise.race([runtime.close(late), late])
      done.abort()
    },
    async close() {
      closed.abort()
      await queue.close()
      runtime.stopTracking()
      await catalog.close()
      await file.close()
      await learned.close()
    },
  }
}

function foretoldLive({ runs }: Runtime): ForetoldLive[] {
  const live = runs.open().filter(({ environment }) => environment.mode === 'LIVE')
  return live.slice(0, mostForetold).flatMap((execution) => {
    const { eta, progress } = foretoldOf(execution)
    return progress === null ? [] : [{ execution_id: execution.execution_id, workflow_name: execution.workflow.name, eta, progress }]
  })
}

function userOf(device_id: string, { runs }: Runtime): string | undefined {
  const used = runs
    .all()
    .find(({ isOver, environment, workflow }) => !isOver && environment.mode !== 'PURE_SIM' && hasDevice(workflow.topology, device_id))
  return used && `execution ${used.execution_id} (${used.workflow.name})`
}

/** Makes each driver over its own simulator. */
function openSimulated({ config, clock, log, hub, descriptions, teachpoints }: RunRooms) {
  const simulators = new Map<string, Simulation>()
  const registry = simulatedBench(config, { clock, log, hub, hands: simulators, descriptions })
  const readings = new Readings({ devices: () => registry.all(), clock })
  const equipment = new DrivenEquipment({ registry, readings, teachpoints, clock, forgives: true, simulators })
  const close = () => {
    readings.close()
    return registry.close()
  }
  return { equipment, close }
}

/** Restores the runs that were open when the service ended, and aborts those that cannot be restored. */
async function restore(catalog: Catalog, file: RecordFile, { hub, report, log }: RunRooms): Promise<void> {
  const { runtime } = catalog
  const reasons = new Map<string, string>()
  const incidents = new Map<string, Incident>()
  const { folder } = hub.states
  await takeUp(catalog, {
    folder,
    saved: hub.log.saved,
    states: keptIn(hub)('LIVE')!,
    events: (execution_id) => hub.events({ execution_id }),
    failed(execution_id, reason) {
      reasons.set(execution_id, reason)
      const message = `execution ${execution_id} cannot be restored and is aborted: ${reason}`
      incidents.set(execution_id, hub.incident('OTHER', message, { execution_id }))
    },
    damaged: (message) => report({ kind: 'storage', message }),
    lost: (execution_id, { category, what }) => hub.incident(category, `${what}; look for it, and say where it is`, { execution_id }),
  })
  const isOpen = (execution_id: string) => runtime.runs.get(execution_id) !== undefined
  const aborted = await abortOrphanedRuns(file.records, {
    isTakenUp: isOpen,
    reasons,
    events: (execution_id) => hub.events({ execution_id }),
    oldest: () => oldestIn(hub),
    emit: (event_name, context, execution_id) => hub.emit(event_name, context, execution_id),
    ended: (execution_id) =>
      addEndRows(file.records, execution_id, { incident: incidents.get(execution_id), folder }).catch((error) =>
        log.warn(`the record of execution ${execution_id} does not say how it ended: ${messageOf(error)}`),
      ),
  })
  if (aborted > 0) log.warn(`${aborted} runs were open when the service ended, and are aborted`)
  if (!file.isWhole) return
  const isKnown = (execution_id: string) => file.records.execution(execution_id) !== undefined || isOpen(execution_id)
  await sweepRunFolders(folder, (id) => isKnown(id) || hub.log.saved.runs.has(id)).then(
    ({ kept, bare }) => {
      const told = (ids: readonly string[], what: string) => {
        const names = ids.slice(0, 10).join(', ')
        if (ids.length > 0) log.warn(`${folder} has ${what} (${names}); move them away if nobody needs them`)
      }
      told(kept, `records of ${kept.length} runs that records.jsonl does not list`)
      told(bare, `files of ${bare.length} runs without their records, as after a restore of an older backup`)
    },
    (error) => log.warn(`folders of unknown runs were not removed: ${messageOf(error)}`),
  )
}

/** Resolves with the time of the oldest event in the log, Unix time, s; undefined for an empty log. */
async function oldestIn(hub: Pick<Hub, 'events'>): Promise<number | undefined> {
  for await (const { timestamp } of hub.events()) return timestamp
  return undefined
}
