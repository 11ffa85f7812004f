// The files that the program of a bridge gives with the result of an operation. They are fetched piece by piece: one piece is in memory at a time, and nothing
// is read from a path that a program names, because the program may be another user's, or run on another computer.

import * as v from 'valibot'
import type { AskedOperation } from '../../src/devices/device.ts'
import { LabError } from '../../src/errors.ts'
import { patient } from '../../src/kit/patient.ts'
import { checked } from '../../src/kit/schema.ts'
import { unlessAborted } from '../operation_runner.ts'
import type { BridgeLine } from '../transports/line.ts'
import type { JsonRpc } from './json_rpc.ts'

/** The most files of an operation, and the most bytes of one. */
const mostFiles = 16
const longest = 64 * 1024 * 1024

export const OfferedFile = v.object({
  name: v.pipe(v.string(), v.minLength(1), v.maxLength(1000)),
  media_type: v.optional(
    v.nullable(v.pipe(v.string(), v.regex(/^[\w.+-]{1,80}\/[\w.+-]{1,80}$/, 'it must be a media type such as text/csv'))),
  ),
  note: v.optional(v.nullable(v.pipe(v.string(), v.maxLength(1000)))),
  bytes: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(longest)),
})
export type OfferedFile = v.InferOutput<typeof OfferedFile>
export const OfferedFiles = v.optional(v.nullable(v.pipe(v.array(OfferedFile), v.maxLength(mostFiles))))

const Piece = v.object({ base64: v.pipe(v.string(), v.minLength(1)) })

/** The time for the answer with a piece, which the program may have to read from a slow disk. */
const piece_s = 30

/** The time for all files of an operation, in which the next operation waits. */
const all_s = 120
/** The questions for pieces that may be unanswered, for a program that never answers them. */
const mostUnanswered = 16

type Around = { line: Pick<BridgeLine, 'clock' | 'onClosed'>; rpc: Pick<JsonRpc, 'request'> }

/** Fetches the files of an operation after its end. Whatever comes of them concerns neither the operation nor the line. */
export class OperationFiles {
  readonly #rpc: Around['rpc']
  readonly #clock: Around['line']['clock']
  #over = new AbortController()
  #unanswered = 0
  /** Resolves when the files of the last operation are fetched, or given up; undefined if none are being fetched. */
  fetching: Promise<void> | undefined

  constructor({ line, rpc }: Around) {
    this.#rpc = rpc
    this.#clock = line.clock
    line.onClosed(() => this.#over.abort(new LabError('stopping', 'the connection is being closed')))
  }

  /** Has the run keep the files of an operation, one after another. Outside of a run they are not fetched. */
  fetch(files: readonly OfferedFile[], asked: AskedOperation): void {
    if (!asked.attach || files.length === 0) return
    this.#over = new AbortController()
    const { signal } = this.#over
    const late = new LabError('no_reply', `the files of ${asked.operation} were not fetched within ${all_s} s`)
    const cancel = this.#clock.after(all_s * 1000, () => this.#over.abort(late))
    this.fetching = unlessAborted(this.#keep(files, asked, signal), signal)
      .catch(() => undefined)
      .finally(() => {
        cancel()
        this.fetching = undefined
      })
  }

  async #keep(files: readonly OfferedFile[], { attach, operation_id }: AskedOperation, signal: AbortSignal): Promise<void> {
    let isOver = false
    for (const [index, { name, media_type, note, bytes }] of files.entries()) {
      const ask = async (offset: number) => {
        try {
          return await this.#piece({ operation_id, file: index, offset }, signal)
        } catch (error) {
          isOver = signal.aborted || (error instanceof LabError && error.code === 'disconnected')
          throw isOver ? withOthers(error as LabError, files.length - index - 1) : error
        }
      }
      await attach!({ name, media_type: media_type ?? 'application/octet-stream', note: note ?? null, bytes, pieces: piecesOf(bytes, ask) })
      if (isOver) return
    }
  }

  /** Asks for a piece. A late answer is not the end of the line, as it would be with a deadline of the question. */
  async #piece(params: object, signal: AbortSignal): Promise<unknown> {
    signal.throwIfAborted()
    if (this.#unanswered >= mostUnanswered)
      throw new LabError('no_reply', `its program has left ${mostUnanswered} questions for files unanswered; start it again`)
    this.#unanswered++
    const answer = this.#rpc.request('file', params).finally(() => {
      this.#unanswered--
    })
    return unlessAborted(this.#inTime(answer), signal)
  }

  #inTime(answer: Promise<unknown>): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const late = () => reject(new LabError('no_reply', `its program has not answered file within ${piece_s} s`))
      const cancel = patient(this.#clock).after(piece_s * 1000, late)
      answer.then(resolve, reject).finally(cancel)
    })
  }
}

/** Says in the error of a file that the files after it are not fetched either. */
function withOthers({ code, message }: LabError, others: number): LabError {
  return new LabError(code, others === 0 ? message : `${message}; nor are the ${others} files after it`)
}

async function* piecesOf(bytes: number, ask: (offset: number) => Promise<unknown>): AsyncGenerator<Uint8Array> {
  for (let offset = 0; offset < bytes; ) {
    const { base64 } = checked(Piece, await ask(offset), 'its answer to file', 'device_failed')
    const piece = Buffer.from(base64, 'base64')
    offset += piece.length
    if (piece.length === 0 || offset > bytes)
      throw new LabError('device_failed', `the file is not ${bytes} bytes long, as its program said`)
    yield piece
  }
}
