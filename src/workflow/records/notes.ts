// The notes that people add to the record of a run, while it is open and after it has ended.

import { LabError } from '../../errors.ts'
import type { RecordRow } from '../../events/run_record_file.ts'
import { rowsOfRecord } from '../../events/run_record_reader.ts'
import type { Author } from '../../kit/author.ts'
import { SerialQueue } from '../../kit/serial_queue.ts'
import { addRow, type RowTarget } from './added_rows.ts'

export type RunNote = Author & { text: string; tags: readonly string[] }

type NotesOptions = {
  /** Unix time, s. */
  now(): number
  /** Returns where rows of this run go. */
  target(execution_id: string): RowTarget
}

const mostNotes = 1000
const mostWaiting = 20

export class Notes {
  readonly #options: NotesOptions
  readonly #queue = new SerialQueue(mostWaiting)

  constructor(options: NotesOptions) {
    this.#options = options
  }

  /** Adds a note to the record at this path. Resolves when it is on the disk. Rejects with `conflict` above the limit, `overloaded`, and `storage`. */
  add({ execution_id, path }: { execution_id: string; path: string }, note: RunNote): Promise<void> {
    const row = { kind: 'note', at: this.#options.now(), ...note }
    return this.#queue.run(async () => {
      await mustHaveRoom(execution_id, path)
      const isSame = ({ text, by, operator }: RecordRow) => text === note.text && by === note.by && operator === note.operator
      if (await addRow(execution_id, row, this.#options.target(execution_id), isSame)) return
      throw new LabError(
        'conflict',
        `the record of execution ${execution_id} is gone, so the note was not added; the execution was deleted`,
      )
    })
  }
}

async function mustHaveRoom(execution_id: string, path: string): Promise<void> {
  let count = 0
  for await (const { rows } of rowsOfRecord(path, { kinds: ['note'] })) count += rows.length
  if (count >= mostNotes)
    throw new LabError('conflict', `execution ${execution_id} has ${count} notes, which is the limit; keep further notes elsewhere`)
}
