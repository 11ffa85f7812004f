// Runs that survive a restart: writes their state, and restores them at the start.

import { join } from 'node:path'
import { LabError, messageOf } from '../errors.ts'
import type { RuntimeEvent } from '../events/event.ts'
import type { Hub } from '../events/hub.ts'
import { RunRecordFile } from '../events/run_record_file.ts'
import { lastWithoutBench, type SavedStates } from '../events/states_reader.ts'
import { type Clock, sleep } from '../kit/clock.ts'
import { keepAside, readOrDamage, setAside } from '../kit/damage.ts'
import { namesIn } from '../kit/files.ts'
import type { Catalog } from '../workflow/catalog.ts'
import { catchUp, recordAnew } from '../workflow/records/tracking_sink.ts'
import type { Lost } from '../workflow/recovery/stranded_labware.ts'
import type { Execution } from '../workflow/runs/execution.ts'
import { benchId } from '../workflow/standing_labware.ts'
import type { Attachments } from '../workflow/state/attachments.ts'
import type { RunStates } from '../workflow/state/entry.ts'
import type { RunMode } from '../workflow/state/modes.ts'
import { type Checkpoint, checkpointOf, halvesOnBench, threadsOnBench } from '../workflow/state/run.ts'
import { isTerminal, phaseTransitions, threadTransitions } from '../workflow/state/statuses.ts'

/** The time between two attempts of a write that the disk refused. */
const again_ms = 1000

/** Returns the writer of states for a mode. None for PURE_SIM, whose runs end within moments and can be repeated. */
export function keptIn({ log, states }: Pick<Hub, 'log' | 'states'>, attachments?: Attachments): (mode: RunMode) => RunStates | undefined {
  const written: RunStates = {
    add: (id, source) => states.add(id, source),
    changed: () => states.changed(),
    persist: () => log.persist(),
    leave: (left) => states.leave(left),
    drop: (id) => states.drop(id),
    attachments,
    record: (execution_id) => new RunRecordFile({ folder: states.folder, execution_id }),
  }
  return (mode) => (mode === 'PURE_SIM' ? undefined : written)
}

/** Repeats work that writes, until the disk takes it. Rejects when `closing` is aborted, or with an error that is not the disk's. */
export async function untilStored(work: () => Promise<unknown>, { clock, closing }: { clock: Clock; closing: AbortSignal }): Promise<void> {
  for (;;) {
    try {
      await work()
      return
    } catch (error) {
      if (!(error instanceof LabError) || error.code !== 'storage') throw error
    }
    await sleep(clock, again_ms, closing)
  }
}

type Bench = Pick<Catalog, 'runtime' | 'strandLabware'>

type Around = {
  /** The folder of the states. */
  folder: string
  saved: SavedStates
  states: RunStates
  /** The events of a run in the log. */
  events(execution_id: string): AsyncIterable<RuntimeEvent>
  /** Called for a run that cannot be restored. */
  failed(execution_id: string, reason: string): void
  /** Called for a damaged file, which is kept under another name. */
  damaged(message: string): void
  /** Called for labware that a person must look for. */
  lost(execution_id: string | null, lost: Lost): void
}

/** Restores every open run, in a paused state. The labware of runs that cannot be restored stays where it was. Corrects the records by the log. */
export async function takeUp(catalog: Bench, around: Around): Promise<void> {
  const { folder, saved, states, damaged, lost } = around
  const { records, standing } = catalog.runtime
  if (saved.damage !== undefined) damaged(`executions/${saved.damage} is damaged: ${await keptAside(folder, saved.damage.split(' ')[0]!)}`)
  const bench = saved.runs.get(benchId)
  if (bench?.damage !== undefined)
    lost(null, {
      category: 'DECK_RECONCILE_CONFLICT',
      what: 'labware that no run moves may stand elsewhere: a part of the state is missing',
    })
  const isWhole = bench !== undefined || saved.format === lastWithoutBench
  if (isWhole) standing.writeTo(states)
  const gone: string[] = []
  for (const [execution_id, { keys, damage }] of saved.runs) {
    if (execution_id === benchId) continue
    // Damaged state may be old, and work could be done twice.
    const checkpoint = isWhole && damage === undefined ? checkpointOf(keys) : undefined
    const reason = damage ?? (isWhole ? 'it is no whole execution' : fromBefore)
    if (checkpoint && !bench) for (const one of leaveStanding(catalog, checkpoint)) lost(execution_id, one)
    if (await isTakenUp(catalog, execution_id, { checkpoint, keys, reason }, around)) continue
    if (isWhole) states.drop(execution_id)
    else gone.push(execution_id)
  }
  // In one transaction with the drops: positions of labware beside runs of an older version would make those runs look like this version's.
  if (gone.length > 0) standing.writeTo(states)
  for (const execution_id of gone) states.drop(execution_id)
  await leaveOld(catalog, around)
  standing.takenUp()
  await catalog.runtime.environments.tidy()
  for (const { execution_id, ended_at } of records.executions()) {
    if (ended_at !== null || catalog.runtime.runs.get(execution_id)) continue
    for (const event of await lastOf(around, execution_id)) catchUp(records, event)
  }
}

