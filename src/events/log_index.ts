// Reads whole, behind everything else, the segments of which only the ends are known, and writes their sidecars.

import { sleep, systemClock } from '../kit/clock.ts'
import { asDamage, Damage as Unreadable } from '../kit/damage.ts'
import { type Damage, scanned } from './log_scan.ts'
import { type OpenFile, type Segment, writeSidecar } from './log_segment.ts'

type Files = {
  readonly open: OpenFile
  replace(segment: Segment): void
  tellDamage(segment: Segment, damage: Damage): void
  tellUnreadable(segment: Segment, why: string): void
}

/** The pause between two segments that are read whole: others need the processor and the card too. */
const rest_ms = 20

export class LogIndex {
  readonly #files: Files
  readonly #glimpsed: Segment[] = []
  #indexing: Promise<void> | undefined
  #isEnded = false

  constructor(files: Files) {
    this.#files = files
  }

  /** Adds a segment, newer than those before. */
  add(glimpsed: Segment): void {
    this.#glimpsed.push(glimpsed)
  }

  /** Reads the segments, the newest first. Readers are served meanwhile: they read more of such a segment than they need. */
  complete(): Promise<void> {
    this.#indexing ??= this.#readAll()
    return this.#indexing
  }

  /** Leaves the segments that are not read yet to the next start. */
  async end(): Promise<void> {
    this.#isEnded = true
    await this.#indexing
  }

  async #readAll(): Promise<void> {
    for (let glimpsed = this.#glimpsed.pop(); glimpsed && !this.#isEnded; glimpsed = this.#glimpsed.pop()) {
      await this.#read(glimpsed)
      if (!this.#isEnded) await sleep(systemClock, rest_ms)
    }
  }

  async #read(glimpsed: Segment): Promise<void> {
    const files = this.#files
    try {
      const { segment, damages } = await scanned(files.open, glimpsed, glimpsed.bytes)
      for (const damage of damages) files.tellDamage(segment, damage)
      files.replace(segment)
      // A card that is full takes the sidecar after a later start.
      await writeSidecar(segment, files.open).catch(() => undefined)
    } catch (error) {
      // Readers still get as many of its events as can be read.
      const damage = asDamage(error)
      if (damage instanceof Unreadable) files.tellUnreadable(glimpsed, damage.message)
    }
  }
}
