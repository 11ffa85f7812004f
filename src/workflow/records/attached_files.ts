// The files of a run: attached by a person, a program or a device, and told by rows of the run's record.

import { LabError } from '../../errors.ts'
import type { RunFiles } from '../../events/run_files.ts'
import type { RecordRow } from '../../events/run_record_file.ts'
import { rowsOfRecord } from '../../events/run_record_reader.ts'
import type { Author } from '../../kit/author.ts'
import { SerialQueue } from '../../kit/serial_queue.ts'
import { labwareIn } from '../threads/record_rows.ts'
import { addRow, type RowTarget } from './added_rows.ts'
import { recordOf } from './run_records.ts'

/** The most files of a run. */
const mostFiles = 1000

/** The members of a labware in rows. */
type LabwareMembers = ReturnType<typeof labwareIn>
/** The members of a row besides those about the content. */
export type FileNote = Author & { name: string; media_type: string; note: string | null }
/** A row of the kind `file`. */
export type FileRow = FileNote &
  Partial<LabwareMembers> & { kind: 'file'; at: number; bytes: number; sha256: string; from: 'operation' | 'person' }

type Attaching = {
  pieces: AsyncIterable<Uint8Array>
  about: FileNote
  /** The name, the barcode or the id of the labware that the file is about. */
  labware?: string | undefined
  announced: { bytes?: number | undefined; sha256?: string | undefined }
}

type Around = {
  files: RunFiles
  /** Returns where rows of this run go. */
  target(execution_id: string): RowTarget
  /** Unix time, s. */
  now(): number
}

export class AttachedFiles {
  readonly #around: Around
  readonly #queue = new SerialQueue(Number.POSITIVE_INFINITY)

  constructor(around: Around) {
    this.#around = around
  }

  /**
   * Attaches a file. Resolves with its row when both are on the disk. The same content under the same name, about the same labware, is attached once. Rejects as
   * `RunFiles.take`, with `not_found` for unknown labware, and `conflict` for a run that has no record or too many files.
   */
  async attach(execution_id: string, { pieces, about, labware, announced }: Attaching): Promise<{ row: FileRow; isNew: boolean }> {
    this.#mustHaveRecord(execution_id)
    const whose: Partial<LabwareMembers> = labware === undefined ? {} : await this.#labwareFor(execution_id, labware)
    const { files } = this.#around
    const { sha256, bytes, isNew } = await files.take(execution_id, pieces, announced)
    // Behind the attachment before, so that a request that is sent twice finds the row of the first.
    return this.#queue.run(async () => {
      const rows = await this.list(execution_id)
      const { execution, persist } = this.#around.target(execution_id)
      const waiting = (execution?.record.waiting('file') ?? []) as FileRow[]
      const isSame = (row: FileRow) => row.sha256 === sha256 && row.name === about.name && row.labware_id === whose.labware_id
      const same = [...rows, ...waiting].find(isSame)
      if (same) {
        await persist()
        return { row: same, isNew: false }
      }
      try {
        if (rows.length >= mostFiles)
          throw new LabError('conflict', `execution ${execution_id} has ${rows.length} files, which is the limit; pack several into one`)
        const at = execution?.now() ?? this.#around.now()
        const row: FileRow = { kind: 'file', at, ...about, bytes, sha256, from: 'person', ...whose }
        if (!(await this.#add(execution_id, row))) throw noRecord(execution_id)
        return { row, isNew: true }
      } catch (error) {
        if (isNew && error instanceof LabError && error.code !== 'storage') await files.remove(execution_id, sha256)
        throw error
      }
    })
  }

  /** Lists the files of a run, in the order in which they were attached. */
  async list(execution_id: string): Promise<FileRow[]> {
    const found: FileRow[] = []
    for await (const row of this.#rows(execution_id, ['file'])) found.push(row as FileRow)
    return found
  }

  /** Finds a file of a run by its hash. Rejects with `not_found`. */
  async find(execution_id: string, sha256: string): Promise<FileRow> {
    const row = (await this.list(execution_id)).find((one) => one.sha256 === sha256)
    if (row && (await this.#around.files.sizeOf(execution_id, sha256)) !== undefined) return row
    const which = `${sha256.slice(0, 64)} of execution ${execution_id}`
    const why = row ? `the content of file ${which} is gone, as after a restore of a backup without files` : `there is no file ${which}`
    throw new LabError('not_found', `${why}; /api/executions/${execution_id}/files lists its files`)
  }

  read(execution_id: string, sha256: string): AsyncGenerator<Uint8Array, undefined> {
    return this.#around.files.read(execution_id, sha256)
  }

  #add(execution_id: string, row: RecordRow): Promise<boolean> {
    return addRow(execution_id, row, this.#around.target(execution_id))
  }

  #recordOf(execution_id: string) {
    return recordOf(execution_id, this.#around.target(execution_id))
  }

  #mustHaveRecord(execution_id: string): void {
    if (!this.#recordOf(execution_id)) throw noRecord(execution_id)
  }

  async *#rows(execution_id: string, kinds: readonly string[]): AsyncGenerator<RecordRow> {
    const record = this.#recordOf(execution_id)
    if (!record) return
    for await (const { rows } of rowsOfRecord(record.path, { length: record.length, kinds })) {
      for (const row of rows) yield JSON.parse(row)
    }
  }

  /** Finds labware of a run by its id, its barcode or its name: of its threads, or of its rows if the run is no longer in memory. */
  async #labwareFor(execution_id: string, wanted: string): Promise<LabwareMembers> {
    const found = new Map<string, LabwareMembers>()
    const names = new Set<string>()
    // The operations of the run itself have no labware.
    const see = (one: LabwareMembers) => {
      if (one.labware_id === undefined || one.labware === undefined) return
      names.add(one.labware)
      if ([one.labware_id, one.barcode, one.labware].includes(wanted)) found.set(one.labware_id, one)
    }
    const { execution } = this.#around.target(execution_id)
    if (execution) for (const thread of execution.threads.values()) see(labwareIn(thread))
    else {
      for await (const row of this.#rows(execution_id, ['action', 'move'])) {
        const { labware_id, labware, barcode, group_id } = row as unknown as LabwareMembers
        see({ labware_id, labware, barcode, group_id })
      }
    }
    const [one, ...others] = found.values()
    if (one && others.length === 0) return one
    const which = [...found.values()].slice(0, 5).map(({ labware_id, group_id }) => `${labware_id} of group ${group_id}`)
    throw one
      ? new LabError(
          'invalid',
          `several labware of execution ${execution_id} have the name ${JSON.stringify(wanted)}; name one by its id: ${which.join(', ')}`,
        )
      : new LabError(
          'not_found',
          `execution ${execution_id} has no labware ${JSON.stringify(wanted)}; it has ${[...names].slice(0, 20).join(', ') || 'none'}`,
        )
  }
}

function noRecord(execution_id: string): LabError {
  return new LabError('conflict', `execution ${execution_id} has no record, so nothing can be attached; PURE_SIM executions keep none`)
}
