// The queue of runs in a restore: it learns when its backup was made, because its entries may have run since.

import { contentOf } from '../kit/archive.ts'
import { damageOf } from '../kit/json_file.ts'
import type { TarFile } from '../kit/tar.ts'

/** The most bytes of the queue, which a restore reads into memory. The service takes a larger file for damaged. */
const longest = 64 * 1024 * 1024

export function isQueue(name: string): boolean {
  return /^queue\.json(\.bak)?$/.test(name)
}

/**
 * Passes the queue on with the member `restored_from`, for which the service pauses it. `made_at`: Unix time of the backup, s. A damaged queue stays
 * as it is, because the service reports it. Throws `storage` for a file over 64 MiB.
 */
export async function* withBackupTime(file: TarFile, content: AsyncIterable<Uint8Array>, made_at: number): AsyncGenerator<Uint8Array> {
  const bytes = await contentOf(file, content, longest)
  if (damageOf(bytes) !== undefined) return yield bytes
  const { sha256: _, ...queue } = JSON.parse(bytes.toString())
  yield Buffer.from(JSON.stringify({ ...queue, restored_from: made_at }))
}
