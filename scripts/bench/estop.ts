// From the request of a stop to its first byte at the far end of the wire.

import { Agent, request as requestHttp } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { isOnPins } from '../../drivers/driver.ts'
import { type DriverName, driverNames, drivers } from '../../drivers/index.ts'
import { serveOnPty } from '../../drivers/serve.ts'
import { bench, median, percentile, type Row, row, type Target } from './bench.ts'
import { type Child, startChild } from './child.ts'
import type { Asked } from './events/readers.ts'
import type { Load, Loaded } from './load.ts'
import type { Beside, Stoppable } from './servers/stoppable.ts'

/** Stops in a turn. The servers take turns, and only the one whose turn it is has the load on it; so both meet what else the computer does. */
const perTurn = 5
/** For the load to be there before the first stop. */
const settle_ms = 300
/** Between two stops, by chance half of it more or less: what the one before left to do is done, and no rhythm is met. */
const pause_ms = 40
/** A line counts as quiet when nothing was written for so long. */
const quiet_ms = 100

/** Begins the stop of a shaker. */
const emergencyOff = 'shakeEmergencyOff'

type Case = { what: string; beside: Beside; streams?: boolean; flooded?: boolean }

/** The limit is a bare `node:http` that writes the bytes itself, under the same load. */
export const estop = bench({
  name: 'estop',
  summary: 'stop: from the request to the first byte on a pseudo-terminal',
  limit: 'node:http',
  options: { stops: 100, subscribers: 100, rate: 1000, flood: 16, only: '' },
  async run({ stops, subscribers, rate, flood, only }) {
    const [ours, theirs] = [await farEnd('stoppable'), await farEnd('raw_stoppable')]
    const readers = await startChild('./events/readers.js')
    const cases: Case[] = [
      { what: 'idle', beside: {} },
      { what: 'port busy', beside: { port_busy: true } },
      { what: `port busy, ${subscribers} streams`, beside: { port_busy: true, events: rate }, streams: true },
      { what: 'port busy, thread pool full', beside: { port_busy: true, pool_full: true } },
      { what: 'port busy, plans are made', beside: { port_busy: true, planning: true } },
      { what: 'port busy, forecasts are made', beside: { port_busy: true, foretelling: true } },
      { what: 'port busy, HTTP flood', beside: { port_busy: true }, flooded: true },
      { what: 'all of it', beside: { port_busy: true, events: rate, pool_full: true }, streams: true, flooded: true },
    ]
    const turn = async ({ server, stopped }: FarEnd, { beside, streams, flooded }: Case) => {
      if (streams) await readers.ask(opening(server.ready, subscribers))
      await server.ask(beside)
      const calm = flooded ? await flooding(server.ready, flood) : async () => {}
      const times: number[] = []
      try {
        await sleep(settle_ms)
        while (times.length < perTurn) {
          times.push(await stopped())
          await sleep(pause_ms * (0.5 + Math.random()))
        }
      } finally {
        await calm()
      }
      await server.ask({} satisfies Beside)
      await readers.ask({ do: 'close' } satisfies Asked)
      return times
    }
    try {
      const rows: Row[] = []
      const exact = cases.filter(({ what }) => what === only)
      for (const its of exact.length > 0 ? exact : cases.filter(({ what }) => what.includes(only))) {
        const found: Found = { ours: [], theirs: [] }
        // Each is the first as often as the last.
        for (let i = 0; i < stops / perTurn; i++)
          for (const who of i % 2 ? (['theirs', 'ours'] as const) : (['ours', 'theirs'] as const))
            found[who].push(await turn(who === 'ours' ? ours : theirs, its))
        rows.push(...rowsOf(its.what, found, { p99_ms: its.what === 'all of it' ? 15 : 100, ratio: 1.5 }))
      }
      return rows
    } finally {
      for (const { end } of [ours, theirs, readers]) await end()
    }
  },
})

/**
 * Each driver on a line of its own that is quiet: the bytes of the stop are the first that come. The two take turns at each stop, so that
 * the load of the computer is the same for both.
 */
export const estopDrivers = bench({
  name: 'estop-drivers',
  summary: 'stop of every driver with a serial line that is quiet: from the request to the first byte',
  limit: 'node:http',
  options: { stops: 100, only: '' },
  async run({ stops, only }) {
    const rows: Row[] = []
    for (const name of driverNames.filter((name) => name.includes(only))) {
      if (isOnPins(await drivers[name]())) continue
      const [ours, theirs] = [await farEnd('stoppable', name), await farEnd('raw_stoppable', name)]
      try {
        const found: Found = { ours: [], theirs: [] }
        while (found.ours.length < stops) {
          for (const [end, times] of [[theirs, found.theirs] as const, [ours, found.ours] as const]) {
            await end.quiet()
            times.push([await end.stopped()])
            await sleep(pause_ms * (0.5 + Math.random()))
          }
        }
        rows.push(...rowsOf(name, found, { p99_ms: 10 }))
      } finally {
        for (const { end } of [ours, theirs]) await end()
      }
    }
    return rows
  },
})

