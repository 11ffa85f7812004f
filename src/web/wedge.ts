// A scanner that types like a keyboard: characters in quick succession, then Enter.

/** The longest time between two keystrokes of a scanner, ms. A person types more slowly. */
const between_ms = 60
/** The fewest characters of a barcode that is taken for a scan. */
const fewest = 3

export class Wedge {
  #typed = ''
  #last_ms = Number.NEGATIVE_INFINITY

  /** Takes a keystroke at a time in ms. Returns the barcode if the keystroke ends one. */
  key(key: string, at_ms: number): string | undefined {
    const isQuick = at_ms - this.#last_ms <= between_ms
    this.#last_ms = at_ms
    const before = isQuick ? this.#typed : ''
    // The keys of modifiers have longer names, and come between the characters of a scan.
    if (key.length > 1 && key !== 'Enter') {
      this.#typed = before
      return undefined
    }
    this.#typed = key === 'Enter' ? '' : before + key
    const read = before.trim()
    return key === 'Enter' && read.length >= fewest ? read : undefined
  }

  /** Whether characters of a scan have just come. */
  isTyping(at_ms: number): boolean {
    return this.#typed.length > 1 && at_ms - this.#last_ms <= between_ms
  }
}

/** A field that takes a scan, and the barcode that it wants; undefined for any. */
export type ScanField = { readonly wants: string | undefined; take(barcode: string): void }

/** Returns the field for a scan: the one that wants this barcode, else the first that takes any, else the first. */
export function fieldFor(barcode: string, fields: readonly ScanField[]): ScanField | undefined {
  return fields.find(({ wants }) => wants === barcode) ?? fields.find(({ wants }) => wants === undefined) ?? fields[0]
}
