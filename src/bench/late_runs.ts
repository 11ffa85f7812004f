// Opens workflows late, because they take a third of the start: at the start only if any were used on this bench before, else at the first request.

import type { Transfer, TransferOrder } from '../devices/transfer.ts'
import { LabError } from '../errors.ts'
import { namesIn } from '../kit/files.ts'
import type { Queue } from '../queue/queue.ts'
import type { ByHand } from '../workflow/runs/by_hand.ts'
import type { ForetoldLive, RunRooms, Runs } from './runs.ts'

/** Matches the files that exist in the data folder once something was loaded or run. */
const traces = /^(executions$|records\.jsonl|workflows\.json|labware\.json|queue\.json)/

type Prepare = (runs: Runs) => Promise<unknown>

export class LateRuns {
  readonly #rooms: RunRooms
  #opening: Promise<Runs> | undefined
  #opened: Runs | undefined
  #prepare: Prepare | undefined

  constructor(rooms: RunRooms) {
    this.#rooms = rooms
  }

  /** Opens the workflows at the start if they were used before: restores open runs, and reports faulty files. */
  async openIfUsed(): Promise<void> {
    const { data_dir, topologies } = this.#rooms
    const wasUsed = (await namesIn(data_dir)).some((name) => traces.test(name))
    // `open` reports a folder that cannot be read.
    const files = topologies === undefined ? [] : await namesIn(topologies).catch(() => [topologies])
    if (wasUsed || files.length) await this.open()
  }

  /** Opens the workflows, unless they are open. Rejects as `openRuns` does; the next call tries again. */
  open(): Promise<Runs> {
    this.#opening ??= this.#open().catch((error) => {
      this.#opening = undefined
      throw error
    })
    return this.#opening
  }

  /** Prepares the workflows before their first use: now if they are open, else when they are opened. Rejects as `prepare` does. */
  async prepare(prepare: Prepare): Promise<void> {
    this.#prepare = prepare
    if (this.#opened) await prepare(this.#opened)
  }

  /** The open workflows. Throws if they are not open. */
  get opened(): Runs {
    if (this.#opened) return this.#opened
    throw new LabError('internal', 'workflows are not open yet')
  }

  /** Names the open run that uses a device, as a clause; undefined if none does. */
  usedBy(device_id: string): string | undefined {
    return this.#opened?.usedBy(device_id)
  }

  /** Checks the workflows anew against what the programs behind devices describe now. Before the workflows are open there is nothing to check. */
  described(): void {
    if (this.#opened) this.#opened.catalog.described()
    else void this.#opening?.then(({ catalog }) => catalog.described()).catch(() => undefined)
  }

  /** Adds a decision about a device to the records of open runs; does nothing before the workflows are open. Never throws. */
  addByHand(deed: ByHand): void {
    this.#opened?.addByHand(deed)
  }

  /** Notes a motion of a transporter, as `RunEnvironments.beginMotion` does. */
  beginMotion(transporter: string): (() => void) | undefined {
    return this.#opened?.runtime.environments.beginMotion(transporter)
  }

  /** Begins a transfer of a storage, as `beginTransfer` does. Waits until the workflows are open, because they know where labware is. */
  async beginTransfer(order: TransferOrder): Promise<Transfer> {
    const { inventories } = await this.open()
    return inventories.beginTransfer(order)
  }

  /** Notes what a storage has seen in its slots; does nothing before the workflows are open. */
  scanned(device_id: string, seen: unknown): void {
    this.#opened?.inventories.scanned(device_id, seen)
  }

  /** A transporter stands, as `RunEnvironments.stood` says. */
  stood(): void {
    this.#opened?.runtime.environments.stood()
  }

  /** The positions with `handover` in all topologies; none before the workflows are open. */
  get handovers(): string[] {
    return this.#opened?.catalog.handovers ?? []
  }

  /** The open runs that use the bench or simulators; none before the workflows are open. */
  get underWay(): { execution_id: string; workflow_name: string }[] {
    const open = this.#opened?.runtime.runs.all().filter(({ isOver, environment }) => !isOver && environment.mode !== 'PURE_SIM') ?? []
    return open.map(({ execution_id, workflow }) => ({ execution_id, workflow_name: workflow.name }))
  }

  /** The queue of runs; undefined before it is open. */
  get queue(): Queue | undefined {
    return this.#opened?.queue.now
  }

  /** The forecasts of the open LIVE runs, of fifty at most; none before the workflows are open. */
  get foretold(): ForetoldLive[] {
    return this.#opened?.foretold() ?? []
  }

  /** Whether a run is known and is a PURE_SIM run. */
  isRehearsed(execution_id: string): boolean {
    return this.#opened?.runtime.runs.get(execution_id)?.environment.mode === 'PURE_SIM'
  }

  /** Whether a run is known and moves the instruments. */
  isLive(execution_id: string): boolean {
    return this.#opened?.runtime.runs.get(execution_id)?.environment.mode === 'LIVE'
  }

  async abort(): Promise<void> {
    await (await this.#settled())?.abort()
  }

  async close(): Promise<void> {
    await (await this.#settled())?.close()
  }

  async #open(): Promise<Runs> {
    const { openRuns } = await import('./runs.ts')
    const runs = await openRuns(this.#rooms)
    try {
      await this.#prepare?.(runs)
    } catch (error) {
      await runs.close()
      throw error
    }
    this.#opened = runs
    return runs
  }

  async #settled(): Promise<Runs | undefined> {
    return this.#opening?.catch(() => undefined)
  }
}
