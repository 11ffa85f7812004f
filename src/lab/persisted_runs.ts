// Runs that outlast the service: a journal for each, and what is taken up from them at the start.

import { join } from 'node:path'
import { messageOf } from '../errors.ts'
import type { RuntimeEvent } from '../events/event.ts'
import type { Hub } from '../events/hub.ts'
import { setAside } from '../kit/damage.ts'
import { namesIn } from '../kit/files.ts'
import { KeyedJournal, readKeyedJournal } from '../kit/keyed_journal.ts'
import type { Catalog } from '../workflow/catalog.ts'
import { type Checkpoint, checkpointOf, threadsOnBench } from '../workflow/journal/checkpoint.ts'
import type { Lost } from '../workflow/journal/stranded_labware.ts'
import { catchUp, recordAnew } from '../workflow/journal/tracking_sink.ts'
import type { Execution } from '../workflow/runs/execution.ts'
import type { RunMode } from '../workflow/threads/run_environment.ts'

const ending = '.jsonl'

/**
 * A run without drivers is over in a moment, and can be had again: it is not kept. The journal of a run is written after the event
 * log and the incidents. Otherwise a run that is taken up after a kill could take an action for done whose events are lost.
 */
export function keptIn(
  data_dir: string,
  hub: Pick<Hub, 'log' | 'incidents'>,
): (execution_id: string, mode: RunMode) => KeyedJournal | undefined {
  // The log and the incidents report themselves what they cannot write; no run waits for that.
  const published = async () => void (await Promise.allSettled([hub.log.until(), hub.incidents.written()]))
  return (execution_id, mode) => (mode === 'PURE_SIM' ? undefined : new KeyedJournal(pathOf(data_dir, execution_id), published))
}

type Bench = Pick<Catalog, 'runtime' | 'strandLabware' | 'loadFor'>

type Tell = {
  /** Tells that a run cannot be taken up. */
  failed(execution_id: string, reason: string): void
  /** The journal of one is, and is kept under another name. */
  damaged(message: string): void
  /** Somebody has to look for this. */
  lost(execution_id: string, lost: Lost): void
}

/**
 * Takes up every run that was open: each stands paused. Of those that cannot be the labware stands where it stood. Records are brought
 * to what the log tells. Rejects with `config` for one that a newer version has kept: it is left alone.
 */
export async function takeUp(catalog: Bench, data_dir: string, tell: Tell): Promise<void> {
  const names = (await namesIn(join(data_dir, 'executions'))).filter((name) => name.endsWith(ending))
  const { records } = catalog.runtime
  for (const execution_id of names.map((name) => name.slice(0, -ending.length))) {
    const path = pathOf(data_dir, execution_id)
    const content = await readKeyedJournal(path)
    const { keys } = content
    const whole = checkpointOf(keys)
    // Without a single key it was torn as it began.
    const damage = content.damage ?? (whole || keys.size === 0 ? undefined : 'it is no whole execution')
    // Nobody knows how old the rest of a damaged checkpoint is: something might be done twice.
    const saved = damage === undefined ? whole : undefined
    if (saved) catalog.loadFor(saved.execution)
    // The service may have ended before the journal was gone. What has no end in the log has none, whatever its record says.
    const last = await lastOf(catalog, execution_id)
    if (!last.some(({ entity_type }) => entity_type === 'EXECUTION')) {
      const taken = await restored(catalog, saved)
      if (typeof taken !== 'string') {
        recordAnew(taken, records)
        for (const event of last) catchUp(records, event)
        continue
      }
      tell.failed(execution_id, taken)
    }
    // The journal of the run is the only one that knows where its labware is.
    for (const lost of await catalog.strandLabware(threadsOnBench(keys))) tell.lost(execution_id, lost)
    if (damage === undefined) await new KeyedJournal(pathOf(data_dir, execution_id)).remove()
    else
      tell.damaged(
        `executions/${execution_id}${ending} is damaged (${damage}): nothing of that run is done again. ${await keptAside(path)}`,
      )
  }
  for (const { execution_id, ended_at } of records.executions()) {
    if (ended_at !== null || catalog.runtime.execution(execution_id)) continue
    for (const event of await lastOf(catalog, execution_id)) catchUp(records, event)
  }
}

/** Returns the last events in the log of each thread, each submission and the run itself. */
async function lastOf({ runtime }: Bench, execution_id: string): Promise<RuntimeEvent[]> {
  const last = new Map<string, RuntimeEvent>()
  for await (const event of runtime.events({ execution_id }))
    if (['THREAD', 'SUBMISSION', 'EXECUTION'].includes(event.entity_type)) last.set(event.entity_id, event)
  return [...last.values()]
}

/** Returns the run, taken up; or the reason why it cannot be. */
async function restored({ runtime }: Bench, saved: Checkpoint | undefined): Promise<Execution | string> {
  if (!saved) return 'what was kept of it is damaged'
  try {
    return await runtime.restore(saved)
  } catch (error) {
    return messageOf(error)
  }
}

async function keptAside(path: string): Promise<string> {
  return setAside(path).then(
    (name) => `It is kept as ${name}.`,
    (error) => `It could not be kept under another name: ${messageOf(error)}`,
  )
}

function pathOf(data_dir: string, execution_id: string): string {
  return join(data_dir, 'executions', `${execution_id}${ending}`)
}
