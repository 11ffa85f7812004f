// A stop of a bridge is confirmed by the answer of its program to that stop, by the end of the program, or by the good end of the operation under way.

import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'tap'
import { readDescription } from '../../src/devices/description.ts'
import { inMemory } from '../../src/devices/descriptions.ts'
import { systemClock } from '../../src/kit/clock.ts'
import type { BridgeLine } from '../transports/line.ts'
import { Bridge, type Settings } from './bridge.ts'

const description = readDescription({
  protocol: 1,
  type: 'oven',
  model: 'Example',
  operations: { bake: { seconds: 60, leaves_on: 'motion' } },
})

type Asked = { id: number; method: string }

/** A bridge whose program is the test. */
function bridge(halt: Settings['halt']) {
  const asked: Asked[] = []
  const lost: ((reason: string) => void)[] = []
  let state: BridgeLine['state'] = 'open'
  let hear: (bytes: Uint8Array) => void = () => {}
  const giveUp = async (reason: string) => {
    state = 'lost'
    for (const call of lost) call(reason)
  }
  const line = {
    get state() {
      return state
    },
    clock: systemClock,
    write(bytes: Uint8Array) {
      if (state !== 'open') throw new Error('it is not open')
      asked.push(JSON.parse(Buffer.from(bytes).toString()))
    },
    onBytes(listen: typeof hear) {
      hear = listen
    },
    onLost: (call: (reason: string) => void) => lost.push(call),
    onClosed() {},
    giveUp,
  } as unknown as BridgeLine
  const settings = { halt, halt_s: 5, move_timeout_s: 60, uninterruptible: false }
  const device = new Bridge({ device_id: 'd', type: 'oven', line, settings, kept: inMemory(description) })
  const say = (message: object) => hear(Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`))
  const bake = () =>
    device.described.perform(
      { operation: 'bake', params: {}, operation_id: 'o', deadline_s: 90, progressed() {} },
      new AbortController().signal,
    )
  const reopen = () => {
    state = 'open'
  }
  return { device, asked, say, giveUp, bake, reopen }
}

/** How the halt stands, after a moment. */
async function outcomeOf(halting: Promise<void>): Promise<string> {
  const settled = halting.then(
    () => 'confirmed',
    () => 'not confirmed',
  )
  const soon = (async () => {
    for (let turns = 0; turns < 20; turns++) await turn()
    return 'under way'
  })()
  return Promise.race([settled, soon])
}

test('an echo of the halt confirms nothing', async (t) => {
  const { device, asked, say } = bridge('message')
  const halting = device.halt()
  say(asked[0]!)
  t.equal(await outcomeOf(halting), 'not confirmed')
})

test('an answer to what was asked before confirms nothing, and the answer to the halt does', async (t) => {
  const { device, asked, say, bake } = bridge('message')
  bake().catch(() => undefined)
  const halting = device.halt()
  say({ id: asked[0]!.id, result: {} })
  t.equal(await outcomeOf(halting), 'under way')
  say({ id: asked[1]!.id, result: {} })
  t.equal(await outcomeOf(halting), 'confirmed')
})

test('a halt that a program answers with an error, or that it never hears, is not confirmed', async (t) => {
  const { device, asked, say, giveUp } = bridge('message')
  const first = device.halt()
  say({ id: asked[0]!.id, error: { code: -32_000, message: 'its port is gone' } })
  t.equal(await outcomeOf(first), 'not confirmed')
  await giveUp('it ended')
  await t.rejects(device.halt(), { code: 'stop_not_sent' })
})

test('where nothing halts it, only the good end of what was under way shows that it stands', async (t) => {
  for (const end of ['well', 'refused', 'failed', 'lost'] as const) {
    const { device, asked, say, giveUp, bake, reopen } = bridge('none')
    t.equal(device.unhaltable, 'all')
    bake().catch(() => undefined)
    const halting = device.halt()
    t.equal(await outcomeOf(halting), 'under way')
    t.same(
      asked.map(({ method }) => method),
      ['perform'],
    )
    const { id } = asked[0]!
    if (end === 'well') say({ id, result: {} })
    else if (end === 'lost') await giveUp('it ended')
    else say({ id, error: { code: -32_000, message: 'no', data: { reason: end === 'refused' ? 'interlock' : 'device_failed' } } })
    const confirmed = end === 'well' || end === 'refused' ? 'confirmed' : 'not confirmed'
    t.equal(await outcomeOf(halting), confirmed, end)
    reopen()
    t.equal(await outcomeOf(device.halt()), confirmed, `${end}, and stopped again`)
  }
})
