// Reads many streams at once and only counts their frames, so that it is never what limits them. One event in a piece tells how late it is.

import { connect, type Socket } from 'node:net'
import { createHistogram } from 'node:perf_hooks'
import { setTimeout as wait } from 'node:timers/promises'
import { answerParent } from '../child.ts'

/** Opens so many `connections`; then `take` waits until each has so many `frames`; `close` ends them. */
export type Asked = { do: 'open'; port: number; request: string; connections: number } | { do: 'take'; frames: number } | { do: 'close' }
/** `taken` is that of all who read, `missing` what they have not got. */
export type Taken = { taken: number; missing: number; p99_ms: number }

/** Nothing more comes after so long a silence. */
const silence_ms = 4000
/** How late events are, in tenths of a millisecond; a histogram counts from one. */
const late = createHistogram()

class Reader {
  readonly socket: Socket
  readonly opened: Promise<void>
  frames = 0
  #endedInNewline = false

  constructor(port: number, request: string) {
    let open = () => {}
    let lost = (_error: Error) => {}
    this.opened = new Promise((resolve, reject) => {
      open = resolve
      lost = reject
    })
    let isOpen = false
    const callback = (length: number, buffer: Buffer): boolean => {
      const found = this.#count(buffer, length)
      if (isOpen) this.frames += found
      else if (found > 0) {
        isOpen = true
        open()
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

answerParent({}, (asked: Asked): Promise<object> => {
  if (asked.do === 'open') return open(asked)
  if (asked.do === 'take') return take(asked.frames)
  return close()
})

async function open({ port, request, connections }: Extract<Asked, { do: 'open' }>): Promise<object> {
  readers.push(...Array.from({ length: connections }, () => new Reader(port, request)))
  await Promise.all(readers.map(({ opened }) => opened))
  late.reset()
  return {}
}

async function take(frames: number): Promise<Taken> {
  const taken = () => readers.reduce((sum, reader) => sum + reader.frames, 0)
  await quiet(taken, frames * readers.length)
  const missing = readers.reduce((sum, reader) => sum + Math.max(0, frames - reader.frames), 0)
  return { taken: taken(), missing, p99_ms: (late.percentile(99) - 1) / 10 }
}

/** Resolves when the figure is reached, or does not change any more. */
async function quiet(figure: () => number, wanted: number): Promise<void> {
  let before = -1
  let since = performance.now()
  while (figure() < wanted) {
    if (figure() !== before) {
      before = figure()
      since = performance.now()
    } else if (performance.now() - since > silence_ms) return
    await wait(2)
  }
}

async function close(): Promise<object> {
  for (const { socket } of readers) socket.destroy()
  readers = []
  return {}
}

/** How long ago the first event of this piece was fired. */
function noteLateness(bytes: Buffer): void {
  const at = bytes.indexOf('"timestamp":', 0, 'latin1')
  if (at === -1) return
  const fired = Number.parseFloat(bytes.toString('latin1', at + 12, at + 29)) * 1000
  const ms = performance.timeOrigin + performance.now() - fired
  late.record(1 + Math.max(0, Math.round(ms * 10)))
}
