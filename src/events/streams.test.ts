import { test } from 'tap'
import { type Bench, BusySocket, Card, emitMany, onBench, Socket, until, upTo } from '../testing/events.ts'

type Hub = Bench['hub']

test('a frame is an event line, a data line with one JSON object, an id and an empty line', async (t) => {
  const { hub } = await onBench(t.testdir())
  const socket = new Socket()
  hub.streams.subscribe({ outlet: socket })
  const event = hub.emit('CUSTOM.a.EMITTED', { text: 'a\r\ndata: x\n\nevent: y\n\u2028' }, 'run-1')
  await hub.stored(event)
  t.equal(socket.text, `retry: 2000\nid: 0\n\nevent: runtime_event\ndata: ${JSON.stringify(event)}\nid: 1\n\n`)
  await hub.close()
})

test('a stalled subscriber gets exactly the newest thousand, in order, and is told what it lost; the others lose nothing', async (t) => {
  const { hub } = await onBench(t.testdir())
  const [stalled, other, busy] = [new Socket(), new Socket(), new BusySocket()]
  const subscription = hub.streams.subscribe({ outlet: stalled })
  hub.streams.subscribe({ outlet: other })
  hub.streams.subscribe({ outlet: busy })
  stalled.isStalled = true
  await hub.stored(emitMany(hub, 1))
  t.same(stalled.counted, [0])
  await inHeaps(hub, 3000, 1)
  t.same(stalled.counted, [0])
  stalled.drain()
  t.same(stalled.counted, [0, ...upTo(1000, 2001)])
  t.match(stalled.text, /id: 1\n\n: dropped 2000\n\nevent: runtime_event/)
  t.equal(subscription.dropped, 2000)
  t.equal(hub.streams.dropped, 2000)
  t.same(other.counted, upTo(3001))
  t.same(busy.counted, upTo(3001))
  await hub.close()
})

test('who takes all it is given loses nothing of a burst far larger than its queue', async (t) => {
  const { hub } = await onBench(t.testdir(), { queue: 100 })
  const busy = new BusySocket()
  hub.streams.subscribe({ outlet: busy })
  await hub.stored(emitMany(hub, 10_000))
  t.same(busy.counted, upTo(10_000))
  t.equal(hub.streams.dropped, 0)
  await hub.close()
})

test('no turn of the event loop writes to more than 128 of many readers, and each of them gets everything', async (t) => {
  const { hub } = await onBench(t.testdir(), { queue: 100 })
  const sockets = Array.from({ length: 200 }, () => new BusySocket())
  for (const [i, socket] of sockets.entries()) hub.streams.subscribe({ outlet: socket, ...(i % 2 && { execution_id: 'run-1' }) })
  const before = sockets.map(({ text }) => text.length)
  const served = () => sockets.filter(({ text }, i) => text.length > before[i]!).length
  const counts: number[] = []
  const end = hub.log.onShown(() => counts.push(served()))
  await hub.stored(emitMany(hub, 1, 'run-1'))
  end()
  for (; served() < 200; counts.push(served())) await new Promise(setImmediate)
  for (const [i, count] of counts.entries()) t.ok(count - (counts[i - 1] ?? 0) <= 128, `${counts}`)
  await hub.stored(emitMany(hub, 2000, 'run-1', 1))
  for (let turns = 0; turns < 10; turns++) await new Promise(setImmediate)
  for (const { counted } of sockets) t.same(counted, upTo(2001))
  t.equal(hub.streams.dropped, 0)
  await hub.close()
})

test('a turn writes to no more of them where the next events come before every reader has had the last ones', async (t) => {
  const { hub } = await onBench(t.testdir(), { queue: 1000 })
  hub.streams.allow(600)
  let writes = 0
  const sockets = Array.from({ length: 600 }, () => new BusySocket())
  for (const socket of sockets) {
    hub.streams.subscribe({ outlet: socket })
    const write = socket.write.bind(socket)
    socket.write = (bytes) => {
      writes++
      return write(bytes)
    }
  }
  let n = 0
  const next = () => n < 100 && hub.emit('CUSTOM.n.EMITTED', { n: n++ }, 'run-1')
  hub.log.onShown(next)
  next()
  let most = 0
  while (sockets.some(({ text }) => !text.includes('"n":99'))) {
    const before = writes
    await new Promise(setImmediate)
    most = Math.max(most, writes - before)
  }
  // A round may end and another begin between two looks.
  t.ok(most <= 256, `${most}`)
  t.same([...new Set(sockets.map(({ counted }) => counted.join()))], [upTo(100).join()])
  t.equal(hub.streams.dropped, 0)
  await hub.close()
})

test('the stream of one execution counts its own events only', async (t) => {
  const { hub } = await onBench(t.testdir())
  const own = new Socket()
  hub.streams.subscribe({ outlet: own, execution_id: 'run-1' })
  own.isStalled = true
  await hub.stored(emitMany(hub, 1, 'run-1'))
  await hub.stored(emitMany(hub, 1000, 'run-1', 1))
  await inHeaps(hub, 2000, 5000, 'run-2')
  own.drain()
  t.same(own.counted, upTo(1001))
  await hub.close()
})

test('a stream that is taken up again has no gap and no double, while events go on', async (t) => {
  const folder = t.testdir()
  const before = await onBench(folder, { segment_mib: 0.1 })
  emitMany(before.hub, 3000)
  await before.hub.close()
  const { hub } = await onBench(folder, { segment_mib: 0.1 })
  const sockets = [0, 1, 250, 2999, 3000].map((after_seq) => {
    const socket = after_seq % 2 ? new BusySocket() : new Socket()
    hub.streams.subscribe({ outlet: socket, after_seq })
    return { socket, after_seq }
  })
  await inHeaps(hub, 2000, 3000)
  for (const { socket, after_seq } of sockets) {
    await until(() => socket.ids.at(-1) === 5000)
    t.same(socket.ids, upTo(5000 - after_seq, after_seq + 1), `after ${after_seq}`)
    t.same(socket.counted, upTo(5000 - after_seq, after_seq))
  }
  await hub.close()
})

