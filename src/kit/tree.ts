// Lists a folder and the folders in it.

import { createHash } from 'node:crypto'
import { createReadStream, type Dirent } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { openPlain } from './damage.ts'
import { errnoOf, readError } from './durable.ts'

export type Tree = {
  /** Plain files, by their paths below the folder, in order. */
  files: { name: string; size: number }[]
  /** Paths that are neither a plain file nor a folder, for example links. */
  others: string[]
}

/** Empty where there is no such folder. `isWanted` tells of a name, with a slash at its end for a folder, whether it is looked into. */
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
      // A name that is no UTF-8 cannot be said, and so not be opened.
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

/** Unit: bytes; undefined for what is not there any more. */
export async function sizeOf(path: string): Promise<number | undefined> {
  return stat(path).then(
    ({ size }) => size,
    () => undefined,
  )
}

/** undefined where there is no such file, or none that can be read. */
export async function sha256Of(path: string): Promise<string | undefined> {
  const hash = createHash('sha256')
  try {
    await pipeline(createReadStream(path), hash)
    return hash.digest('hex')
  } catch {
    return undefined
  }
}

/** The content, a piece at a time; the file is opened when the first is asked for. */
export async function* bytesOf(path: string): AsyncGenerator<Uint8Array> {
  yield* createReadStream(path) as AsyncIterable<Uint8Array>
}

/** The whole lines at the end of a file, no more than so many bytes of them; '' if it cannot be read. */
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
