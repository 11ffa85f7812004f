// A file of lines to which a program appends over many starts. Its lines are read at the beginning, and a torn last line is cut off.

import { type FileHandle, open } from 'node:fs/promises'
import { storageError } from './durable.ts'

const newline = 0x0a
const blockBytes = 262_144

export class LineOutput {
  readonly #path: string
  readonly #file: FileHandle

  /** Opens the file and calls `isLine` with each line. Cuts off the text after the last line for which it returns true. Rejects with `storage`. */
  static async open(path: string, isLine: (line: string) => boolean): Promise<LineOutput> {
    try {
      const file = await open(path, 'a+', 0o600)
      await file.truncate(await endOf(file, isLine))
      return new LineOutput(path, file)
    } catch (error) {
      throw storageError(`${path} cannot be written`, error)
    }
  }

  private constructor(path: string, file: FileHandle) {
    this.#path = path
    this.#file = file
  }

  /** Adds lines at the end. Rejects with `storage`. */
  async append(lines: readonly string[]): Promise<void> {
    try {
      await this.#file.appendFile(lines.map((line) => `${line}\n`).join(''))
    } catch (error) {
      throw storageError(`${this.#path} cannot be written`, error)
    }
  }

  async close(): Promise<void> {
    await this.#file.datasync().catch(() => undefined)
    await this.#file.close()
  }
}

/** Returns the end of the last whole line. */
async function endOf(file: FileHandle, isLine: (line: string) => boolean): Promise<number> {
  let held: Buffer = Buffer.alloc(0)
  let end = 0
  for (let at = 0; ; ) {
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(blockBytes), 0, blockBytes, at)
    if (bytesRead === 0) return end
    held = Buffer.concat([held, buffer.subarray(0, bytesRead)])
    const began = at + bytesRead - held.length
    let start = 0
    for (let found = held.indexOf(newline); found !== -1; found = held.indexOf(newline, start)) {
      if (isLine(held.toString('utf8', start, found))) end = began + found + 1
      start = found + 1
    }
    held = held.subarray(start)
    at += bytesRead
  }
}
