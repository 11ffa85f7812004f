// A transaction over the files of a folder: after a kill or a power cut, either all of them are changed or none. The earlier files
// are kept in a folder.

import { copyFile, link, open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import * as v from 'valibot'
import { LabError, messageOf } from '../errors.ts'
import { readPlain, setAside } from './damage.ts'
import { stat } from './disk.ts'
import { errnoOf, makeFolder, storageError, syncFolder, writeSynced } from './durable.ts'

/** The name of the working folder, inside the folder itself, so that all is on one file system. */
const swapName = 'swap'

const List = v.strictObject({
  format: v.literal(1),
  /** The files to put in place from the swap's `new`. */
  put: v.array(v.string()),
  /** The files to remove. */
  take: v.array(v.string()),
  /** The name of the folder for the earlier files. */
  before: v.string(),
})
type List = v.InferOutput<typeof List>

/** Use it under the lock of the folder, one at a time. All methods reject with `storage`. */
export class FileTransaction {
  readonly #folder: string
  readonly #put: string[] = []
  #isDecided = false

  /** Begins a transaction, after it has completed or discarded an interrupted one. */
  static async begin(folder: string): Promise<FileTransaction> {
    await finishTransaction(folder)
    try {
      await makeFolder(`${folder}/${swapName}/new`)
    } catch (error) {
      throw storageError(`${folder}/${swapName} was not made`, error)
    }
    return new FileTransaction(folder)
  }

  private constructor(folder: string) {
    this.#folder = folder
  }

  /** Adds a file with this content. `name` is a path below the folder for which `isPlainName` is true. */
  async put(name: string, content: AsyncIterable<Uint8Array>): Promise<void> {
    mustBePlain(name)
    const path = `${this.#new}/${name}`
    try {
      await makeFolder(dirname(path))
      const handle = await open(path, 'wx', 0o600)
      try {
        for await (const bytes of content) await handle.writeFile(bytes)
        await handle.sync()
      } finally {
        await handle.close()
      }
      await syncFolder(dirname(path))
    } catch (error) {
      throw error instanceof LabError ? error : storageError(`${name} was not written, and nothing has changed`, error)
    }
    this.#put.push(name)
  }

  /** Commits: after its list is written, the change is made in any case. `before` names the folder for the earlier files. */
  async commit({ take, before }: { take: readonly string[]; before: string }): Promise<void> {
    for (const name of [...take, before]) mustBePlain(name)
    const list: List = { format: 1, put: this.#put, take: [...take], before }
    try {
      await this.#mustBeOneFileSystem([...this.#put, ...take])
      for (const name of [...this.#put, ...take]) await this.#keep(name)
      await writeSynced(`${this.#transaction}/list.tmp`, JSON.stringify(list))
      this.#isDecided = true
      await rename(`${this.#transaction}/list.tmp`, `${this.#transaction}/list.json`)
      await syncFolder(this.#transaction)
    } catch (error) {
      throw error instanceof LabError ? error : storageError(`${this.#folder} was not changed`, error)
    }
    await finishTransaction(this.#folder)
  }

  /** Abandons the transaction. After its list may have been written, `finishTransaction` decides. */
  async abandon(): Promise<void> {
    if (!this.#isDecided) await rm(this.#transaction, { recursive: true, force: true }).catch(() => undefined)
  }

  get #transaction(): string {
    return `${this.#folder}/${swapName}`
  }

  get #new(): string {
    return `${this.#transaction}/new`
  }

  /** Throws unless all files are on one file system, because renames could fail after the commit otherwise. */
  async #mustBeOneFileSystem(names: readonly string[]): Promise<void> {
    const { dev } = await stat(this.#transaction)
    for (const folder of new Set(names.map((name) => dirname(join(this.#folder, name))))) {
      const there = await stat(folder).catch(() => undefined)
      if (there && there.dev !== dev)
        throw new LabError('conflict', `${folder} is on another disk than ${this.#folder}, so they cannot be changed together`)
    }
  }

  async #keep(name: string): Promise<void> {
    const [from, to] = [`${this.#folder}/${name}`, `${this.#transaction}/before/${name}`]
    if (!(await isThere(from))) return
    await makeFolder(dirname(to))
    await link(from, to).catch(async (error) => {
      // The file system has no links, as on a USB stick.
      if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK'].includes(errnoOf(error))) throw error
      await copyFile(from, to)
      await syncFile(to)
    })
    await syncFolder(dirname(to))
  }
}

/**
 * Completes an interrupted transaction if it was committed, else discards it. Returns the folder with the earlier
 * files, if there was a change. Rejects with `storage`, and with `config` if the list itself is damaged.
 */
export async function finishTransaction(folder: string): Promise<string | undefined> {
  const transaction = `${folder}/${swapName}`
  // A file in the place of the folder is not a transaction.
  if (!(await isFolder(transaction))) return undefined
  try {
    const list = await listOf(transaction)
    if (list) await carryOut(folder, transaction, list)
    await rm(transaction, { recursive: true, force: true })
    await syncFolder(folder)
    return list?.before
  } catch (error) {
    throw error instanceof LabError ? error : storageError(`a change of ${folder} that was interrupted could not be ended`, error)
  }
}

/**
 * Renames a transaction that cannot be completed, and returns the new name. It is not tried again, since some files may be changed and
 * others not.
 */
export async function giveUpTransaction(folder: string): Promise<string | undefined> {
  return setAside(`${folder}/${swapName}`)
}

/** Makes the change. Each step can be repeated. */
async function carryOut(folder: string, transaction: string, { put, take, before }: List): Promise<void> {
  for (const name of put) {
    await makeFolder(dirname(`${folder}/${name}`))
    await rename(`${transaction}/new/${name}`, `${folder}/${name}`).catch((error) => mustBeDone(error, `${folder}/${name}`))
  }
  for (const name of take) await rm(`${folder}/${name}`, { force: true })
  for (const changed of new Set([...put, ...take].map((name) => dirname(`${folder}/${name}`)))) await syncFolder(changed)
  if (await isThere(`${transaction}/before`)) await rename(`${transaction}/before`, `${folder}/${before}`)
  await syncFolder(folder)
  await rm(`${transaction}/list.json`, { force: true })
  await syncFolder(transaction)
}

async function mustBeDone(error: unknown, path: string): Promise<void> {
  if (errnoOf(error) !== 'ENOENT' || !(await isThere(path))) throw error
}

async function listOf(transaction: string): Promise<List | undefined> {
  try {
    const bytes = await readPlain(`${transaction}/list.json`)
    if (bytes === undefined) return undefined
    const list = v.parse(List, JSON.parse(bytes.toString()))
    for (const name of [...list.put, ...list.take, list.before]) mustBePlain(name)
    return list
  } catch (error) {
    if (error instanceof Error && 'syscall' in error) throw error
    throw new LabError(
      'config',
      `${transaction}/list.json, by which files are being put in place, is damaged (${messageOf(error)}): start the service, which keeps it under another name, then put a backup back`,
    )
  }
}

/** Whether a name stays below its folder, and is readable. */
export function isPlainName(name: string): boolean {
  const segments = name.split('/')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what is looked for
  return name.length <= 500 && !/[\u0000-\u001f\u007f\\]/.test(name) && segments.every((one) => one !== '' && one !== '.' && one !== '..')
}

function mustBePlain(name: string): void {
  if (!isPlainName(name)) throw new LabError('storage', `${JSON.stringify(name)} is no name of a file in the folder`)
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (stats) => stats.isDirectory(),
    (error) => {
      if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes(errnoOf(error))) return false
      throw error
    },
  )
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error) => {
      if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR') return false
      throw error
    },
  )
}

async function syncFile(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
