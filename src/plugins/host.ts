// The program of the process in which a plug-in runs. It reads messages of the service from descriptor 3, and writes its own to descriptor 4.

import { Socket } from 'node:net'
import { messageOf } from '../errors.ts'
import { type Sink, Sinks } from '../events/sinks.ts'
import { systemClock } from '../kit/clock.ts'
import { loadModule } from '../kit/modules.ts'
import type { Plugin, PluginAnswer, PluginBench, PluginSink, Stop } from './author.ts'
import { benchFor, namedSink, pluginOf, stopOf } from './bench_for.ts'
import { type FromPlugin, LineReader, type PluginStart, type ToPlugin } from './messages.ts'

type Answers = Map<number, (answer: PluginAnswer) => void>

/** The time for a plug-in to end its work. */
const stopping_ms = 1500

const input = new Socket({ fd: 3, readable: true, writable: false })
const output = new Socket({ fd: 4, readable: false, writable: true })
const answers: Answers = new Map()
const registered = new Map<PluginSink, Sink>()
let calls = 0
let stop: Stop | undefined

const sinks = new Sinks({
  clock: systemClock,
  warn: (message) => send({ type: 'warn', message }),
  onBroken: (sink, error) =>
    send({ type: 'broken', sink, message: messageOf(error), error_type: error instanceof Error ? error.name : typeof error }),
})

send({ type: 'ready' })
const reader = new LineReader((line) => void take(JSON.parse(line) as ToPlugin), Number.POSITIVE_INFINITY)
input.setEncoding('utf8').on('data', (text: string) => reader.add(text))
// The service has gone: nobody waits for this process any more.
input.on('close', () => process.exit(0))
input.on('error', () => process.exit(0))
output.on('error', () => process.exit(0))

// Node itself would only write it to standard error.
process.on('uncaughtException', (error) => {
  send({ type: 'crashed', message: whereOf(error) })
  output.end(() => process.exit(1))
})

function send(message: FromPlugin): void {
  output.write(`${JSON.stringify(message)}\n`)
}

async function take(message: ToPlugin): Promise<void> {
  if (message.type === 'start') await start(message)
  else if (message.type === 'events') deliver(message)
  else if (message.type === 'answer') answered(message)
  else await end()
}

async function start({ path, ...given }: PluginStart): Promise<void> {
  try {
    const plugin: Plugin = pluginOf(await loadModule(path), path)
    stop = stopOf(await plugin.start(bench(given)))
    send({ type: 'started', name: plugin.name })
  } catch (error) {
    send({ type: 'refused', message: whereOf(error) })
  }
}

/** Returns the message of an error with the place in the plug-in, if its stack has one. */
function whereOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  // The hooks of the modules mark the files of the plug-in.
  const place = /(?:file:\/\/)?(\/[^\s()]*?)\?loaded=\d+(:\d+(?::\d+)?)/.exec((cause instanceof Error && cause.stack) || '')
  return place && !messageOf(error).includes(`${place[1]}:`) ? `${messageOf(error)} (${place[1]}${place[2]})` : messageOf(error)
}

function bench(given: Omit<PluginStart, 'path'>): PluginBench {
  return benchFor(given, {
    registerSink(sink) {
      if (registered.has(sink)) return
      const named = namedSink(given.name, sink)
      sinks.register(named)
      registered.set(sink, named)
      send({ type: 'sinks', count: registered.size })
    },
    unregisterSink(sink) {
      const named = registered.get(sink)
      if (named) sinks.unregister(named)
      registered.delete(sink)
      send({ type: 'sinks', count: registered.size })
    },
    call: ask,
    log: (message) => send({ type: 'log', message }),
  })
}

function ask(method: string, path: string, body?: unknown): Promise<PluginAnswer> {
  const id = calls++
  send({ type: 'call', id, method, path, body })
  return new Promise((resolve) => answers.set(id, resolve))
}

function answered({ id, status, body }: Extract<ToPlugin, { type: 'answer' }>): void {
  answers.get(id)?.({ status, body })
  answers.delete(id)
}

function deliver({ n, dropped, events }: Extract<ToPlugin, { type: 'events' }>): void {
  if (dropped > 0) tellDropped(dropped)
  for (const event of events) sinks.dispatch(event, systemClock.now())
  send({ type: 'done', n })
}

function tellDropped(count: number): void {
  for (const sink of registered.keys()) {
    const { onDropped, on_dropped } = sink as { onDropped?(count: number): unknown; on_dropped?(count: number): unknown }
    try {
      ;(onDropped ?? on_dropped)?.call(sink, count)
    } catch (error) {
      send({ type: 'warn', message: `it failed to take note of ${count} dropped events: ${messageOf(error)}` })
    }
  }
}

async function end(): Promise<void> {
  setTimeout(() => process.exit(0), stopping_ms).unref()
  try {
    await stop?.()
  } catch (error) {
    send({ type: 'warn', message: `it failed to stop: ${messageOf(error)}` })
  }
  output.end(() => process.exit(0))
}
