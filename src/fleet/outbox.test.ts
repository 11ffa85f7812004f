// The outbox against a real NATS server: whatever happens to the server, the network or the bench, the stream has each event once, in order.

import { cpSync, rmSync } from 'node:fs'
import { halfOpenProxy, testBroker } from '../testing/broker.ts'
import { emitMany, upTo } from '../testing/events.ts'
import { countedIn, fleetBench, linesOf, sentAll, until } from '../testing/fleet.ts'
import { withBroker } from '../testing/with_broker.ts'
import { headerNames } from './history.ts'

withBroker('events reach the stream in batches, with what a reader needs to tell them apart', async (t) => {
  const broker = await testBroker(t)
  const bench = await fleetBench(t, t.testdir({}), broker.url)
  emitMany(bench.hub, 1000)
  await sentAll(bench)
  const messages = await broker.messages()
  t.same(countedIn(messages), upTo(1000))
  t.ok(messages.length < 50, `${messages.length} messages`)
  const lines = linesOf(messages)
  t.same(lines[0], { bench: 'bench-1', epoch: bench.fleet.status().epoch, seq: 1, event: (await bench.hub.getEventsSince())[0] })
  const { subject, header } = messages[0]!
  t.equal(subject, 'bd.floor-2.evt.bench-1')
  t.equal(header('Nats-Msg-Id'), `bench-1:${bench.fleet.status().epoch}:1`)
  t.equal(header(headerNames.from), '1')
  t.equal(header(headerNames.to_crc), await bench.hub.log.crcOf(Number(header(headerNames.to))))
  t.equal(header(headerNames.lost), '')
  for (const { payload } of messages) t.ok(payload.length <= 65_536 && new TextDecoder().decode(payload).split('\n').length <= 201)
})

withBroker('the broker is killed three times during a flood: nothing is lost, doubled or out of order', async (t) => {
  const broker = await testBroker(t)
  const bench = await fleetBench(t, t.testdir({}), broker.url)
  for (let round = 0; round < 4; round++) {
    for (let part = 0; part < 10; part++) {
      emitMany(bench.hub, 250, 'run-1', round * 2500 + part * 250)
      await bench.hub.log.until()
      if (part === 5 && round < 3) await broker.kill()
    }
    await broker.start()
  }
  await sentAll(bench)
  t.same(countedIn(await broker.messages()), upTo(10_000))
})

withBroker('a store that is put back to an older copy gets again what it lost', async (t) => {
  const broker = await testBroker(t)
  const bench = await fleetBench(t, t.testdir({}), broker.url)
  emitMany(bench.hub, 300)
  await sentAll(bench)
  await broker.kill()
  broker.copyStore()
  await broker.start()
  emitMany(bench.hub, 300, 'run-1', 300)
  await sentAll(bench)
  await broker.kill()
  broker.putStoreBack()
  await broker.start()
  emitMany(bench.hub, 1, 'run-1', 600)
  await until(async () => countedIn(await broker.messages()).length === 601)
  t.same(countedIn(await broker.messages()), upTo(601))
})

withBroker('a broker that was never there is told once, and events wait for it, also over restarts of the bench', async (t) => {
  const broker = await testBroker(t)
  await broker.kill()
  const folder = t.testdir({})
  const first = await fleetBench(t, folder, broker.url)
  emitMany(first.hub, 500)
  await until(() => first.fleet.status().failure?.includes('connection refused') === true)
  t.match(first.fleet.status(), {
    state: 'away',
    waiting: null,
    failure: /^the broker nats:\S+ cannot be reached \(connection refused\): see that it runs$/,
  })
  await until(() => first.words.length > 0)
  t.equal(first.words.filter((word) => word.includes('cannot be reached')).length, 1)
  await first.close()
  const second = await fleetBench(t, folder, broker.url)
  emitMany(second.hub, 500, 'run-1', 500)
  await broker.start()
  await sentAll(second)
  t.same(countedIn(await broker.messages()), upTo(1000))
})

withBroker('a half-open connection is given up, and what was under way is sent once', async (t) => {
  const broker = await testBroker(t)
  const proxy = await halfOpenProxy(t, broker.port)
  const bench = await fleetBench(t, t.testdir({}), proxy.url)
  emitMany(bench.hub, 100)
  await sentAll(bench)
  proxy.swallow()
  emitMany(bench.hub, 100, 'run-1', 100)
  await until(() => bench.fleet.status().state === 'away')
  // Once it has tried again, the failure is that of the trial: it does not answer.
  t.match(bench.fleet.status().failure, /does not answer( any more)?$/)
  proxy.mend()
  await sentAll(bench)
  t.same(countedIn(await broker.messages()), upTo(200))
})

