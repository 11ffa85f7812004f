// The last frames between the service and a device; a copy is kept when a fault is latched.

import * as v from 'valibot'
import { described } from '../kit/described.ts'

export const WireFrame = v.strictObject({
  at: described(v.number(), 'Unix time', 's'),
  direction: v.picklist(['to_device', 'to_host']),
  hex: v.string(),
  text: described(v.string(), 'The same as latin1; what cannot be printed is a dot'),
})
export type WireFrame = v.InferOutput<typeof WireFrame>

export const Wire = v.strictObject({
  device_id: v.string(),
  frames: described(v.array(WireFrame), 'The last 200, oldest first'),
  fault_frames: described(v.nullable(v.array(WireFrame)), 'The frames before the latched fault; null without one'),
})
export type Wire = v.InferOutput<typeof Wire>

const mostFrames = 200
/** Pieces of an answer within this time are one frame. */
const together_ms = 20
/** The most characters of a frame, so that an instrument that sends without end fills no memory. */
const longest = 1024

/** `text` is latin1, because a `Buffer` of a few bytes takes ten times the memory, and keeps its whole allocation alive. */
type Noted = { at_ms: number; last_ms: number; direction: WireFrame['direction']; text: string }

export class WireLog {
  readonly #now: () => number
  #frames: Noted[] = []
  #atFault: WireFrame[] | null = null
  #heard_ms: number | undefined

  /** `now` in Unix milliseconds. */
  constructor(now: () => number = Date.now) {
    this.#now = now
  }

  note(direction: WireFrame['direction'], bytes: Uint8Array): void {
    const now = this.#now()
    if (direction === 'to_host') this.#heard_ms = now
    const last = this.#frames.at(-1)
    if (direction === 'to_host' && last?.direction === direction && now - last.last_ms < together_ms) {
      last.text = latin1(Buffer.concat([Buffer.from(last.text, 'latin1'), bytes]))
      last.last_ms = now
      return
    }
    this.#frames.push({ at_ms: now, last_ms: now, direction, text: latin1(bytes) })
    if (this.#frames.length > mostFrames) this.#frames.shift()
  }

  /** Oldest first. */
  frames(): WireFrame[] {
    return this.#frames.map(({ at_ms, direction, text }) => ({
      at: at_ms / 1000,
      direction,
      hex: Buffer.from(text, 'latin1').toString('hex'),
      text: text.replace(/[^ -~]/g, '.'),
    }))
  }

  /** The time of the device's last bytes, Unix seconds; null before the first. */
  get heard_at(): number | null {
    return this.#heard_ms === undefined ? null : Math.floor(this.#heard_ms / 1000)
  }

  /** The frames before the fault that is latched. */
  get faultFrames(): WireFrame[] | null {
    return this.#atFault
  }

  keepForFault(): void {
    this.#atFault = this.frames()
  }

  forgetFault(): void {
    this.#atFault = null
  }
}

function latin1({ buffer, byteOffset, length }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, Math.min(length, longest)).toString('latin1')
}
