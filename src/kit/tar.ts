// Reads and writes tar archives (ustar of POSIX.1-1988) of plain files. All other entries, such as links and
// devices, are refused, not skipped.

import { LabError } from '../errors.ts'

export type TarFile = { name: string; size: number; mtime_s: number }

const blockBytes = 512
const longestName = 100
const longestPrefix = 155
/** The largest size in eleven octal digits. */
const largest = 8 ** 11 - 1
/** The most zeros after the end; tar fills its last record up to 10,240 bytes. */
const mostZeros = 64 * 1024

/** Whether an archive can hold a file of that name and size. */
export function fitsTar({ name, size }: Omit<TarFile, 'mtime_s'>): boolean {
  return size <= largest && split(name) !== undefined
}

/** Returns the header of a file. Throws `invalid` for a name or a size that does not fit. */
export function tarHead({ name, size, mtime_s }: TarFile): Buffer {
  if (size > largest) throw new LabError('invalid', `${name} is too large for an archive`)
  const parts = split(name)
  if (!parts) throw new LabError('invalid', `the name ${name} is too long for an archive; give the file a shorter one`)
  const [prefix, rest] = parts
  const head = Buffer.alloc(blockBytes)
  head.write(rest, 0)
  writeOctal(head, 100, 8, 0o600)
  writeOctal(head, 108, 8, 0)
  writeOctal(head, 116, 8, 0)
  writeOctal(head, 124, 12, size)
  writeOctal(head, 136, 12, Math.max(0, Math.floor(mtime_s)))
  head.write('0', 156)
  head.write('ustar\0', 257)
  head.write('00', 263)
  head.write(prefix, 345)
  head.write(`${sumOf(head).toString(8).padStart(6, '0')}\0 `, 148)
  return head
}

/** Returns the padding that follows the content of a file of that size. */
export function tarFill(size: number): Buffer {
  return Buffer.alloc((blockBytes - (size % blockBytes)) % blockBytes)
}

export const tarEnd: Buffer = Buffer.alloc(2 * blockBytes)

/** Calls `onFile` with every file and its content, which has to be read before the next. Throws `storage` for anything but a complete archive of plain files. */
export async function readTar(
  bytes: AsyncIterable<Uint8Array>,
  onFile: (file: TarFile, content: AsyncIterable<Buffer>) => Promise<void>,
): Promise<void> {
  const source = new Source(bytes)
  for (let head = await source.block(); !isZero(head); head = await source.block()) {
    const file = fileOf(head)
    await onFile(file, source.content(file.size))
    if (tarFill(file.size).length > 0) await source.take(tarFill(file.size).length)
  }
  await source.mustEnd()
}

class Source {
  readonly #chunks: AsyncIterator<Uint8Array>
  #rest: Buffer = Buffer.alloc(0)

  constructor(bytes: AsyncIterable<Uint8Array>) {
    this.#chunks = bytes[Symbol.asyncIterator]()
  }

  block(): Promise<Buffer> {
    return this.take(blockBytes)
  }

  async take(length: number): Promise<Buffer> {
    const parts: Buffer[] = []
    for await (const part of this.content(length)) parts.push(part)
    return Buffer.concat(parts)
  }

  /** Yields `length` bytes, in pieces as they come. */
  async *content(length: number): AsyncGenerator<Buffer> {
    for (let missing = length; missing > 0; ) {
      if (this.#rest.length === 0 && !(await this.#more())) throw damaged('it ends in the middle of a file')
      const part = this.#rest.subarray(0, missing)
      this.#rest = this.#rest.subarray(part.length)
      missing -= part.length
      yield part
    }
  }

  /** Reads to the last byte, so that the gzip checksum is verified too. */
  async mustEnd(): Promise<void> {
    let zeros = 0
    do {
      if (!isZero(this.#rest)) throw damaged('something stands behind its end')
      zeros += this.#rest.length
      if (zeros > mostZeros) throw damaged('too much stands behind its end')
    } while (await this.#more())
  }

  async #more(): Promise<boolean> {
    const { value, done } = await this.#chunks.next()
    this.#rest = done ? Buffer.alloc(0) : Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    return !done
  }
}

function fileOf(head: Buffer): TarFile {
  if (octal(head, 148, 8) !== sumOf(head)) throw damaged('the checksum of a file in it is wrong')
  if (text(head, 257, 6) !== 'ustar') throw damaged('it is not of the kind that benchd writes')
  const prefix = text(head, 345, longestPrefix)
  const name = (prefix && `${prefix}/`) + text(head, 0, longestName)
  const type = String.fromCharCode(head[156] ?? 0)
  if (type !== '0' && type !== '\0') throw damaged(`${JSON.stringify(name)} in it is no plain file`)
  return { name, size: octal(head, 124, 12), mtime_s: octal(head, 136, 12) }
}

/** Sums the bytes of the header, with spaces in place of the sum. */
function sumOf(head: Buffer): number {
  return head.reduce((sum, byte, i) => sum + (i >= 148 && i < 156 ? 0x20 : byte), 0)
}

/** Splits a name; undefined if it is too long. */
function split(name: string): [prefix: string, rest: string] | undefined {
  if (Buffer.byteLength(name) <= longestName) return ['', name]
  for (let at = name.indexOf('/'); at > 0; at = name.indexOf('/', at + 1)) {
    const [prefix, rest] = [name.slice(0, at), name.slice(at + 1)]
    if (Buffer.byteLength(prefix) <= longestPrefix && Buffer.byteLength(rest) <= longestName) return [prefix, rest]
  }
  return undefined
}

function writeOctal(head: Buffer, at: number, length: number, value: number): void {
  head.write(`${value.toString(8).padStart(length - 1, '0')}\0`, at)
}

function octal(head: Buffer, at: number, length: number): number {
  const digits = text(head, at, length).trim()
  if (!/^[0-7]+$/.test(digits)) throw damaged('a number in it cannot be read')
  return Number.parseInt(digits, 8)
}

function text(head: Buffer, at: number, length: number): string {
  const end = head.indexOf(0, at)
  return head.toString('utf8', at, end >= at && end < at + length ? end : at + length)
}

function isZero(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0)
}

function damaged(why: string): LabError {
  return new LabError('storage', `the archive is damaged, or no archive of benchd: ${why}; take another one`)
}