withBroker('messages of which no acknowledgement came are sent once, also when the broker has forgotten their ids meanwhile', async (t) => {
  // The bench gives the connection up after six seconds, and the broker remembers for a tenth of one.
  const broker = await testBroker(t, { duplicates_ms: 100 })
  const proxy = await halfOpenProxy(t, broker.port)
  const bench = await fleetBench(t, t.testdir({}), proxy.url)
  emitMany(bench.hub, 100)
  await sentAll(bench)
  proxy.swallowAnswers()
  emitMany(bench.hub, 100, 'run-1', 100)
  await until(() => bench.fleet.status().state === 'away')
  t.equal(bench.fleet.status().sent, 100)
  t.same(countedIn(await broker.messages()), upTo(200))
  proxy.mend()
  emitMany(bench.hub, 100, 'run-1', 200)
  await sentAll(bench)
  t.same(countedIn(await broker.messages()), upTo(300))
})

withBroker('a slow broker gets all events in order, and delays no event of the bench', async (t) => {
  const broker = await testBroker(t)
  const proxy = await halfOpenProxy(t, broker.port)
  const bench = await fleetBench(t, t.testdir({}), proxy.url)
  emitMany(bench.hub, 10)
  await sentAll(bench)
  proxy.slow(100)
  emitMany(bench.hub, 3000, 'run-1', 10)
  await bench.hub.log.until()
  t.equal((await bench.hub.getEventsSince()).length, 3010)
  t.match(bench.fleet.status(), { state: 'connected', failure: null })
  await sentAll(bench)
  t.same(countedIn(await broker.messages()), upTo(3010))
})

withBroker('a broker that stands still for a while delays nothing but its own messages', async (t) => {
  const broker = await testBroker(t)
  const bench = await fleetBench(t, t.testdir({}), broker.url)
  emitMany(bench.hub, 100)
  await sentAll(bench)
  broker.pause()
  emitMany(bench.hub, 1000, 'run-1', 100)
  await bench.hub.log.until()
  t.equal((await bench.hub.getEventsSince()).length, 1100)
  t.ok(bench.fleet.status().waiting! > 0)
  broker.resume()
  await sentAll(bench)
  t.same(countedIn(await broker.messages()), upTo(1100))
})

withBroker('a large event is a batch of its own, and one that the broker does not take is told by its size', async (t) => {
  const broker = await testBroker(t, { config: 'max_payload: 200000' })
  const { hub, ...bench } = await fleetBench(t, t.testdir({}), broker.url)
  const sizes = [10, 100_000, 20, 300_000, 30]
  for (const [n, size] of sizes.entries()) hub.emit('CUSTOM.n.EMITTED', { n, text: 'ä'.repeat(size / 2) }, 'run-1')
  await sentAll({ hub, ...bench })
  const messages = await broker.messages()
  const lines = linesOf(messages)
  t.same(
    lines.map(({ seq }) => seq),
    [1, 2, 3, 4, 5],
  )
  t.equal(messages.find(({ header }) => header(headerNames.from) === '2')!.header(headerNames.to), '2')
  t.equal(lines[1]!.event!.context.text, 'ä'.repeat(50_000))
  t.ok(lines[3]!.too_large! > 300_000)
  t.notOk('event' in lines[3]!)
})

withBroker('removing an execution sends a tombstone; the removed line at which the broker stands is still known', async (t) => {
  const broker = await testBroker(t)
  const folder = t.testdir({})
  const bench = await fleetBench(t, folder, broker.url)
  emitMany(bench.hub, 8000, 'run-1')
  const stood = await sentAll(bench)
  await broker.kill()
  // The newest line that is removed is another one than that at which the broker stands.
  bench.hub.emit('THREAD.plate.MOVING', {}, 'run-1')
  await bench.hub.log.until()
  await bench.hub.remove('run-1')
  // The segment is sealed, and the lines are cut out of it.
  emitMany(bench.hub, 8000, 'run-2', 8000)
  await bench.hub.log.until()
  await bench.hub.log.swept()
  t.equal((await bench.hub.getEventsForExecution('run-1')).length, 0)
  t.match(await bench.hub.log.crcOf(8000), /^[0-9a-f]{8}$/)
  await bench.close()
  const again = await fleetBench(t, folder, broker.url)
  await broker.start()
  await sentAll(again)
  const lines = linesOf(await broker.messages())
  t.equal(again.fleet.status().state, 'connected')
  t.same(
    lines.filter(({ event }) => event?.entity_type === 'RECORD').map(({ event }) => event?.context),
    [{ execution_id: 'run-1', through: 8001 }],
  )
  t.same(countedIn(await broker.messages()), upTo(16_000))
  t.equal(stood.lost, 0)
})

