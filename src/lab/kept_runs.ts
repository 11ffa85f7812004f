// Runs that outlast the service: a journal for each, and what is taken up from them at the start.

import { join } from 'node:path'
import { messageOf } from '../errors.ts'
import { namesIn } from '../kit/files.ts'
import { KeyedJournal, readKeyedJournal } from '../kit/keyed_journal.ts'
import { type Saved, savedOf, threadsOnBench } from '../workflow/kept/saved.ts'
import { catchUp } from '../workflow/kept/tracking_sink.ts'
import type { Shelf } from '../workflow/shelf.ts'
import type { RunMode } from '../workflow/threads/world.ts'

const ending = '.jsonl'

/** A run without drivers is over in a moment, and can be had again: it is not kept. */
export function keptIn(data_dir: string): (execution_id: string, mode: RunMode) => KeyedJournal | undefined {
  return (execution_id, mode) => (mode === 'PURE_SIM' ? undefined : journalOf(data_dir, execution_id))
}

type Bench = Pick<Shelf, 'runtime' | 'keepPlaced' | 'loadFor'>

type Tell = {
  /** One cannot be taken up. */
  failed(execution_id: string, reason: string): void
  /** Somebody has to look for this. */
  lost(execution_id: string, what: string): void
}

/**
 * Takes up every run that was open: each stands paused. Of those that cannot be the labware stands where it stood. Rejects with
 * `config` for one that a newer version has kept: it is left alone.
 */
export async function takeUp(shelf: Bench, data_dir: string, tell: Tell): Promise<void> {
  const names = (await namesIn(join(data_dir, 'executions'))).filter((name) => name.endsWith(ending))
  for (const execution_id of names.map((name) => name.slice(0, -ending.length))) {
    const keys = await readKeyedJournal(join(data_dir, 'executions', `${execution_id}${ending}`))
    const saved = savedOf(keys)
    if (saved) shelf.loadFor(saved.execution)
    if (await hasEnded(shelf, execution_id)) await catchUpWith(shelf, execution_id)
    else {
      const reason = await whyNotRestored(shelf, saved)
      if (reason === null) continue
      tell.failed(execution_id, reason)
    }
    for (const what of shelf.runtime.leaveBehind(threadsOnBench(keys))) tell.lost(execution_id, what)
    // Its journal is the only one that knows where its labware is.
    await shelf.keepPlaced()
    await journalOf(data_dir, execution_id).remove()
  }
}

/** The service may have ended before the journal was gone. What has no end in the log has none, whatever its record says. */
async function hasEnded({ runtime }: Bench, execution_id: string): Promise<boolean> {
  for await (const { entity_type } of runtime.events({ execution_id })) if (entity_type === 'EXECUTION') return true
  return false
}

/** Records of a backup are behind the log. */
async function catchUpWith({ runtime }: Bench, execution_id: string): Promise<void> {
  for await (const event of runtime.events({ execution_id })) catchUp(runtime.records, event)
}

/** Takes it up, and answers null; or why it cannot be. */
async function whyNotRestored({ runtime }: Bench, saved: Saved | undefined): Promise<string | null> {
  if (!saved) return 'what was kept of it is damaged'
  try {
    await runtime.restore(saved)
    return null
  } catch (error) {
    return messageOf(error)
  }
}

function journalOf(data_dir: string, execution_id: string): KeyedJournal {
  return new KeyedJournal(join(data_dir, 'executions', `${execution_id}${ending}`))
}
