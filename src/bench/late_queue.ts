// Opens the queue of runs late: with the workflows if it was used before, else at the first request. Connects it with the bench.

import type { Config } from '../config.ts'
import type { Instrument } from '../devices/instrument.ts'
import type { Registry } from '../devices/registry.ts'
import { messageOf } from '../errors.ts'
import type { Hub } from '../events/hub.ts'
import { isBehind, systemWall } from '../events/timestamps.ts'
import { type Audit, byService } from '../keys/audit.ts'
import type { Clock } from '../kit/clock.ts'
import { namesIn } from '../kit/files.ts'
import type { Report } from '../kit/json_file.ts'
import type { Log } from '../kit/log.ts'
import type { QueueDevices } from '../queue/fitness.ts'
import type { Queue } from '../queue/queue.ts'
import type { Bench } from '../workflow/plans/bench.ts'
import type { RecordFile } from '../workflow/records/record_file.ts'
import type { Runtime } from '../workflow/runtime.ts'

export type QueueRooms = {
  audit: Pick<Audit, 'note'>
  /** Whether a time server has set the clock; null where that cannot be known, and false before the first look. */
  isSynced(): boolean | null
  /** Whether the service is in safe mode. */
  isSafeMode(): boolean
}

type Rooms = {
  /** The configuration in force, looked up at each use. */
  readonly config: Pick<Config, 'limits' | 'queue'>
  data_dir: string
  clock: Clock
  hub: Hub
  registry: Registry
  log: Log
  report: Report
  queueing?: QueueRooms | undefined
}

type Parts = { bench: Bench; file: Pick<RecordFile, 'isWhole'>; runtime(): Runtime }

export class LateQueue {
  readonly #rooms: Rooms
  readonly #parts: Parts
  #opening: Promise<Queue> | undefined
  #opened: Queue | undefined
  #isStopped = false

  constructor(rooms: Rooms, parts: Parts) {
    this.#rooms = rooms
    this.#parts = parts
  }

  /** The queue; undefined before it is open. */
  get now(): Queue | undefined {
    return this.#opened
  }

  async openIfUsed(): Promise<void> {
    if ((await namesIn(this.#rooms.data_dir)).some((name) => name.startsWith('queue.json'))) await this.open()
  }

  /** Opens the queue, unless it is open. Rejects as `Queue.open` does; the next call tries again. */
  open(): Promise<Queue> {
    this.#opening ??= this.#open().catch((error) => {
      this.#opening = undefined
      throw error
    })
    return this.#opening
  }

  /** Looks at the queue after something that may have kept an entry was stored. */
  lookAfter<Stored>(stored: Promise<Stored>): Promise<Stored> {
    this.#opened?.lookSoon()
    return stored
  }

  /** Begins nothing more. */
  stop(): void {
    this.#isStopped = true
    this.#opened?.stop()
  }

  async close(): Promise<void> {
    this.stop()
    await (await this.#opening?.catch(() => undefined))?.close()
  }

  async #open(): Promise<Queue> {
    const { Queue } = await import('../queue/queue.ts')
    const { data_dir, clock, hub, registry, report, log, queueing } = this.#rooms
    const { bench, file, runtime } = this.#parts
    const queue = await Queue.open({
      ...{ folder: data_dir, report, clock, bench, runtime: runtime(), devices: devicesOf(registry) },
      limits: () => this.#rooms.config.limits,
      settings: () => this.#rooms.config.queue,
      areRecordsWhole: () => file.isWhole,
      wall: () => Date.now() / 1000,
      isSynced: () => queueing?.isSynced() ?? null,
      isBehindLog: () => isBehind(systemWall, hub.log.newest_us),
      isUnsafe: () => (queueing?.isSafeMode() ? 'the service is in safe mode; acknowledge its incident when the bench is well' : undefined),
      stopped: () => registry.all().flatMap(({ device_id, condition }) => (condition.latch.stopped ? device_id : [])),
      paused(message) {
        log.warn(message)
        hub.incident('OTHER', message, { severity: 'WARNING', detail: { queue_paused: true } })
      },
      began: (text, execution_id) => queueing?.audit.note({ ...byService, what: 'queue submit', details: { text, execution_id } }),
    })
    if (this.#isStopped) queue.stop()
    hub.registerSink(queue)
    this.#opened = queue
    queue.lookSoon()
    return queue
  }
}

/** Shows the devices of the bench to the queue. */
function devicesOf(registry: Registry): QueueDevices {
  return {
    mustBeKnown: (device_id) => void registry.find(device_id),
    trouble: (device_id) => troubleOf(registry.find(device_id)),
    notReady(device_id) {
      const instrument = registry.find(device_id)
      return instrument.state === 'ready'
        ? undefined
        : (troubleOf(instrument) ?? `${device_id} is ${instrument.state.replaceAll('_', ' ')}; see that it is ready`)
    },
  }
}

function troubleOf({ device_id, driven, condition, lock, state }: Instrument): string | undefined {
  if (!driven) return undefined
  if (state === 'disconnected') return `${device_id} is not connected; see that it is switched on and connected`
  if (condition.halts.isOwed)
    return `${device_id} has not acknowledged its last halt, so that it may still move or heat; see that it stands`
  try {
    condition.mustNotBeLatched()
    lock.mustNotBeLeasedToAnother(undefined)
    return undefined
  } catch (error) {
    return messageOf(error)
  }
}
