// `benchd top`: the bench on a terminal, drawn anew when something happens.

import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf } from '../errors.ts'
import { benchOf, snapshotsOf } from './bench.ts'
import { open, type Service, serviceOf, serviceOptions } from './client.ts'
import { command } from './command.ts'
import { frame, type View } from './frame.ts'
import { serverSentEvents } from './sse.ts'
import { forTerminal, print } from './table.ts'

const top = command({
  name: 'top',
  summary: 'Keep devices, runs and what they wait for on the screen, until q or Ctrl-C; where there is no terminal, once',
  operands: [],
  options: serviceOptions,
  async run({ options }) {
    const service = serviceOf(options)
    if (options.json) print(JSON.stringify(await look(service)))
    else if (process.stdout.isTTY && process.stdin.isTTY) await live({ ...service, wait_s: service.wait_s ?? 10 })
    else print(frame(await look(service)).join('\n'))
    return 0
  },
})

export const commands = [top]

async function look(service: Service): Promise<View> {
  const bench = await benchOf(service)
  return { bench, runs: await snapshotsOf(service, bench.runs) }
}

/** Not more often than this, however much happens; and that often when nothing does, for the times that run down. */
const [least_ms, most_ms] = [250, 1000]
const again_ms = 2000

async function live(service: Service): Promise<void> {
  const ended = new AbortController()
  const bell = new Bell()
  let view = await look(service)
  const restore = takeScreen(() => {
    ended.abort()
    bell.ring()
  })
  process.stdout.on('resize', () => bell.ring())
  void listen(service, ended.signal, () => bell.ring())
  try {
    for (let trouble: string | undefined; !ended.signal.aborted; await bell.rung(most_ms)) {
      try {
        view = await look(service)
        trouble = undefined
      } catch (error) {
        trouble = `not of now: ${messageOf(error)}`
      }
      draw(view, trouble)
      await sleep(least_ms, undefined, { signal: ended.signal }).catch(() => undefined)
    }
  } finally {
    restore()
  }
}

/** Each event rings; a stream that ended is opened again. */
async function listen(service: Service, ended: AbortSignal, ring: () => void): Promise<void> {
  while (!ended.aborted) {
    try {
      const body = await open(service, 'GET', '/events/stream?heartbeat=5', { signal: ended })
      for await (const _ of serverSentEvents(body, () => undefined)) ring()
    } catch {
      // The next look shows what is wrong.
    }
    await sleep(again_ms, undefined, { signal: ended }).catch(() => undefined)
  }
}

/** Rings now, or at the next wait when nobody waits. */
class Bell {
  #isRung = false
  #wake = () => {}

  ring(): void {
    this.#isRung = true
    this.#wake()
  }

  async rung(ms: number): Promise<void> {
    if (!this.#isRung) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms)
        this.#wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
    this.#isRung = false
  }
}

const screen = {
  other: '\u001b[?1049h\u001b[?25l',
  own: '\u001b[?25h\u001b[?1049l',
  home: '\u001b[H',
  restOfLine: '\u001b[K',
  rest: '\u001b[J',
}

const ctrlC = '\u0003'

/** A screen of our own, and keys as they are pressed. What it answers gives both back. */
function takeScreen(end: () => void): () => void {
  const { stdin, stdout } = process
  const onKey = (key: Buffer) => {
    if (['q', 'Q', ctrlC].some((one) => key.includes(one))) end()
  }
  stdout.write(screen.other)
  stdin.setRawMode(true)
  stdin.on('data', onKey)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, end)
  return () => {
    stdin.off('data', onKey)
    stdin.setRawMode(false)
    stdin.pause()
    stdout.write(screen.own)
  }
}

function draw(view: View, trouble: string | undefined): void {
  const { columns, rows } = process.stdout
  const lines = frame(view, { size: { columns: columns || 80, rows: rows || 24 }, trouble })
  process.stdout.write(`${screen.home}${lines.map((line) => forTerminal(line) + screen.restOfLine).join('\r\n')}${screen.rest}`)
}
