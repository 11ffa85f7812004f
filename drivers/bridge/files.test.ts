// The files of an operation are fetched after its end, and concern neither the operation nor the line.

import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'tap'
import { readDescription } from '../../src/devices/description.ts'
import { inMemory } from '../../src/devices/descriptions.ts'
import type { DeviceFile } from '../../src/devices/device.ts'
import { messageOf } from '../../src/errors.ts'
import type { Clock } from '../../src/kit/clock.ts'
import type { BridgeLine } from '../transports/line.ts'
import { Bridge } from './bridge.ts'

const description = readDescription({
  protocol: 1,
  type: 'camera',
  model: 'Example',
  operations: { look: { seconds: 1, leaves_on: null } },
})
type Question = { id: number; method: string; params?: { operation_id: string; file?: number } }

/** A clock that the test sets. */
function handClock() {
  const timers = new Set<{ due: number; call(): void }>()
  let now = 0
  const after: Clock['after'] = (ms, call) => {
    const timer = { due: now + ms, call }
    timers.add(timer)
    return () => timers.delete(timer)
  }
  /** Lets a second pass. */
  const pass = () => {
    now += 1000
    for (const timer of timers) if (timer.due <= now && timers.delete(timer)) timer.call()
  }
  return { now: () => now, after, pass }
}

/** A camera whose program is the test. It gives this many files with each operation. */
function camera(count: number, bytes = 1) {
  const asked: Question[] = []
  const lost: ((reason: string) => void)[] = []
  const closed: (() => void)[] = []
  const kept: string[] = []
  let hear: (bytes: Uint8Array) => void = () => {}
  const clock = handClock()
  const line = {
    clock,
    state: 'open',
    write: (bytes: Uint8Array) => void asked.push(JSON.parse(Buffer.from(bytes).toString())),
    onBytes(listen: typeof hear) {
      hear = listen
    },
    onLost: (call: (reason: string) => void) => lost.push(call),
    onClosed: (call: () => void) => closed.push(call),
    giveUp: async (reason: string) => {
      for (const call of lost) call(reason)
    },
  } as unknown as BridgeLine
  const settings = { halt: 'message', halt_s: 5, move_timeout_s: 60, uninterruptible: false } as const
  const device = new Bridge({ device_id: 'd', type: 'camera', line, settings, kept: inMemory(description) })
  const attach = async ({ name, pieces }: DeviceFile) => {
    try {
      let text = ''
      for await (const piece of pieces) text += Buffer.from(piece)
      kept.push(`${name}: ${text}`)
    } catch (error) {
      kept.push(`${name}: not kept: ${messageOf(error)}`)
    }
  }
  const answer = (result: object, { id } = asked.at(-1)!) => hear(Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`))
  const begin = (operation_id: string) =>
    device.described.perform(
      { operation: 'look', params: {}, operation_id, deadline_s: 10, progressed() {}, attach },
      new AbortController().signal,
    )
  const look = async () => {
    const ended = begin('o')
    answer({ data: { n: 1 }, files: Array.from({ length: count }, (_, n) => ({ name: `${n}`, bytes })) })
    return ended
  }
  const settled = async () => {
    for (let turns = 0; turns < 50; turns++) await turn()
  }
  const close = () => {
    for (const call of closed) call()
  }
  return { device, line, clock, asked, kept, answer, begin, look, settled, close, piece: { base64: Buffer.from('x').toString('base64') } }
}

test('an operation ends with its values before its files are fetched; the next one is refused till then', async (t) => {
  const { device, asked, kept, answer, begin, look, settled, piece } = camera(2)
  t.match(await look(), { data: { n: 1 } })
  t.same(kept, [])
  await t.rejects(begin('p'), { code: 'busy' })
  for (const n of [0, 1]) {
    await settled()
    t.match(asked.at(-1), { method: 'file', params: { operation_id: 'o', file: n } })
    answer(piece)
  }
  await settled()
  t.same(kept, ['0: x', '1: x'])
  t.equal(device.described.fetching(), undefined)
  void begin('p')
  t.match(asked.at(-1), { method: 'perform', params: { operation_id: 'p' } })
})

test('a late answer costs its file alone, and neither the others nor the line', async (t) => {
  const { clock, asked, kept, answer, look, settled, piece, device } = camera(2)
  await look()
  await settled()
  const late = asked.at(-1)!
  for (let s = 0; s < 60 && kept.length === 0; s++) {
    clock.pass()
    await settled()
  }
  t.match(kept, [/^0: not kept: .*not answered file within 30 s/])
  answer(piece, late)
  answer(piece)
  await settled()
  t.match(kept, [/^0/, '1: x'])
  const check = device.check()
  answer({})
  await check
})

test('files are given up at once when the line is lost or closed, or the time for all is over', async (t) => {
  const ends = {
    lost: (one: ReturnType<typeof camera>) => void one.line.giveUp('unplugged'),
    closed: (one: ReturnType<typeof camera>) => one.close(),
    late: async (one: ReturnType<typeof camera>) => {
      // Each piece is in time, and the file has many.
      for (let s = 0; s < 121; s++) {
        one.clock.pass()
        if (s % 20 === 19) one.answer(one.piece)
        await one.settled()
      }
    },
  }
  for (const [name, end] of Object.entries(ends)) {
    const one = camera(16, 100)
    await one.look()
    await one.settled()
    await end(one)
    await one.settled()
    t.equal(one.kept.length, 1, name)
    t.match(one.kept, [/^0: not kept: .*nor are the 15 files after it/], name)
    t.equal(one.device.described.fetching(), undefined, name)
  }
})