test('a stream of one execution is taken up again with its own events only', async (t) => {
  const { hub } = await onBench(t.testdir(), { segment_mib: 0.1 })
  for (let i = 0; i < 3000; i++) emitMany(hub, 1, `run-${i % 3}`, i)
  await hub.log.until()
  const socket = new Socket()
  hub.streams.subscribe({ outlet: socket, after_seq: 1500, execution_id: 'run-1' })
  await until(() => socket.ids.at(-1)! >= 2999)
  for (let i = 3000; i < 3010; i++) emitMany(hub, 1, `run-${i % 3}`, i)
  await hub.log.until()
  t.same(
    socket.counted,
    upTo(3010).filter((n) => n >= 1500 && n % 3 === 1),
  )
  await hub.close()
})

test('a reader from the log takes its time: it does not lose what a slow live one would', async (t) => {
  const { hub } = await onBench(t.testdir(), { segment_mib: 0.5 })
  await hub.stored(emitMany(hub, 5000))
  const socket = new Socket()
  socket.isStalled = true
  hub.streams.subscribe({ outlet: socket, after_seq: 0 })
  await inHeaps(hub, 3000, 5000)
  t.ok(socket.counted.length < 5000)
  while (socket.ids.at(-1) !== 8000) {
    socket.drain()
    await new Promise(setImmediate)
  }
  t.same(socket.counted, upTo(8000))
  t.notMatch(socket.text, /dropped/)
  await hub.close()
})

test('an id beyond the log is told as a gap, and what comes is live', async (t) => {
  const { hub } = await onBench(t.testdir())
  await hub.stored(emitMany(hub, 3))
  const socket = new Socket()
  hub.streams.subscribe({ outlet: socket, after_seq: 77 })
  await hub.stored(emitMany(hub, 1, 'run-1', 3))
  t.match(socket.text, /^: gap$/m)
  t.same(socket.counted, [3])
  await hub.close()
})

test('events that are in memory only are taken up again too', async (t) => {
  const card = new Card()
  const { hub } = await onBench(t.testdir(), { card })
  await hub.stored(emitMany(hub, 3))
  card.fail('write', 'ENOSPC')
  await hub.stored(emitMany(hub, 3, 'run-1', 3))
  const socket = new Socket()
  hub.streams.subscribe({ outlet: socket, after_seq: 1 })
  await until(() => socket.counted.length === 5)
  t.same(socket.counted, upTo(5, 1))
  t.match(socket.text, /^: not stored$/m)
  await hub.close()
})

test('a ping goes out every fifteen seconds, or as asked', async (t) => {
  const { hub, clock } = await onBench(t.testdir())
  const [usual, quick] = [new Socket(), new Socket()]
  hub.streams.subscribe({ outlet: usual })
  hub.streams.subscribe({ outlet: quick, heartbeat_s: 2 })
  await clock.advance(30_000)
  t.equal(usual.text.split(': ping\n\n').length - 1, 2)
  t.equal(quick.text.split(': ping\n\n').length - 1, 15)
  await hub.close()
})

test('who takes nothing for a minute is cut off, who has nothing to take is not', async (t) => {
  const { hub, clock } = await onBench(t.testdir())
  const [stalled, idle] = [new Socket(), new Socket()]
  hub.streams.subscribe({ outlet: idle })
  stalled.isStalled = true
  hub.streams.subscribe({ outlet: stalled })
  await clock.advance(59_000)
  t.equal(stalled.end_, undefined)
  await clock.advance(2000)
  t.same([stalled.end_, idle.end_], ['cut', undefined])
  t.equal(hub.streams.subscribers, 1)
  await clock.advance(600_000)
  t.equal(idle.end_, undefined)
  await hub.close()
  t.equal(idle.end_, 'ended')
})

test('one subscriber too many is refused, and a place that is left is free again', async (t) => {
  const { hub } = await onBench(t.testdir(), { subscribers: 2 })
  const first = hub.streams.subscribe({ outlet: new Socket() })
  hub.streams.subscribe({ outlet: new Socket(), execution_id: 'run-1' })
  t.throws(() => hub.streams.subscribe({ outlet: new Socket() }), { code: 'overloaded' })
  first.close()
  hub.streams.subscribe({ outlet: new Socket() })
  await hub.close()
})

test('an outlet that throws is cut off and harms nobody else', async (t) => {
  const { hub, words } = await onBench(t.testdir())
  const [bad, good] = [new Socket(), new Socket()]
  hub.streams.subscribe({ outlet: bad })
  hub.streams.subscribe({ outlet: good })
  bad.write = () => {
    throw new Error('broken pipe')
  }
  await hub.stored(emitMany(hub, 3))
  t.same([bad.end_, good.counted.length], ['cut', 3])
  t.match(words[0], /broken pipe/)
  await hub.close()
})

/** As the runtime emits: a few at a time, with turns of the event loop between. */
async function inHeaps(hub: Hub, count: number, from: number, execution_id = 'run-1'): Promise<void> {
  for (let done = 0; done < count; done += 100) {
    emitMany(hub, Math.min(100, count - done), execution_id, from + done)
    await new Promise(setImmediate)
  }
  await hub.log.until()
}
