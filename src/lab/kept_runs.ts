// Runs that outlast the service: a journal for each, and what is taken up from them at the start.

import { join } from 'node:path'
import { messageOf } from '../errors.ts'
import { namesIn } from '../kit/files.ts'
import { KeyedJournal, readKeyedJournal } from '../kit/keyed_journal.ts'
import { savedOf, threadsOnBench } from '../workflow/kept/saved.ts'
import type { Shelf } from '../workflow/shelf.ts'
import type { RunMode } from '../workflow/threads/world.ts'

const ending = '.jsonl'

/** A run without drivers is over in a moment, and can be had again: it is not kept. */
export function keptIn(data_dir: string): (execution_id: string, mode: RunMode) => KeyedJournal | undefined {
  return (execution_id, mode) => (mode === 'PURE_SIM' ? undefined : journalOf(data_dir, execution_id))
}

/**
 * Takes up every run that was open: each stands paused. `failed` hears of those that cannot be; their labware stands where it
 * stood, and `lost` is what somebody has to look for.
 * Rejects with `config` for one that a newer version has kept: it is left alone.
 */
export async function takeUp(
  shelf: Pick<Shelf, 'runtime' | 'keepPlaced'>,
  data_dir: string,
  failed: (execution_id: string, reason: string, lost: readonly string[]) => void,
): Promise<void> {
  const names = (await namesIn(join(data_dir, 'executions'))).filter((name) => name.endsWith(ending))
  for (const execution_id of names.map((name) => name.slice(0, -ending.length))) {
    const journal = journalOf(data_dir, execution_id)
    // The service ended before its journal was gone.
    if (shelf.runtime.records.execution(execution_id)?.ended_at) {
      await journal.remove()
      continue
    }
    const keys = await readKeyedJournal(join(data_dir, 'executions', `${execution_id}${ending}`))
    try {
      const saved = savedOf(keys)
      if (!saved) throw new Error('what was kept of it is damaged')
      await shelf.runtime.restore(saved)
    } catch (error) {
      const lost = shelf.runtime.leaveBehind(threadsOnBench(keys))
      // Its journal is the only one that knows where its labware is.
      await shelf.keepPlaced()
      failed(execution_id, messageOf(error), lost)
      await journal.remove()
    }
  }
}

function journalOf(data_dir: string, execution_id: string): KeyedJournal {
  return new KeyedJournal(join(data_dir, 'executions', `${execution_id}${ending}`))
}