withBroker('a line at which the broker stands may be removed after a restart, while the broker is away', async (t) => {
  const broker = await testBroker(t)
  const folder = t.testdir({})
  const before = await fleetBench(t, folder, broker.url)
  emitMany(before.hub, 100, 'run-1')
  await sentAll(before)
  await broker.kill()
  emitMany(before.hub, 100, 'run-1', 100)
  await before.hub.log.until()
  await before.close()
  const after = await fleetBench(t, folder, broker.url)
  await after.hub.remove('run-1')
  // The segment is sealed, and the lines are cut out of it; the bench was not told yet that the broker stands at line 100.
  emitMany(after.hub, 8000, 'run-2', 200)
  await after.hub.log.until()
  await after.hub.log.swept()
  t.equal(await after.hub.log.crcOf(100), 'gone')
  await broker.start()
  await until(() => after.fleet.status().state === 'foreign' || after.fleet.status().waiting !== null)
  t.match(after.fleet.status(), { state: 'connected', failure: null })
  await sentAll(after)
  t.same(countedIn(await broker.messages()), [...upTo(100), ...upTo(8000, 200)])
  t.equal(after.fleet.status().lost, 100)
})

withBroker('events that were removed before they could be sent are counted, and an incident tells of them', async (t) => {
  const broker = await testBroker(t)
  const bench = await fleetBench(t, t.testdir({}), broker.url)
  emitMany(bench.hub, 10, 'run-1')
  await sentAll(bench)
  await broker.kill()
  emitMany(bench.hub, 25, 'run-2', 10)
  emitMany(bench.hub, 5, 'run-3', 35)
  await bench.hub.remove('run-2')
  await broker.start()
  await until(() => bench.fleet.status().lost === 25)
  await sentAll(bench)
  const messages = await broker.messages()
  t.same(countedIn(messages), [...upTo(10), ...upTo(5, 35)])
  t.same(messages.map(({ header }) => header(headerNames.lost)).filter(Boolean), ['25'])
  t.match(bench.hub.incidents.list()[0], { category: 'STORAGE', message: /^25 events never reached the lab/ })
})

withBroker('a cloned folder sends nothing where the other has gone on, and names both machines until a person decides', async (t) => {
  const broker = await testBroker(t)
  const folder = t.testdir({ first: {}, clone: {} })
  const first = await fleetBench(t, `${folder}/first`, broker.url, { machine: 'machine-a' })
  emitMany(first.hub, 100)
  await sentAll(first)
  await first.close()
  cpSync(`${folder}/first`, `${folder}/clone`, { recursive: true })
  const again = await fleetBench(t, `${folder}/first`, broker.url, { machine: 'machine-a' })
  emitMany(again.hub, 100, 'run-1', 100)
  await sentAll(again)
  const clone = await fleetBench(t, `${folder}/clone`, broker.url, { machine: 'machine-b' })
  emitMany(clone.hub, 300, 'run-1', 1000)
  await until(() => clone.fleet.status().state === 'foreign')
  t.match(clone.fleet.status(), { failure: /machine machine-a .* this is machine machine-b .* benchd lab new-epoch/ })
  t.match(clone.hub.incidents.list()[0], { category: 'OTHER', message: /machine-a.*machine-b/ })
  t.same(countedIn(await broker.messages()), upTo(200))
  await clone.fleet.newEpoch()
  await sentAll(clone)
  const lines = linesOf(await broker.messages())
  t.equal(new Set(lines.map(({ epoch }) => epoch)).size, 2)
  t.equal(lines.filter(({ epoch }) => epoch === clone.fleet.status().epoch).length, 100 + 301)
  // Now the first one is the stranger.
  emitMany(again.hub, 1, 'run-1', 200)
  await until(() => again.fleet.status().state === 'foreign')
  t.match(again.fleet.status().failure, /they are of machine machine-b/)
})

