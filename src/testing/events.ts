// For tests: the event log and streams, with clocks that tests set, a disk that can fail, and sockets that can stall.

import { type FileHandle, open } from 'node:fs/promises'
import type { Hub } from '../events/hub.ts'
import type { OpenFile } from '../events/log_segment.ts'
import { openEvents } from '../events/open.ts'
import type { Outlet } from '../events/streams.ts'
import type { Wall } from '../events/timestamps.ts'
import { VirtualClock } from '../kit/clock.ts'

/** The beginning of 2026, Unix time in microseconds. */
export const someDay = 1_767_225_600_000_000

export class HandWall implements Wall {
  us = someDay
  isInStep = false
  now(): number {
    return this.us
  }
  inStep(): boolean {
    return this.isInStep
  }
}

type Operation = 'write' | 'datasync' | 'sync' | 'truncate' | 'read'

/** The real file system, whose operations a test can make fail or hold back. */
export class Card {
  /** The error code of an operation, on files whose names end with `ending`. */
  readonly #faults = new Map<Operation | 'open', { code: string; times: number; ending: string }>()
  readonly #held = new Map<Operation, { ending: string; until: Promise<void> }>()
  /** The calls to the file system, in order: `datasync events-000001.jsonl`. */
  readonly done: string[] = []

  fail(operation: Operation | 'open', code: string, times = Number.POSITIVE_INFINITY, ending = ''): void {
    this.#faults.set(operation, { code, times, ending })
  }

  mend(): void {
    this.#faults.clear()
  }

  /** Holds back an operation on files whose names end with `ending`. The returned function lets it continue. */
  hold(operation: Operation, ending = ''): () => void {
    let letGo = () => {}
    this.#held.set(operation, { ending, until: new Promise<void>((resolve) => (letGo = resolve)) })
    return () => {
      this.#held.delete(operation)
      letGo()
    }
  }

  readonly open: OpenFile = async (path, flags, mode) => {
    const name = path.split('/').at(-1)!
    if (flags !== 'r') this.#mayFail('open', name)
    this.done.push(`open ${name} ${flags}`)
    return this.#watched(await open(path, flags, mode), name)
  }

  #watched(file: FileHandle, name: string): FileHandle {
    return new Proxy(file, {
      get: (target, key) => {
        const member = Reflect.get(target, key) as unknown
        if (typeof member !== 'function') return member
        return (...given: unknown[]) => this.#call(() => member.apply(target, given), key as Operation, name)
      },
    })
  }

  async #call(go: () => unknown, operation: Operation, name: string): Promise<unknown> {
    const held = this.#held.get(operation)
    if (held && name.endsWith(held.ending)) await held.until
    this.#mayFail(operation, name)
    const result = await go()
    this.done.push(`${operation} ${name}`)
    return result
  }

  #mayFail(operation: Operation | 'open', name: string): void {
    const fault = this.#faults.get(operation)
    if (!fault || fault.times <= 0 || !name.startsWith('events-') || !name.endsWith(fault.ending)) return
    fault.times--
    throw Object.assign(new Error(`${fault.code}: ${operation}`), { code: fault.code })
  }
}

export type Bench = { hub: Hub; clock: VirtualClock; wall: HandWall; card: Card; words: string[] }
type Options = { segment_mib?: number; queue?: number; subscribers?: number; wall?: HandWall; card?: Card; clock?: VirtualClock }

/** Opens the events of a folder. */
export async function onBench(folder: string, options: Options = {}): Promise<Bench> {
  const { segment_mib = 8, queue = 1000, subscribers = 256, wall = new HandWall(), card = new Card(), clock = new VirtualClock() } = options
  const words: string[] = []
  const say = (message: string) => void words.push(message)
  const hub = await openEvents({
    folder,
    config: { system_id: 'system', events: { segment_mib, commit_ms: 100, queue }, limits: { subscribers } },
    log: { info: say, warn: say, error: say },
    clock,
    wall,
    open: card.open,
  })
  return { hub, clock, wall, card, words }
}

/** Emits `count` events, numbered in their context, and returns the last. */
export function emitMany(hub: Hub, count: number, execution_id = 'run-1', from = 0) {
  let last = hub.emit('CUSTOM.n.EMITTED', { n: from }, execution_id)
  for (let n = from + 1; n < from + count; n++) last = hub.emit('CUSTOM.n.EMITTED', { n }, execution_id)
  return last
}

/** Returns the numbers that `emitMany` gave to these events. */
export function counted(events: readonly { context: Record<string, unknown> }[]): number[] {
  return events.flatMap(({ context: { n } }) => (typeof n === 'number' ? [n] : []))
}

export function upTo(count: number, from = 0): number[] {
  return Array.from({ length: count }, (_, i) => from + i)
}

/** Resolves when the condition holds; checks it in each turn of the event loop. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(setImmediate)
}

/** A socket that takes everything, until a test makes it stall. */
export class Socket implements Outlet {
  text = ''
  isStalled = false
  end_: 'ended' | 'cut' | undefined
  #onDrain = () => {}

  write(bytes: Buffer | string): boolean {
    this.text += bytes
    return !this.isStalled
  }

  onDrain(call: () => void): void {
    this.#onDrain = call
  }

  end(how: 'ended' | 'cut'): void {
    this.end_ = how
  }

  drain(): void {
    this.isStalled = false
    this.#onDrain()
  }

  /** The numbers that `emitMany` gave to the received events. */
  get counted(): number[] {
    return counted(this.events)
  }

  get events(): { event_name: string; context: Record<string, unknown> }[] {
    return [...this.text.matchAll(/^data: (.*)$/gm)].map(([, json]) => JSON.parse(json!))
  }

  get ids(): number[] {
    return [...this.text.matchAll(/\}\nid: (\d+)$/gm)].map(([, id]) => Number(id))
  }
}

/** A socket that takes a large piece and wants no more until the next tick, as Node's sockets do. */
export class BusySocket extends Socket {
  #drainSoon = () => {}

  override write(bytes: Buffer | string): boolean {
    super.write(bytes)
    process.nextTick(() => this.#drainSoon())
    return false
  }

  override onDrain(call: () => void): void {
    this.#drainSoon = call
  }
}
