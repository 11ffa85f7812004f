// The queue of runs of a restored backup: it is paused, because its entries may have run after the backup was made.

import type { Contents } from '../kit/archive.ts'
import { damageOf } from '../kit/json_file.ts'
import { utc } from '../kit/utc.ts'

const queueFile = /^queue\.json(\.bak)?$/

/** Passes the content of a file of the state on as a restore puts it in place. `made_at`: when the backup was made, and `at`: now, Unix time, s. */
export async function* asRestored(name: string, content: Contents, moments: { made_at: number; at: number }): AsyncGenerator<Uint8Array> {
  if (!queueFile.test(name)) {
    yield* content
    return
  }
  const parts: Uint8Array[] = []
  for await (const part of content) parts.push(part)
  yield paused(Buffer.concat(parts), moments)
}

/** Returns the queue paused; as it is where it has no entries, or is damaged, which the service tells. */
function paused(bytes: Buffer, { made_at, at }: { made_at: number; at: number }): Buffer {
  if (damageOf(bytes) !== undefined) return bytes
  const { sha256: _, ...content } = JSON.parse(bytes.toString())
  if (!Array.isArray(content.entries) || content.entries.length === 0) return bytes
  const what = `a backup of ${utc(made_at)} was restored, and its entries may have run since; see which have and remove those, then`
  const message = `${what} a person with a key of scope operate resumes the queue: POST /api/queue/resume`
  return Buffer.from(JSON.stringify({ ...content, paused: { since: at, reason: 'start', by: null, message } }))
}