/** `quiet` resolves when the server has written nothing for a while: what the stop before led to is over. */
type FarEnd = { server: Child<Stoppable>; quiet(): Promise<void>; stopped(): Promise<number>; end(): Promise<void> }

/** A server and the instrument that it talks to; `stopped` presses stop and answers after how many milliseconds that arrived. */
export async function farEnd(kind: 'stoppable' | 'raw_stoppable', name: DriverName = 'bioshake', more: string[] = []): Promise<FarEnd> {
  const driver = await drivers[name]()
  if (isOnPins(driver)) throw new Error(`${name} has no serial line`)
  const instrument = await serveOnPty(driver, {}, { time_scale: 50 })
  const receive = instrument.simulator.receive.bind(instrument.simulator)
  let arrived = (_at: number) => {}
  let heardAt = Number.NEGATIVE_INFINITY
  /** The end of what came before: a terminal hands over a command in pieces as it likes. */
  let heard = ''
  instrument.simulator.receive = (bytes) => {
    const at = performance.now()
    heardAt = at
    heard += Buffer.from(bytes).toString('latin1')
    const isStop = name !== 'bioshake' || heard.includes(emergencyOff)
    heard = isStop ? '' : heard.slice(1 - emergencyOff.length)
    if (isStop) arrived(at)
    receive(bytes)
  }
  const server = await startChild<Stoppable>(`./servers/${kind}.js`, { args: [instrument.path, name, ...more] })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  return {
    server,
    async quiet() {
      while (performance.now() - heardAt < quiet_ms) await sleep(quiet_ms / 4)
    },
    async stopped() {
      const arrival = new Promise<number>((resolve) => {
        arrived = resolve
      })
      const began = performance.now()
      const answered = press(server.ready, agent)
      const at = await Promise.race([arrival, answered.then((answer) => lost(answer))])
      await answered
      return at - began
    },
    async end() {
      agent.destroy()
      await server.end()
      await instrument.close()
    },
  }
}

/** An answer without the bytes at the far end, a second later still. */
async function lost(answer: string): Promise<never> {
  await new Promise((resolve) => setTimeout(resolve, 1000))
  throw new Error(`a stop never arrived; its answer: ${answer}`)
}

export function press({ port, key, path }: Stoppable, agent: Agent): Promise<string> {
  return new Promise((resolve, reject) => {
    const asking = requestHttp({ port, path, agent, host: '127.0.0.1', method: 'POST', headers: { 'X-API-Key': key } }, (response) => {
      let text = `${response.statusCode} `
      response.setEncoding('utf8').on('data', (piece) => {
        text += piece
      })
      response.on('end', () => resolve(text))
    })
    asking.on('error', reject)
    asking.end()
  })
}

/** The times of the stops of each turn, in ms. */
type Found = { ours: number[][]; theirs: number[][] }

/** The ratio is the median of those of turns that follow each other. */
function rowsOf(what: string, { ours, theirs }: Found, most: { p99_ms?: number; ratio?: number }): Row[] {
  const figures = (part: number, most: number | undefined, of: Target['of']) => {
    const limit = percentile(theirs.flat(), part)
    const target: Target | undefined = most === undefined ? undefined : { of, most, wall: true }
    return row(`${what}, p${part * 100}`, 'ms', percentile(ours.flat(), part), { limit, target })
  }
  const ratio = median(ours.map((times, i) => median(times) / median(theirs[i]!)))
  return [{ ...figures(0.5, most.ratio, 'ratio'), ratio }, figures(0.99, most.p99_ms, 'value')]
}

function opening({ port, key }: Stoppable, connections: number): Asked {
  const request = `GET /events/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: ${key}\r\n\r\n`
  return { do: 'open', port, request, connections }
}

/** Asks without a pause from other connections, until the answer is called. */
async function flooding({ port, key }: Stoppable, connections: number): Promise<() => Promise<void>> {
  const request = `GET /api/system HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: ${key}\r\n\r\n`
  const load: Load = { port, requests: Array.from({ length: connections }, () => request), expect: 'HTTP/1.1 200', seconds: 600 }
  const asker = await startChild('./load.js')
  let failed: string | undefined
  const flooded = asker.ask<Loaded>(load).then(
    ({ error }) => {
      failed = `the flood ended early: ${error}`
    },
    () => undefined,
  )
  return async () => {
    await asker.end()
    await flooded
    if (failed) throw new Error(failed)
  }
}
