// Several connections to one instrument as one line: open when all are open, and lost when one is lost.

import { LabError } from '../../src/errors.ts'
import type { BridgeLine, Line } from './line.ts'

/** A line whose loss can be caused. */
export type LosableLine = Pick<BridgeLine, 'giveUp'> & Line

/** Returns a line that reads and writes on `first`, and has the others in `further`. */
export function joined(first: LosableLine, further: Readonly<Record<string, LosableLine>>): Line {
  const all = [first, ...Object.values(further)]
  const listeners: ((reason: string) => void)[] = []
  let state: Line['state'] = 'closed'
  /** The reason of a loss while the other connections are being opened. */
  let lostSoon: string | undefined
  const lose = (reason: string) => {
    lostSoon = reason
    if (state !== 'open') return
    state = 'lost'
    for (const line of all) void line.giveUp(reason)
    for (const call of listeners) call(reason)
  }
  for (const line of all) line.onLost(lose)
  const closeAll = async () => {
    await Promise.all(all.map((line) => line.close()))
  }
  const openAll = async () => {
    state = 'closed'
    lostSoon = undefined
    const opened = await Promise.allSettled(all.map((line) => line.open()))
    const failed = opened.find((one) => one.status === 'rejected')
    if (all.every((line) => line.state === 'open')) {
      state = 'open'
      return
    }
    await closeAll()
    throw failed?.reason ?? new LabError('disconnected', lostSoon ?? 'the connection was closed while it was being opened')
  }
  return {
    clock: first.clock,
    further,
    get state() {
      return state
    },
    open: openAll,
    async close() {
      state = 'closed'
      await closeAll()
    },
    write: (bytes) => first.write(bytes),
    onBytes: (listen) => first.onBytes(listen),
    onLost: (call) => listeners.push(call),
    onWire(watch) {
      for (const line of all) line.onWire(watch)
    },
    setBaud: (baud) => first.setBaud(baud),
    setModem: (lines) => first.setModem(lines),
    ...(first.isNetwork && { isNetwork: first.isNetwork }),
    ...(first.advice !== undefined && { advice: first.advice }),
  }
}

/** Returns the further connection of that name. Throws if the line has none, which is a mistake in the program. */
export function furtherOf(line: Pick<Line, 'further'>, name: string): Line {
  const found = line.further?.[name]
  if (!found) throw new Error(`the line has no further connection ${name}`)
  return found
}
