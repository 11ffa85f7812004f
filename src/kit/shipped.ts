// Files that come with the program.

import { readFile } from 'node:fs/promises'

/** The bytes of a file that lies beside a module. */
export async function readShipped(path: URL): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await readFile(path))
}
