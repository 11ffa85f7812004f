// The line of a transaction in the file of states, composed in a buffer that is reused: a string of the whole line, and the buffer
// made of it, would cost more than the texts of the values.

import { crc32 } from 'node:zlib'
import { checksumHead } from '../kit/checksum.ts'

/** The changed values of a run, as JSON; null for a removed key. */
export type Patch = Map<string, string | null>

/** A run with its changes; a patch of null ends the run. `n` counts its patches. */
type PatchedRun = { id: string; n: number; patch: Patch | null }

/** The characters that are composed at once, of the line of a copy or of a transaction. */
export const sliceLength = 262_144
const usualLength = 65_536
/** A buffer that became longer than this is not reused. */
const mostKept = 1024 * 1024
/** The most bytes of a character. */
const widest = 3
const newline = 0x0a
const headLength = checksumHead(0).length

export class StateLine {
  #buffer = Buffer.allocUnsafeSlow(usualLength)
  #end = 0
  /** The checksum of the bytes up to `#summed`. */
  #crc = 0
  #summed = 0

  /** Composes the line in slices that do not block the event loop. Its bytes are valid until the next call. */
  async of(numbers: string, runs: readonly PatchedRun[]): Promise<Buffer> {
    if (this.#buffer.length > mostKept) this.#buffer = Buffer.allocUnsafeSlow(usualLength)
    this.#end = this.#summed = headLength
    this.#crc = 0
    for (const part of partsOf(numbers, runs)) {
      this.#add(part)
      if (this.#end - this.#summed < sliceLength) continue
      this.#sum()
      await new Promise(setImmediate)
    }
    this.#sum()
    this.#buffer.write(checksumHead(this.#crc), 'latin1')
    this.#buffer[this.#end++] = newline
    return this.#buffer.subarray(0, this.#end)
  }

  #sum(): void {
    this.#crc = crc32(this.#buffer.subarray(this.#summed, this.#end), this.#crc)
    this.#summed = this.#end
  }

  #add(part: string): void {
    // The end of the line takes one byte more.
    const needed = this.#end + part.length * widest + 1
    if (needed > this.#buffer.length) {
      const larger = Buffer.allocUnsafeSlow(needed * 2)
      larger.set(this.#buffer.subarray(0, this.#end))
      this.#buffer = larger
    }
    this.#end += this.#buffer.write(part, this.#end)
  }
}

/** Yields the parts of the line after its checksum. */
function* partsOf(numbers: string, runs: readonly PatchedRun[]): Generator<string> {
  yield `${numbers},"runs":{`
  for (const [i, { id, n, patch }] of runs.entries()) {
    yield `${i === 0 ? '' : ','}${JSON.stringify(id)}:{"n":${n},"patch":${patch === null ? 'null' : '{'}`
    let comma = ''
    for (const [key, text] of patch ?? []) {
      yield `${comma}${JSON.stringify(key)}:`
      yield `${text}`
      comma = ','
    }
    yield patch === null ? '}' : '}}'
  }
  yield '}}'
}

function runText(id: string, n: number, values: ReadonlyMap<string, string>): string {
  return `${JSON.stringify(id)}:{"n":${n},"patch":{${[...values].map(([key, text]) => `${JSON.stringify(key)}:${text}`).join(',')}}}`
}

/** Returns the text of a run in a copy of all values. */
export function copyText(id: string, values: ReadonlyMap<string, string>, damage: string | undefined): string {
  const text = runText(id, 1, values)
  return damage === undefined ? text : `${text.slice(0, -1)},"damage":${JSON.stringify(damage)}}`
}

/** Splits the values of all runs into slices that do not block the event loop. */
export function slicesOf(
  sources: ReadonlyMap<string, { readonly standing: ReadonlyMap<string, string> }>,
): Map<string, Map<string, string>>[] {
  let slice = new Map<string, Map<string, string>>()
  const slices = [slice]
  let length = 0
  for (const [id, { standing }] of sources) {
    slice.set(id, new Map())
    for (const [key, text] of standing) {
      if (length > sliceLength) {
        slice = new Map([[id, new Map()]])
        slices.push(slice)
        length = 0
      }
      slice.get(id)!.set(key, text)
      length += key.length + text.length
    }
  }
  return slices
}
