// Who is there, over a real NATS server.

import { test } from 'tap'
import { VirtualClock } from '../kit/clock.ts'
import { testBroker } from '../testing/broker.ts'
import { fleetBench, until } from '../testing/fleet.ts'
import { withBroker } from '../testing/with_broker.ts'
import { Presence } from './presence.ts'
import type { Link } from './wire.ts'

withBroker('benches hear of each other, each fails alone, and one that was there before is known by name', async (t) => {
  const broker = await testBroker(t)
  const folder = t.testdir({ one: {}, two: {}, three: {} })
  const one = await fleetBench(t, `${folder}/one`, broker.url, { name: 'one' })
  const two = await fleetBench(t, `${folder}/two`, broker.url, { name: 'two', machine: 'machine-b' })
  await until(() => one.fleet.benches().filter(({ state }) => state === 'here').length === 2)
  t.match(one.fleet.benches(), [
    { name: 'one', url: 'http://one.lab:8520', epoch: one.fleet.status().epoch, machine: 'machine-a' },
    { name: 'two', url: 'http://two.lab:8520', epoch: two.fleet.status().epoch, machine: 'machine-b', devices: { ready: 2 } },
  ])
  await two.close()
  const three = await fleetBench(t, `${folder}/three`, broker.url, { name: 'three' })
  await until(() => three.fleet.benches().some(({ name }) => name === 'two'))
  t.match(
    three.fleet.benches().find(({ name }) => name === 'two'),
    { state: 'unknown', heard_s: null },
  )
})

/** A link on which a test speaks for the other benches. */
function spoken() {
  let hear: (subject: string, payload: Uint8Array) => void = () => {}
  const stored = new Map<string, Uint8Array>()
  const put: string[] = []
  const link = {
    listen(_: string, call: typeof hear) {
      hear = call
    },
    subjects: async () => [...stored.keys()],
    last: async (_: string, subject: string) => ({ payload: stored.get(subject) }),
    put: async (subject: string) => void put.push(subject),
  } as unknown as Link
  const say = (name: string, text: string) => hear(`$KV.bd_bench.${name}`, new TextEncoder().encode(text))
  return { link, say, put, store: (name: string, text: string) => stored.set(`$KV.bd_bench.${name}`, new TextEncoder().encode(text)) }
}

const entry = { url: 'http://two.lab', fingerprint: null, version: '1', epoch: 'e', machine: 'm', health: 'ok', devices: {}, incidents: 0 }

test('the time since a bench was heard is counted from the arrival; without the broker nothing is known', async (t) => {
  const clock = new VirtualClock()
  const presence = new Presence({ bench: 'one', clock, entry: () => entry })
  const { link, say, store, put } = spoken()
  store('old', JSON.stringify(entry))
  const ended = new AbortController()
  const running = presence.run(link, ended.signal)
  await clock.advance(0)
  say('two', JSON.stringify({ ...entry, of_tomorrow: 1 }))
  const states = () => presence.benches().map(({ name, state, heard_s }) => `${name} ${state} ${heard_s}`)
  t.same(states(), ['old unknown null', 'two here 0'])
  await clock.advance(34_000)
  t.same(states(), ['old unknown null', 'two here 34'])
  t.same(put.length, 4)
  await clock.advance(2000)
  t.same(states(), ['old silent null', 'two silent 36'])
  t.notOk('of_tomorrow' in presence.benches()[1]!)
  ended.abort()
  await running
  t.same(states(), ['old unknown null', 'two unknown 36'])
})

test('an entry that is none, or leads a browser astray, is not taken', async (t) => {
  const clock = new VirtualClock()
  const presence = new Presence({ bench: 'one', clock, entry: () => entry })
  const { link, say } = spoken()
  const ended = new AbortController()
  const running = presence.run(link, ended.signal)
  const bad = [
    'nonsense',
    '{}',
    JSON.stringify({ ...entry, url: 'javascript:alert(1)' }),
    JSON.stringify({ ...entry, url: 'http://x"onclick=' }),
    JSON.stringify({ ...entry, version: 'x'.repeat(300) }),
    `${JSON.stringify(entry)}${' '.repeat(9000)}`,
  ]
  for (const [i, text] of bad.entries()) say(`bad-${i}`, text)
  say('a.b', JSON.stringify(entry))
  t.same(presence.benches(), [])
  for (let i = 0; i < 1100; i++) say(`many-${i}`, JSON.stringify(entry))
  t.equal(presence.benches().length, 1000)
  ended.abort()
  await running
})
