// Who is there, over a real NATS server.

import { test } from 'tap'
import { VirtualClock } from '../kit/clock.ts'
import { testBroker } from '../testing/broker.ts'
import { fleetBench, until } from '../testing/fleet.ts'
import { openTestBench } from '../testing/http.ts'
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
    {
      name: 'two',
      url: 'http://two.lab:8520',
      epoch: two.fleet.status().epoch,
      machine: 'machine-b',
      devices: { ready: 2 },
      positions: ['out'],
    },
  ])
  await two.close()
  const three = await fleetBench(t, `${folder}/three`, broker.url, { name: 'three' })
  await until(() => three.fleet.benches().some(({ name }) => name === 'two'))
  t.match(
    three.fleet.benches().find(({ name }) => name === 'two'),
    { state: 'unknown', heard_s: null },
  )
})

withBroker('a bench tells the lab the positions for hand-over of its topologies', async (t) => {
  const broker = await testBroker(t)
  const positions = { pad: {}, out: { handover: true }, in: { handover: true } }
  const topology = { format: 1, name: 'exporting', transporters: { arm: { positions: ['pad', 'out', 'in'] } }, positions }
  const many = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`${i}`.padStart(128, 'x'), { handover: true }]))
  const large = { format: 1, name: 'large', transporters: { arm: { positions: Object.keys(many) } }, positions: many }
  const folder = t.testdir({ data: {}, topologies: { 'exporting.json': JSON.stringify(topology), 'large.json': JSON.stringify(large) } })
  const fleet = { servers: [broker.url], lab: 'floor-2', name: 'prep' }
  const { ask } = await openTestBench(t, { fleet }, { folder: `${folder}/data`, topologies: `${folder}/topologies` })
  const other = await fleetBench(t, t.testdir({}), broker.url, { name: 'read', machine: 'machine-b' })
  await until(() => other.fleet.benches().some(({ name, state }) => name === 'prep' && state === 'here'))
  const [prep] = other.fleet.benches()
  t.same(prep?.positions.slice(0, 2), ['in', 'out'])
  t.equal(prep?.positions.length, 32)
  const reply = await ask('GET', '/api/lab')
  t.match(reply.body, { link: { name: 'prep', state: 'connected' }, benches: [{ name: 'prep' }] })
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

const entryBefore = {
  url: 'http://two.lab',
  fingerprint: null,
  version: '1',
  epoch: 'e',
  machine: 'm',
  health: 'ok',
  devices: {},
  incidents: 0,
}
const entry = { ...entryBefore, positions: [] }

test('the time since a bench was heard is counted from the arrival; without the broker nothing is known', async (t) => {
  const clock = new VirtualClock()
  const presence = new Presence({ clock, own: { bench: 'one', entry: () => entry } })
  const { link, say, store, put } = spoken()
  // An older version tells no positions.
  store('old', JSON.stringify(entryBefore))
  const ended = new AbortController()
  const running = presence.run(link, ended.signal)
  await clock.advance(0)
  say('two', JSON.stringify({ ...entry, of_tomorrow: 1 }))
  await clock.advance(100)
  const states = () => presence.benches().map(({ name, state, heard_s }) => `${name} ${state} ${heard_s}`)
  t.same(states(), ['old unknown null', 'two here 0.1'])
  t.same(presence.benches()[0]!.positions, [])
  await clock.advance(33_900)
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
  const presence = new Presence({ clock, own: { bench: 'one', entry: () => entry } })
  const { link, say } = spoken()
  const ended = new AbortController()
  const running = presence.run(link, ended.signal)
  const bad = [
    'nonsense',
    '{}',
    JSON.stringify({ ...entry, url: 'javascript:alert(1)' }),
    JSON.stringify({ ...entry, url: 'http://x"onclick=' }),
    JSON.stringify({ ...entry, version: 'x'.repeat(300) }),
    JSON.stringify({ ...entry, positions: Array(33).fill('out') }),
    `${JSON.stringify(entry)}${' '.repeat(25_000)}`,
  ]
  for (const [i, text] of bad.entries()) say(`bad-${i}`, text)
  say('a.b', JSON.stringify(entry))
  await clock.advance(1000)
  t.same(presence.benches(), [])
  for (let i = 0; i < 1100; i += 100) {
    for (let j = i; j < i + 100; j++) say(`many-${j}`, JSON.stringify(entry))
    await clock.advance(1000)
  }
  t.equal(presence.benches().length, 1000)
  ended.abort()
  await running
})

test('of a flood of entries only ten are parsed in a tenth of a second, the newest of each bench; a bench that could not wait is heard later', async (t) => {
  const clock = new VirtualClock()
  const presence = new Presence({ clock })
  const { link, say } = spoken()
  const ended = new AbortController()
  const running = presence.run(link, ended.signal)
  for (let i = 0; i < 1000; i++) say(`many-${i}`, JSON.stringify(entry))
  for (let incidents = 1; incidents <= 5000; incidents++) say('many-0', JSON.stringify({ ...entry, incidents }))
  t.same(presence.benches(), [])
  await clock.advance(100)
  t.same(
    presence.benches().map(({ name, incidents }) => `${name} ${incidents}`),
    ['many-0 5000', ...Array.from({ length: 9 }, (_, i) => `many-${i + 1} 0`)],
  )
  await clock.advance(60_000)
  t.equal(presence.benches().length, 200)
  say('many-999', JSON.stringify(entry))
  await clock.advance(100)
  t.ok(presence.benches().some(({ name }) => name === 'many-999'))
  say('two', JSON.stringify(entry))
  ended.abort()
  await running
  await clock.advance(1000)
  t.equal(presence.benches().length, 201)
})

test('names that no bench can have take no place among those that are read at the start', async (t) => {
  const clock = new VirtualClock()
  const presence = new Presence({ clock })
  const { link, store } = spoken()
  for (let i = 0; i < 1000; i++) store(`a.${i}`, JSON.stringify(entry))
  store('two', JSON.stringify(entry))
  const ended = new AbortController()
  const running = presence.run(link, ended.signal)
  await clock.advance(0)
  t.match(presence.benches(), [{ name: 'two' }])
  ended.abort()
  await running
})
