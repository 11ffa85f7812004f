// Files that come with the program.

import { readFileSync } from 'node:fs'

/** The bytes of a file that lies beside a module, read at once: for the start, not for a request. */
export function readShipped(path: URL): Uint8Array<ArrayBuffer> {
  return new Uint8Array(readFileSync(path))
}
