// Runs that outlast the service: a journal for each, and what is taken up from them at the start.

import { join } from 'node:path'
import { messageOf } from '../errors.ts'
import { namesIn } from '../kit/files.ts'
import { KeyedJournal, readKeyedJournal } from '../kit/keyed_journal.ts'
import { savedOf } from '../workflow/kept/saved.ts'
import type { Runtime } from '../workflow/runtime.ts'
import type { RunMode } from '../workflow/threads/world.ts'

const ending = '.jsonl'

/** A run without drivers is over in a moment, and can be had again: it is not kept. */
export function keptIn(data_dir: string): (execution_id: string, mode: RunMode) => KeyedJournal | undefined {
  return (execution_id, mode) => (mode === 'PURE_SIM' ? undefined : journalOf(data_dir, execution_id))
}

/** Takes up every run that was open, oldest first: each stands paused. `failed` hears of those that cannot be. */
export async function takeUp(runtime: Runtime, data_dir: string, failed: (execution_id: string, reason: string) => void): Promise<void> {
  const names = (await namesIn(join(data_dir, 'executions'))).filter((name) => name.endsWith(ending))
  for (const execution_id of names.map((name) => name.slice(0, -ending.length))) {
    const journal = journalOf(data_dir, execution_id)
    try {
      const saved = savedOf(await readKeyedJournal(join(data_dir, 'executions', `${execution_id}${ending}`)))
      if (!saved) throw new Error('what was kept of it is damaged')
      await runtime.restore(saved)
    } catch (error) {
      failed(execution_id, messageOf(error))
      await journal.remove()
    }
  }
}

function journalOf(data_dir: string, execution_id: string): KeyedJournal {
  return new KeyedJournal(join(data_dir, 'executions', `${execution_id}${ending}`))
}
