// `benchd top`: the bench on a terminal, drawn anew with each change of the live stream.

import { setTimeout as sleep } from 'node:timers/promises'
import type { State } from '../clients/ts/benchd.ts'
import type { DeviceInfo } from '../devices/records.ts'
import { messageOf } from '../errors.ts'
import { benchOf, shownIn, snapshotsOf, stateOf, statesOf } from './bench.ts'
import { ask, type Service, serviceOf, serviceOptions } from './client.ts'
import { command } from './command.ts'
import { frame, type View } from './frame.ts'
import { forTerminal, print } from './table.ts'

const top = command({
  name: 'top',
  summary: 'Show devices and runs continuously until q or Ctrl-C; without a terminal, print them once',
  options: serviceOptions,
  async run({ options }) {
    const service = serviceOf(options)
    if (options.json) print(JSON.stringify(await whole(service)))
    else if (process.stdout.isTTY && process.stdin.isTTY) await live({ ...service, wait_s: service.wait_s ?? usual_s })
    else print(frame(viewOf(await stateOf(service))).join('\n'))
  },
})

export const commands = [top]

/** The silence in seconds after which the stream counts as lost; it has a beat each second. */
const usual_s = 5
const again_ms = 2000

/** Returns the state for programs, with the snapshots of open runs. */
async function whole(service: Service) {
  const bench = await benchOf(service)
  return { bench, runs: await snapshotsOf(service, bench.runs) }
}

async function live(service: Service): Promise<void> {
  const { time_scale } = await ask<{ time_scale: number }>(service, 'GET', '/api/system')
  const age = ages()
  const ended = new AbortController()
  let [state, trouble]: [State | undefined, string | undefined] = [undefined, undefined]
  const redraw = () => state && draw(counted(viewOf(state), age, time_scale), trouble)
  const restore = takeScreen(() => ended.abort())
  process.stdout.on('resize', redraw)
  try {
    while (!ended.signal.aborted) {
      try {
        for await (state of statesOf(service, ended.signal)) {
          trouble = undefined
          redraw()
        }
        trouble = 'not of now: the service ended the stream'
      } catch (error) {
        trouble = `not of now: ${messageOf(error)}`
      }
      if (!ended.signal.aborted) redraw()
      await sleep(again_ms, undefined, { signal: ended.signal }).catch(() => undefined)
    }
  } finally {
    restore()
  }
}

function viewOf(state: State): View {
  const bench = shownIn(state)
  const threads = Object.values(state.thread)
  const of = (id: string) => threads.filter(({ execution_id }) => execution_id === id)
  return { bench, runs: bench.runs.map((run) => ({ ...run, threads: of(run.execution_id), moves: [] })) }
}

/** Makes a function that returns the seconds since a value of the stream was first seen. */
function ages(): (value: object) => number {
  const seen = new WeakMap<object, number>()
  return (value) => {
    const first = seen.get(value) ?? performance.now()
    seen.set(value, first)
    return (performance.now() - first) / 1000
  }
}

/** Advances the times that change by themselves, for which the stream sends no change. */
function counted({ bench, runs }: View, age: (value: object) => number, time_scale: number): View {
  const { health, devices } = bench
  const left = (device: DeviceInfo): DeviceInfo => {
    const { operation } = device
    if (!operation) return device
    return { ...device, operation: { ...operation, seconds_left: Math.max(0, operation.seconds_left - age(device) * time_scale) } }
  }
  return { bench: { ...bench, health: { ...health, uptime_s: health.uptime_s + age(health) }, devices: devices.map(left) }, runs }
}

const screen = {
  other: '\u001b[?1049h\u001b[?25l',
  own: '\u001b[?25h\u001b[?1049l',
  home: '\u001b[H',
  restOfLine: '\u001b[K',
  rest: '\u001b[J',
}

const ctrlC = '\u0003'

/** Switches to the alternate screen and raw keys. Returns the function that restores both. */
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
