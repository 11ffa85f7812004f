// The codes that a scanner sends as lines, and the texts with escapes of the settings.

import { barcodeText } from '../../src/kit/name.ts'

/** The most bytes of a code; a scanner that sends more without a suffix has other settings. */
export const longest = 4096

const named: Record<string, string> = { r: '\r', n: '\n', t: '\t', '\\': '\\' }
const escapes = /\\(x[0-9a-fA-F]{2}|[rnt\\])/g

/** Whether each backslash of a text begins an escape: `\r`, `\n`, `\t`, `\xNN` or `\\`. */
export function isEscaped(text: string): boolean {
  return !text.replace(escapes, '').includes('\\')
}

/** Returns the bytes of a text with escapes. */
export function bytesOf(text: string): Buffer {
  const plain = text.replace(escapes, (_, code: string) =>
    code.startsWith('x') ? String.fromCharCode(Number.parseInt(code.slice(1), 16)) : named[code]!,
  )
  return Buffer.from(plain, 'latin1')
}

/** A line is a code, or no text: bytes of another speed or framing. */
export type Scanned = { code: string } | { isStrange: true }

/** Stands inside of GS1 codes. */
const groupSeparator = '\x1d'

/** Reads a line of the scanner; undefined for an empty one. */
export function readLine(line: Buffer): Scanned | undefined {
  const text = line.toString('utf8')
  const code = barcodeText(text)
  if (/[\uFFFD\p{Cc}]/u.test(code.replaceAll(groupSeparator, ''))) return { isStrange: true }
  return code === '' ? undefined : { code }
}

/** Cuts bytes into lines. An empty suffix stands for CR, LF or both. */
export class LineCutter {
  readonly #suffix: Buffer
  #bytes = Buffer.alloc(0)

  constructor(suffix: Buffer) {
    this.#suffix = suffix
  }

  /** The number of bytes that no suffix has ended yet. */
  get unended(): number {
    return this.#bytes.length
  }

  /** Takes bytes, and returns the lines that they end, without their suffix. */
  take(bytes: Uint8Array): Buffer[] {
    this.#bytes = Buffer.concat([this.#bytes, bytes])
    const lines: Buffer[] = []
    for (let end = this.#end(); end.at >= 0; end = this.#end()) {
      lines.push(this.#bytes.subarray(0, end.at))
      this.#bytes = this.#bytes.subarray(end.at + end.length)
    }
    return lines
  }

  forget(): void {
    this.#bytes = Buffer.alloc(0)
  }

  #end(): { at: number; length: number } {
    if (this.#suffix.length > 0) return { at: this.#bytes.indexOf(this.#suffix), length: this.#suffix.length }
    return { at: this.#bytes.findIndex((byte) => byte === 0x0d || byte === 0x0a), length: 1 }
  }
}