const fromBefore = 'an older version of benchd left it open, and its state has another form'

/**
 * Leaves the labware of ended threads where it stood, and removes the rest from the standing labware, because restored threads have it.
 * `labware.json` may be older than the state.
 */
function leaveStanding(catalog: Bench, { execution: { run_mode }, threads }: Checkpoint): Lost[] {
  const isLeft = ({ status, seat }: Checkpoint['threads'][number]) => isTerminal(threadTransitions, status) && seat !== null
  for (const thread of threads) if (!isLeft(thread)) catalog.runtime.standing.forget(thread.labware.labware_id, run_mode)
  const left = threads.filter(isLeft)
  const lost = catalog.strandLabware(left, run_mode)
  for (const thread of left) thread.seat = null
  return lost
}

type Found = { checkpoint: Checkpoint | undefined; keys: ReadonlyMap<string, unknown>; reason: string }

/** Restores a run. If that is not possible, leaves its labware where it stood, and returns false. */
async function isTakenUp(catalog: Bench, execution_id: string, { checkpoint, keys, reason }: Found, around: Around) {
  const { saved, failed, lost } = around
  const { records, standing } = catalog.runtime
  // The service may have ended between the end of the run and the removal of its state.
  const isOver = checkpoint ? isTerminal(phaseTransitions, checkpoint.execution.status) : await hasEnded(around, execution_id)
  if (!isOver) {
    const taken = checkpoint ? await restored(catalog, checkpoint) : reason
    if (typeof taken !== 'string') {
      recordAnew(taken, records)
      return true
    }
    failed(execution_id, taken)
  }
  const threads = threadsOnBench(keys)
  // `labware.json` may have the positions from before the run.
  if (!saved.runs.has(benchId)) for (const { labware } of threads) standing.forget(labware.labware_id)
  for (const one of catalog.strandLabware(threads)) lost(execution_id, one)
  for (const what of halvesOnBench(keys)) lost(execution_id, { category: 'DECK_RECONCILE_CONFLICT', what })
  return false
}

/** Whether the log contains the end of the run. */
async function hasEnded(around: Around, execution_id: string): Promise<boolean> {
  return (await lastOf(around, execution_id)).some(({ entity_type }) => entity_type === 'EXECUTION')
}

/** Returns the last events in the log of each thread, each submission and the run itself. */
async function lastOf({ events }: Around, execution_id: string): Promise<RuntimeEvent[]> {
  const last = new Map<string, RuntimeEvent>()
  for await (const event of events(execution_id))
    if (['THREAD', 'SUBMISSION', 'EXECUTION'].includes(event.entity_type)) last.set(event.entity_id, event)
  return [...last.values()]
}

/** Returns the restored run, or the reason why it cannot be restored. */
async function restored({ runtime }: Bench, saved: Checkpoint): Promise<Execution | string> {
  try {
    return await runtime.restore(saved)
  } catch (error) {
    return messageOf(error)
  }
}

/** Keeps a copy of a damaged file under another name. The file itself stays until the next one has the whole state. */
async function keptAside(folder: string, name: string): Promise<string> {
  return keepAside(join(folder, name)).then(
    (aside) => `it is kept as ${aside}`,
    (error) => `it could not be kept under another name: ${messageOf(error)}`,
  )
}

/** Gives up the open runs of an earlier version, which had one file per run. Their labware stays where it stood. */
async function leaveOld(catalog: Bench, around: Around): Promise<void> {
  const { folder } = around
  const names = (await namesIn(folder)).filter((name) => name.endsWith('.jsonl') && !name.startsWith('state-'))
  for (const name of names) {
    const { bytes } = await readOrDamage(join(folder, name))
    const found = { checkpoint: undefined, keys: oldKeys(`${bytes}`), reason: fromBefore }
    await isTakenUp(catalog, name.slice(0, -'.jsonl'.length), found, around)
    await catalog.runtime.standing.persisted()
    await setAside(join(folder, name)).catch(() => undefined)
  }
}

/** Returns the last readable value of each key. */
function oldKeys(text: string): Map<string, unknown> {
  const keys = new Map<string, unknown>()
  for (const line of text.split('\n')) {
    try {
      const { key, value } = JSON.parse(line)
      if (typeof key === 'string') keys.set(key, value)
    } catch {}
  }
  return keys
}
