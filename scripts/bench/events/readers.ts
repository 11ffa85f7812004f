// Reads many streams at once and only counts their frames, so that it is never what limits them. One event in a piece tells how late it is.

import { connect, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { answerParent } from '../child.ts'

/**
 * `open` connections that read, and `stalled` ones that read nothing after the first frame; then `take`: until each that reads has so many
 * frames; `resume`: what the stalled ones find, of so many frames, when they read on; `close`.
 */
export type Asked =
  | { do: 'open'; port: number; request: string; connections: number; stalled: number }
  | { do: 'take'; frames: number }
  | { do: 'resume'; frames: number }
  | { do: 'close' }
/** `taken` is that of all who read, `missing` what they have not got. */
export type Taken = { taken: number; missing: number; p50_ms: number; p99_ms: number; seconds: number }
/** Of each that had stalled: how many came without a gap at the end, how many it was told that it lost, how many it has not been told of. */
export type Resumed = { tails: number[]; dropped: number[]; unaccounted: number[] }

/** Nothing more comes after so long a silence; sooner where all is on its way already. */
const silence_ms = 4000
const shortSilence_ms = 1000
const tenths = new Uint32Array(600_000)
let late = 0

class Reader {
  readonly socket: Socket
  readonly opened: Promise<void>
  frames = 0
  text: string[] | undefined
  bytes = 0
  #endedInNewline = false

  constructor(port: number, request: string, isStalled: boolean) {
    let open = () => {}
    let lost = (_error: Error) => {}
    this.opened = new Promise((resolve, reject) => {
      open = resolve
      lost = reject
    })
    let isOpen = false
    const callback = (length: number, buffer: Buffer): boolean => {
      this.bytes += length
      this.text?.push(buffer.toString('latin1', 0, length))
      const found = this.#count(buffer, length)
      if (isOpen) this.frames += found
      else if (found > 0) {
        isOpen = true
        open()
        return !isStalled
      }
      return true
    }
    // The types know only of a function's answer that is void.
    const onread = { buffer: shared, callback: callback as unknown as (length: number) => boolean }
    this.socket = connect({ port, host: '127.0.0.1', onread })
    this.socket.on('error', () => undefined)
    this.socket.on('close', () => lost(new Error('the service closed the connection of a reader before its stream began')))
    if (request) this.socket.write(request)
  }

  /** A frame ends with an empty line. */
  #count(buffer: Buffer, length: number): number {
    let found = this.#endedInNewline && buffer[0] === 0x0a ? 1 : 0
    const bytes = buffer.subarray(0, length)
    for (let at = bytes.indexOf('\n\n', 0, 'latin1'); at !== -1; at = bytes.indexOf('\n\n', at + 2, 'latin1')) found++
    this.#endedInNewline = bytes[length - 1] === 0x0a && !(bytes[length - 2] === 0x0a)
    if (found > 0) noteLateness(bytes)
    return found
  }
}

const shared = Buffer.allocUnsafeSlow(65_536)
let readers: Reader[] = []
let stalled: Reader[] = []

answerParent({}, (asked: Asked): Promise<object> => {
  if (asked.do === 'open') return open(asked)
  if (asked.do === 'take') return take(asked.frames)
  if (asked.do === 'resume') return resume(asked.frames)
  return close()
})

async function open({ port, request, connections, stalled: more }: Extract<Asked, { do: 'open' }>): Promise<object> {
  const [fresh, slow] = [connections, more].map((length, i) => Array.from({ length }, () => new Reader(port, request, i === 1)))
  readers.push(...fresh!)
  stalled.push(...slow!)
  await Promise.all([...readers, ...stalled].map(({ opened }) => opened))
  tenths.fill(0)
  late = 0
  return {}
}

async function take(frames: number): Promise<Taken> {
  const began = performance.now()
  const taken = () => readers.reduce((sum, reader) => sum + reader.frames, 0)
  await quiet(taken, frames * readers.length)
  const seconds = (performance.now() - began) / 1000
  const missing = readers.reduce((sum, reader) => sum + Math.max(0, frames - reader.frames), 0)
  return { taken: taken(), missing, p50_ms: percentile(0.5), p99_ms: percentile(0.99), seconds }
}

async function resume(frames: number): Promise<Resumed> {
  for (const reader of stalled) {
    reader.text = []
    reader.socket.resume()
  }
  await quiet(() => stalled.reduce((sum, { bytes }) => sum + bytes, 0), Number.POSITIVE_INFINITY, shortSilence_ms)
  const seen = stalled.map(({ text }) => {
    const all = text!.join('')
    const ids = Array.from(all.matchAll(/\}\nid: (\d+)$/gm), ([, id]) => Number(id))
    const dropped = Array.from(all.matchAll(/^: dropped (\d+)$/gm)).reduce((sum, [, count]) => sum + Number(count), 0)
    let tail = 1
    while (tail < ids.length && ids.at(-tail - 1) === ids.at(-tail)! - 1) tail++
    return { tail, dropped, unaccounted: frames - ids.length - dropped }
  })
  return {
    tails: seen.map(({ tail }) => tail),
    dropped: seen.map(({ dropped }) => dropped),
    unaccounted: seen.map(({ unaccounted }) => unaccounted),
  }
}

/** Resolves when the figure is reached, or does not change any more. */
async function quiet(figure: () => number, wanted: number, most_ms = silence_ms): Promise<void> {
  let before = -1
  let since = performance.now()
  while (figure() < wanted) {
    if (figure() !== before) {
      before = figure()
      since = performance.now()
    } else if (performance.now() - since > most_ms) return
    await wait(2)
  }
}

async function close(): Promise<object> {
  for (const { socket } of [...readers, ...stalled]) socket.destroy()
  readers = []
  stalled = []
  return {}
}

/** How long ago the first event of this piece was fired. */
function noteLateness(bytes: Buffer): void {
  const at = bytes.indexOf('"timestamp":', 0, 'latin1')
  if (at === -1) return
  const fired = Number.parseFloat(bytes.toString('latin1', at + 12, at + 29)) * 1000
  const ms = performance.timeOrigin + performance.now() - fired
  if (!(ms < tenths.length / 10)) return
  const slot = Math.max(0, Math.round(ms * 10))
  tenths[slot] = tenths[slot]! + 1
  late++
}

function percentile(part: number): number {
  let seen = 0
  for (let i = 0; i < tenths.length; i++) {
    seen += tenths[i]!
    if (seen >= late * part) return i / 10
  }
  return 0
}
