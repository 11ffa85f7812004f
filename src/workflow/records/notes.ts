// The notes that people add to the record of a run, while it is open and after it has ended.

import { LabError } from '../../errors.ts'
import { addToEnded } from '../../events/ended_record.ts'
import { rowsOfRecord } from '../../events/run_record_reader.ts'
import { SerialQueue } from '../../kit/serial_queue.ts'
import type { Execution } from '../runs/execution.ts'

export type RunNote = { by: string | null; text: string; tags: readonly string[] }

/** `path` is that of the record. `execution` is the run, if it is still in memory. */
type Recorded = { execution_id: string; path: string; execution: Execution | undefined }

type NotesOptions = {
  /** Unix time, s. */
  now(): number
  /** Resolves when the state of a run that has ended is gone, so that nothing else writes to its record. */
  released(execution: Execution): Promise<void>
}

const mostNotes = 1000
const mostWaiting = 20

export class Notes {
  readonly #options: NotesOptions
  readonly #queue = new SerialQueue(mostWaiting)

  constructor(options: NotesOptions) {
    this.#options = options
  }

  /** Adds a note. Resolves when it is on the disk. Rejects with `conflict` above the limit, `overloaded`, and `storage`. */
  add({ execution_id, path, execution }: Recorded, note: RunNote): Promise<void> {
    const row = { kind: 'note', at: this.#options.now(), ...note }
    return this.#queue.run(async () => {
      await mustHaveRoom(execution_id, path)
      if (execution && !execution.isOver) {
        execution.record.add(row)
        await execution.state.persisted()
        return
      }
      if (execution) await this.#options.released(execution)
      await addToEnded(path, row)
    })
  }
}

async function mustHaveRoom(execution_id: string, path: string): Promise<void> {
  let count = 0
  for await (const { rows } of rowsOfRecord(path, { kinds: ['note'] })) count += rows.length
  if (count >= mostNotes)
    throw new LabError('conflict', `execution ${execution_id} has ${count} notes, which is the limit; keep further notes elsewhere`)
}
