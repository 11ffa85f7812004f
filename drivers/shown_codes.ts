// The barcodes that a simulated scanner sees: those of its settings in turn, else that of the labware that a run has put before it.

/** The codes that are seen where neither settings nor a run say any. */
const samples = ['PLATE-0001', 'PLATE-0002', 'PLATE-0003']

export class ShownCodes {
  readonly #codes: readonly string[] | undefined
  #shown: string | null | undefined
  #nth = 0

  constructor(codes: readonly string[] | undefined) {
    this.#codes = codes
  }

  /** How many codes were seen. */
  get count(): number {
    return this.#nth
  }

  /** Does what `Mechanism.show` says. */
  show(barcode: string | null): boolean {
    this.#shown = barcode
    return this.#codes !== undefined || barcode !== null
  }

  /** Returns the next code; empty for labware without one. */
  next(): string {
    const nth = this.#nth++
    if (this.#codes) return this.#codes[nth % this.#codes.length]!
    if (this.#shown !== undefined) return this.#shown ?? ''
    return samples[nth % samples.length]!
  }
}