withBroker('another box with the name of a bench sends nothing; the same box with a new data folder goes on in a new epoch', async (t) => {
  const broker = await testBroker(t)
  const folder = t.testdir({ first: {}, other: {}, new: {} })
  const first = await fleetBench(t, `${folder}/first`, broker.url, { machine: 'machine-a' })
  emitMany(first.hub, 10)
  await sentAll(first)
  const other = await fleetBench(t, `${folder}/other`, broker.url, { machine: 'machine-b' })
  emitMany(other.hub, 10)
  await until(() => other.fleet.status().state === 'foreign')
  await first.close()
  await other.close()
  const fresh = await fleetBench(t, `${folder}/new`, broker.url, { machine: 'machine-a' })
  emitMany(fresh.hub, 10)
  await sentAll(fresh)
  const lines = linesOf(await broker.messages())
  t.same(
    lines.map(({ seq }) => seq),
    [...upTo(10, 1), ...upTo(10, 1)],
  )
  t.equal(new Set(lines.map(({ epoch }) => epoch)).size, 2)
})

withBroker('events that a crash took from the bench after they were sent stay, and the bench goes on behind them', async (t) => {
  const broker = await testBroker(t)
  const folder = t.testdir({ bench: {}, before: {} })
  const bench = await fleetBench(t, `${folder}/bench`, broker.url)
  emitMany(bench.hub, 10)
  await sentAll(bench)
  // As the card is at that moment: the power cut takes what comes after it.
  cpSync(`${folder}/bench`, `${folder}/before`, { recursive: true })
  emitMany(bench.hub, 5, 'run-1', 10)
  await sentAll(bench)
  await bench.close()
  const after = await fleetBench(t, `${folder}/before`, broker.url)
  emitMany(after.hub, 5, 'run-1', 20)
  await sentAll(after)
  t.same(countedIn(await broker.messages()), [...upTo(15), ...upTo(5, 20)])
  t.same(after.fleet.status().lost, 0)
})

withBroker('credentials that are refused are named, and work again without a restart', async (t) => {
  const user = (name: string, password: string) => `authorization { users: [ { user: ${name}, password: ${password} } ] }`
  const broker = await testBroker(t)
  const bench = await fleetBench(t, t.testdir({}), broker.url)
  emitMany(bench.hub, 10)
  await sentAll(bench)
  broker.reload(user('somebody', 'else'))
  emitMany(bench.hub, 10, 'run-1', 10)
  await until(() => /credentials/.test(bench.fleet.status().failure ?? ''))
  broker.reload('')
  await sentAll(bench)
  t.same(countedIn(await broker.messages()), upTo(20))
})

withBroker('the stop of a bench does not wait for a broker that is away or stands still', async (t) => {
  const broker = await testBroker(t)
  const bench = await fleetBench(t, t.testdir({}), broker.url)
  emitMany(bench.hub, 10)
  await sentAll(bench)
  broker.pause()
  emitMany(bench.hub, 10, 'run-1', 10)
  await bench.hub.log.until()
  // A close that waited for the broker would never resolve: the broker is woken only afterwards.
  await bench.close()
  broker.resume()
})

withBroker('a broker whose disk is full is told; with room again all events arrive', async (t) => {
  const broker = await testBroker(t, { room: '200KB' })
  const bench = await fleetBench(t, t.testdir({}), broker.url)
  emitMany(bench.hub, 3000)
  await until(() => /has no room left/.test(bench.fleet.status().failure ?? ''))
  t.ok(bench.fleet.status().sent < 3000)
  await broker.kill()
  broker.addRoom()
  await broker.start()
  await sentAll(bench)
  t.same(countedIn(await broker.messages()), upTo(3000))
})

withBroker('a restored backup goes on in a new epoch, behind the events that the broker has of this very log', async (t) => {
  const broker = await testBroker(t)
  const folder = t.testdir({})
  const before = await fleetBench(t, folder, broker.url)
  emitMany(before.hub, 10)
  const { epoch } = await sentAll(before)
  await before.close()
  // As a restore does that leaves the events alone: see care/restore.test.ts.
  for (const name of ['fleet.json', 'fleet.json.bak']) rmSync(`${folder}/${name}`)
  const after = await fleetBench(t, folder, broker.url)
  emitMany(after.hub, 10, 'run-1', 10)
  await sentAll(after)
  t.same(countedIn(await broker.messages()), upTo(20))
  const epochs = linesOf(await broker.messages()).map((line) => line.epoch)
  t.same(epochs, [...Array(10).fill(epoch), ...Array(10).fill(after.fleet.status().epoch)])
  t.not(after.fleet.status().epoch, epoch)
})
