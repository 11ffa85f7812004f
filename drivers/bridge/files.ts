// The files that the program of a bridge gives with the result of an operation. They are fetched piece by piece: one piece is in memory at a time, and nothing
// is read from a path that a program names, because the program may be another user's, or run on another computer.

import * as v from 'valibot'
import type { AskedOperation } from '../../src/devices/device.ts'
import { LabError } from '../../src/errors.ts'
import { checked } from '../../src/kit/schema.ts'
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

type Keeping = { asked: AskedOperation; rpc: Pick<JsonRpc, 'request'>; signal: AbortSignal }

/** Has the run keep the files of an operation, one after another. Outside of a run they are not fetched. */
export async function keepFiles(files: readonly OfferedFile[], { asked, rpc, signal }: Keeping): Promise<void> {
  const { attach, operation_id } = asked
  if (!attach) return
  for (const [index, { name, media_type, note, bytes }] of files.entries()) {
    const pieces = piecesOf(bytes, (offset) => {
      signal.throwIfAborted()
      return rpc.request('file', { operation_id, file: index, offset }, piece_s)
    })
    await attach({ name, media_type: media_type ?? 'application/octet-stream', note: note ?? null, bytes, pieces })
  }
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
