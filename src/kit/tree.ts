// Lists a folder with its subfolders.

import { createHash } from 'node:crypto'
import { createReadStream, type Dirent } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { openPlain } from './damage.ts'
import { errnoOf, readError } from './durable.ts'

export type Tree = {
  /** Plain files with their paths below the folder, in order. */
  files: { name: string; size: number }[]
  /** Paths of other kinds, such as links. */
  others: string[]
}

/** Lists the tree; empty for a missing folder. `isWanted` selects names; that of a folder ends with a slash. */
export async function treeOf(folder: string, isWanted: (name: string) => boolean = () => true): Promise<Tree> {
  const tree: Tree = { files: [], others: [] }
  await collect(folder, '', isWanted, tree)
  return tree
}

async function collect(folder: string, below: string, isWanted: (name: string) => boolean, tree: Tree): Promise<void> {
  for (const entry of await entriesOf(folder)) {
    const name = below + entry.name
    const path = `${folder}/${entry.name}`
    if (!isWanted(entry.isDirectory() ? `${name}/` : name)) continue
    if (entry.isDirectory()) await collect(path, `${name}/`, isWanted, tree)
    else if (!entry.isFile()) tree.others.push(name)
    else {
      const size = await sizeOf(path)
      if (size !== undefined) tree.files.push({ name, size })
      // A name that is not UTF-8 cannot be opened by its text.
      else if (name.includes('\uFFFD')) tree.others.push(name)
    }
  }
}

async function entriesOf(folder: string): Promise<Dirent[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error) => {
    if (errnoOf(error) === 'ENOENT') return []
    throw readError(folder, error, 'storage')
  })
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** Returns the size in bytes; undefined for a missing file. */
export async function sizeOf(path: string): Promise<number | undefined> {
  return stat(path).then(
    ({ size }) => size,
    () => undefined,
  )
}

/** Returns the hash; undefined for a missing or unreadable file. */
export async function sha256Of(path: string): Promise<string | undefined> {
  const hash = createHash('sha256')
  try {
    await pipeline(createReadStream(path), hash)
    return hash.digest('hex')
  } catch {
    return undefined
  }
}

/** Yields the content in pieces; opens the file at the first one. */
export async function* bytesOf(path: string): AsyncGenerator<Uint8Array> {
  yield* createReadStream(path) as AsyncIterable<Uint8Array>
}

/** Reads the whole lines in the last `bytes` bytes of a file; '' if it is unreadable. */
export async function tailOf(path: string, bytes: number): Promise<string> {
  const handle = await openPlain(path).catch(() => undefined)
  try {
    const { size } = (await handle?.stat()) ?? { size: 0 }
    const from = Math.max(0, size - bytes)
    const tail = Buffer.alloc(size - from)
    await handle?.read(tail, 0, tail.length, from)
    const text = tail.toString()
    return from === 0 ? text : text.slice(text.indexOf('\n') + 1)
  } catch {
    return ''
  } finally {
    await handle?.close()
  }
}
