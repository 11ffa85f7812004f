// A line that replays the recorded bytes of an instrument, for a host that repeats its recorded frames.

import { LabError } from '../../src/errors.ts'
import type { Clock } from '../../src/kit/clock.ts'
import type { Line, OnWire } from './line.ts'

/** A frame of a wire log; `at` in seconds. */
export type Recorded = { at: number; direction: 'to_device' | 'to_host'; hex: string }

type ReplayedLine = Line & {
  /** The recorded frames that were not replayed yet. */
  readonly left: readonly Recorded[]
  /** The error of the first frame that differed from the recording. */
  readonly differs: LabError | undefined
}

/**
 * Replays a recording as a line. Unsolicited bytes before the first frame of the host come when the line is opened.
 * `write` throws `device_failed` for a frame that differs from the next recorded one, naming both.
 */
export function replayedLine(recorded: readonly Recorded[], clock: Clock): ReplayedLine {
  const left = [...recorded]
  let differs: LabError | undefined
  const watchers: OnWire[] = []
  let state: Line['state'] = 'closed'
  let listener: (bytes: Uint8Array) => void = () => {}
  const show: OnWire = (direction, bytes) => {
    for (const watch of watchers) watch(direction, bytes)
  }
  const say = (frame: Recorded, after_s: number) => {
    clock.after(Math.max(0, after_s * 1000), () => {
      const bytes = Buffer.from(frame.hex, 'hex')
      show('to_host', bytes)
      listener(bytes)
    })
  }
  /** Sends the answers up to the next frame of the host, with their recorded delays. */
  const answer = (asked_at: number) => {
    while (left[0]?.direction === 'to_host') {
      const frame = left.shift()!
      say(frame, frame.at - asked_at)
    }
  }

  return {
    left,
    clock,
    get differs() {
      return differs
    },
    get state() {
      return state
    },
    async open() {
      state = 'open'
      if (left[0]) answer(left[0].at)
    },
    async close() {
      state = 'closed'
    },
    write(bytes) {
      const hex = Buffer.from(bytes).toString('hex')
      show('to_device', bytes)
      const expected = left[0]
      if (expected?.hex !== hex) {
        const other = new LabError(
          'device_failed',
          `the driver said ${said(hex)}, but ${expected ? `${said(expected.hex)} was recorded` : 'the record has ended'}`,
        )
        differs ??= other
        throw other
      }
      left.shift()
      answer(expected.at)
    },
    onBytes(listen) {
      listener = listen
    },
    onWire(watch) {
      watchers.push(watch)
    },
    onLost() {},
    async setBaud() {},
    async setModem() {
      return false
    },
  }
}

/** Formats a frame as `676574… "get…"`. */
function said(hex: string): string {
  const text = Buffer.from(hex, 'hex')
    .toString('latin1')
    .replace(/[^ -~]/g, '.')
  return `${hex} "${text}"`
}
