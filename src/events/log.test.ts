import { copyFileSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { crc32 } from 'node:zlib'
import { test } from 'tap'
import { type Bench, Card, counted, emitMany, onBench, Socket, someDay, until, upTo } from '../testing/events.ts'
import type { RuntimeEvent } from './event.ts'
import type { Query } from './log_reader.ts'
import { verifyLog } from './log_verify.ts'

/** So small that a segment holds a few hundred of `emitMany`. */
const small = { segment_mib: 0.1 }

test('every line is JSON of its own: an envelope with a checksum around the event', async (t) => {
  const { hub, folder } = await bench(t.testdir())
  const event = hub.emit('CUSTOM.a.EMITTED', { text: 'ü\n"\u2028😀' }, 'run-1')
  await hub.close()
  const [line] = linesOf(folder)
  const { crc, seq, boot, mono, sync, event: stored } = JSON.parse(line!)
  t.same(stored, JSON.parse(JSON.stringify(event)))
  t.match({ crc, seq, boot, mono, sync }, { crc: /^[0-9a-f]{8}$/, seq: 1, boot: /^[0-9a-f]{8}$/, mono: 0, sync: 0 })
  t.equal(line!.indexOf('{"event_name"'), 100)
  t.equal(crc32(line!.slice(18)), Number.parseInt(crc, 16))
})

test('half a surrogate pair, which some readers of JSON refuse, is in no line; what looks like one is left alone', async (t) => {
  const { hub, folder } = await bench(t.testdir())
  hub.emit('CUSTOM.a\ud800b.EMITTED', { text: 'x\udfff\ud83d', pair: '😀', plain: '\\ud800 \\\\udc00', mixed: '\\\udc00"' }, 'run-\udbff')
  t.equal((await hub.getEventsForExecution('run-\udbff')).length, 1)
  await hub.close()
  const [line] = linesOf(folder)
  t.match(JSON.parse(line!).event, {
    event_name: 'CUSTOM.a\ufffdb.EMITTED',
    execution_id: 'run-\ufffd',
    context: { text: 'x\ufffd\ufffd', pair: '😀', plain: '\\ud800 \\\\udc00', mixed: '\\\ufffd"' },
  })
  t.notMatch(line!.replaceAll('\\\\', ''), /\\ud/)
})

test('an event is made into JSON once, whoever reads it', async (t) => {
  const { hub } = await bench(t.testdir())
  const [everything, own] = [new Socket(), new Socket()]
  hub.streams.subscribe({ outlet: everything })
  hub.streams.subscribe({ outlet: own, execution_id: 'run-1' })
  const real = JSON.stringify
  let calls = 0
  JSON.stringify = (value: unknown) => {
    for (const one of [value].flat()) if ((one as RuntimeEvent).event_name) calls++
    return real(value)
  }
  t.teardown(() => {
    JSON.stringify = real
  })
  const last = emitMany(hub, 20)
  await hub.stored(last)
  await bytesOf(hub, {})
  t.same([everything.counted.length, own.counted.length, calls], [20, 20, 20])
  await hub.close()
})

test('what is answered is the bytes of the log, joined by commas', async (t) => {
  const { hub, folder } = await bench(t.testdir(), small)
  await hub.stored(emitMany(hub, 1000))
  const text = await bytesOf(hub, {})
  t.equal(
    text,
    linesOf(folder)
      .map((line) => line.slice(100, -1))
      .join(','),
  )
  await hub.close()
})

test('nobody is shown an event before it is in the file', async (t) => {
  const { hub, card } = await bench(t.testdir())
  const socket = new Socket()
  hub.streams.subscribe({ outlet: socket })
  await hub.stored(emitMany(hub, 1))
  const letGo = card.hold('write')
  const last = emitMany(hub, 5, 'run-1', 1)
  await turns(10)
  t.same([socket.counted, counted(await answer(hub, {}))], [[0], [0]])
  letGo()
  await hub.stored(last)
  t.same([socket.counted, counted(await answer(hub, {}))], [upTo(6), upTo(6)])
  await hub.close()
})

test('a fault is on the card before it is shown, and holds back what follows, not what went before', async (t) => {
  const { hub, card, folder } = await bench(t.testdir())
  const socket = new Socket()
  hub.streams.subscribe({ outlet: socket })
  await hub.stored(hub.emit('A.FIRST', {}))
  const letGo = card.hold('datasync')
  hub.emit('A.BEFORE', {})
  hub.emit('DEVICE.s.FAULTED', {})
  const last = hub.emit('A.AFTER', {})
  await until(() => socket.events.length > 1)
  await turns(10)
  t.same(
    socket.events.map(({ event_name }) => event_name),
    ['A.FIRST', 'A.BEFORE'],
  )
  t.equal((await answer(hub, {})).length, 2)
  t.equal(linesOf(folder).length, 4)
  letGo()
  await hub.stored(last)
  t.same(
    socket.events.map(({ event_name }) => event_name),
    ['A.FIRST', 'A.BEFORE', 'DEVICE.s.FAULTED', 'A.AFTER'],
  )
  await hub.close()
})

test('what was written is synced within the time of a commit, once for all of it', async (t) => {
  const { hub, card, clock } = await bench(t.testdir())
  for (let i = 0; i < 3; i++) await hub.stored(emitMany(hub, 10))
  const synced = () => card.done.filter((what) => what.startsWith('datasync')).length
  await clock.advance(99)
  t.equal(synced(), 0)
  await clock.advance(1)
  await until(() => synced() > 0)
  await clock.advance(1000)
  t.equal(synced(), 1)
  await hub.close()
})

test('what is written during a sync waits no longer for the next than what is written before one', async (t) => {
  const { hub, card, clock } = await bench(t.testdir())
  const synced = () => card.done.filter((what) => what.startsWith('datasync')).length
  await hub.stored(emitMany(hub, 1))
  const letGo = card.hold('datasync')
  await clock.advance(100)
  await hub.stored(emitMany(hub, 1))
  await clock.advance(90)
  letGo()
  await until(() => synced() === 1)
  await clock.advance(10)
  await until(() => synced() === 2)
  t.equal(clock.now(), 200)
  await hub.close()
})

test('the folder is synced when a segment is made, before anything in it counts', async (t) => {
  const { hub, card } = await bench(t.testdir(), small)
  await hub.stored(emitMany(hub, 1000))
  const made = card.done.filter((what) => /open events-\d+\.jsonl wx|sync events$|^write events-/.test(what))
  const first = made.findIndex((what) => what.startsWith('write'))
  t.match(made[0], /open events-000001\.jsonl wx/)
  t.ok(made.slice(0, first).includes('sync events'))
  const second = made.findIndex((what) => what.includes('events-000002.jsonl wx'))
  t.equal(made[second + 1], 'sync events')
  await hub.close()
})

test('all events are there after a restart, in order, and it goes on behind them', async (t) => {
  const { hub, folder, wall } = await bench(t.testdir(), small)
  emitMany(hub, 1000)
  await hub.close()
  const after = await bench(folder, { ...small, wall })
  const last = emitMany(after.hub, 10, 'run-1', 1000)
  await after.hub.stored(last)
  const all = await after.hub.getEventsSince()
  t.same(counted(all), upTo(1010))
  t.ok(all.every(({ timestamp }, i) => i === 0 || timestamp > all[i - 1]!.timestamp))
  t.equal(after.hub.log.shown.seq, 1010)
  await after.hub.close()
})

test('a segment that was begun, and nothing more, hides nothing at the next start', async (t) => {
  const { hub, folder, wall } = await bench(t.testdir(), small)
  const last = emitMany(hub, 1000)
  await hub.close()
  writeFileSync(`${folder}/events/events-000099.jsonl`, '')
  wall.us = someDay - 1_000_000
  const after = await bench(folder, { ...small, wall })
  t.same(counted(await after.hub.getEventsSince()), upTo(1000))
  const next = emitMany(after.hub, 1, 'run-1', 1000)
  t.ok(next.timestamp > last.timestamp)
  await after.hub.stored(next)
  t.equal(after.hub.log.shown.seq, 1001)
  t.same(counted(await after.hub.getEventsSince()), upTo(1001))
  await after.hub.close()
})

test('an old segment that was copied under a higher number sets neither numbers nor times back', async (t) => {
  const { hub, folder, wall } = await bench(t.testdir(), small)
  const last = emitMany(hub, 1000)
  await hub.close()
  copyFileSync(fileOf(folder), `${folder}/events/events-000099.jsonl`)
  wall.us = someDay - 1_000_000
  const after = await bench(folder, { ...small, wall })
  t.same(after.hub.log.shown, { seq: 1000, us: Math.round(last.timestamp * 1e6) })
  const next = emitMany(after.hub, 1, 'run-1', 1000)
  t.ok(next.timestamp > last.timestamp)
  await after.hub.stored(next)
  t.equal(after.hub.log.shown.seq, 1001)
  t.same(counted(await after.hub.getEventsSince()), upTo(1001))
  await after.hub.close()
})

test('only the last segment is read at the start, where sidecars are there', async (t) => {
  const { hub, folder } = await bench(t.testdir(), small)
  emitMany(hub, 3000)
  await hub.close()
  const names = segmentsOf(folder)
  t.ok(names.length > 3)
  const card = new Card()
  const after = await bench(folder, { ...small, card })
  t.same(
    card.done.filter((what) => what.includes('.jsonl')).filter((what) => what.startsWith('open')),
    [`open ${names.at(-1)} r`],
  )
  t.same(counted(await after.hub.getEventsSince()), upTo(3000))
  await after.hub.close()
})

test('sidecars that are missing, empty or nonsense are made anew from the log', async (t) => {
  const { hub, folder } = await bench(t.testdir(), small)
  emitMany(hub, 3000)
  await hub.close()
  const sidecars = readdirSync(`${folder}/events`).filter((name) => name.endsWith('.idx.json'))
  const before = sidecars.map((name) => readFileSync(`${folder}/events/${name}`, 'utf8'))
  rmSync(`${folder}/events/${sidecars[0]}`)
  writeFileSync(`${folder}/events/${sidecars[1]}`, '')
  writeFileSync(`${folder}/events/${sidecars[2]}`, '{"format":1,"bytes":12')
  const after = await bench(folder, small)
  t.same(counted(await after.hub.getEventsSince()), upTo(3000))
  await after.hub.log.indexed()
  await after.hub.close()
  t.same(
    sidecars.map((name) => readFileSync(`${folder}/events/${name}`, 'utf8')),
    before,
  )
})

test('a log without sidecars is answered before it is read, and read afterwards', async (t) => {
  const { hub, folder } = await bench(t.testdir(), small)
  emitMany(hub, 1500)
  emitMany(hub, 1500, 'run-2', 1500)
  await hub.close()
  const names = segmentsOf(folder)
  const sidecars = readdirSync(`${folder}/events`).filter((name) => name.endsWith('.idx.json'))
  removeSidecars(folder)
  // Damage that no reader comes upon before the segment is read.
  const damaged = `${folder}/events/${names[1]}`
  const bytes = readFileSync(damaged)
  bytes[30_000] = bytes[30_000]! ^ 1
  writeFileSync(damaged, bytes)
  const card = new Card()
  const after = await bench(folder, { ...small, card })
  const opened = new Set(card.done.filter((what) => /^open .*jsonl r$/.test(what)))
  t.ok(opened.size <= 2, `${[...opened]} of ${names.length} segments`)
  t.equal(after.hub.log.shown.seq, 3000)
  t.equal(
    after.hub.log.bytes,
    names.reduce((sum, name) => sum + readFileSync(`${folder}/events/${name}`).length, 0),
  )
  const everything = counted(await after.hub.getEventsSince())
  t.equal(everything.length, 2999)
  t.same(counted(await after.hub.getEventsForExecution('run-2')), upTo(3000).slice(1500))
  const [middle] = (await after.hub.getEventsSince()).slice(2000)
  t.same(counted(await after.hub.getEventsSince(middle!.timestamp)), everything.slice(2000))
  await after.hub.log.indexed()
  t.equal(after.words.filter((word) => word.includes('is damaged')).length, 1)
  t.same(counted(await after.hub.getEventsSince()), everything)
  const anew = readdirSync(`${folder}/events`)
  t.same(
    sidecars.filter((name) => !anew.includes(name)),
    [],
  )
  await after.hub.close()
})

test('an execution is taken out of a log that is being read', async (t) => {
  const { hub, folder } = await bench(t.testdir(), small)
  emitMany(hub, 1000)
  emitMany(hub, 1000, 'run-2', 1000)
  emitMany(hub, 1000, 'run-1', 2000)
  await hub.close()
  removeSidecars(folder)
  const after = await bench(folder, small)
  await after.hub.log.remove('run-2')
  const left = [...upTo(1000), ...upTo(3000).slice(2000)]
  t.same(counted(await after.hub.getEventsForExecution('run-1')), left)
  await Promise.all([after.hub.log.indexed(), after.hub.log.swept()])
  t.same(counted(await after.hub.getEventsSince()), left)
  await after.hub.close()
  const again = await bench(folder, small)
  t.same(counted(await again.hub.getEventsSince()), left)
  await again.hub.close()
})

test('a log without sidecars is rewritten only where it holds what is removed, and closing does not wait until all of it is read', async (t) => {
  const { hub, folder } = await bench(t.testdir(), small)
  emitMany(hub, 1500)
  emitMany(hub, 1, 'run-2', 1500)
  emitMany(hub, 1499, 'run-1', 1501)
  await hub.close()
  removeSidecars(folder)
  const left = upTo(3000).filter((n) => n !== 1500)
  const hasty = await bench(folder, small)
  await hasty.hub.log.remove('run-2')
  await hasty.hub.close()
  const known = readdirSync(`${folder}/events`).filter((name) => name.endsWith('.idx.json'))
  t.ok(known.length < segmentsOf(folder).length - 1, `${known}`)
  const { hub: after, card } = await bench(folder, small)
  await after.log.swept()
  const rewritten = card.done.filter((what) => /^open .*jsonl\.tmp/.test(what))
  t.equal(rewritten.length, 1, `${rewritten}`)
  t.same(counted(await after.getEventsSince()), left)
  await after.close()
})

test('a card that takes no sidecar is not said to be unreadable', async (t) => {
  const { hub, folder } = await bench(t.testdir(), small)
  emitMany(hub, 1500)
  await hub.close()
  removeSidecars(folder)
  const card = new Card()
  card.fail('open', 'ENOSPC', Number.POSITIVE_INFINITY, '.idx.json.tmp')
  const after = await bench(folder, { ...small, card })
  await after.hub.log.indexed()
  t.same(after.words, [])
  t.same(counted(await after.hub.getEventsSince()), upTo(1500))
  await after.hub.close()
})

test('where one segment cannot be read, what is removed is cut out of the others, and half a copy is left nowhere', async (t) => {
  const { hub, folder } = await bench(t.testdir(), small)
  for (let n = 0; n < 3000; n++) emitMany(hub, 1, n % 2 ? 'run-1' : 'run-2', n)
  await hub.close()
  removeSidecars(folder)
  const [first, second, ...others] = segmentsOf(folder)
  const card = new Card()
  const after = await bench(folder, { ...small, card })
  card.fail('read', 'EIO', Number.POSITIVE_INFINITY, second)
  await after.hub.log.indexed()
  await after.hub.log.remove('run-2')
  await after.hub.log.swept()
  t.equal(after.words.filter((word) => word.includes(`${second} cannot be read`)).length, 1)
  t.match(after.words.join('\n'), 'could not be cut out of the log yet')
  const holds = (name: string) => readFileSync(`${folder}/events/${name}`, 'utf8').includes('"run-2"')
  t.same([first!, second!, ...others.slice(0, -1)].filter(holds), [second])
  card.mend()
  card.fail('sync', 'ENOSPC', Number.POSITIVE_INFINITY, '.jsonl.tmp')
  await after.hub.log.remove('run-1')
  await after.hub.log.swept()
  t.same(
    readdirSync(`${folder}/events`).filter((name) => name.endsWith('.tmp')),
    [],
  )
  card.mend()
  await after.hub.close()
})

test('a tail torn at any byte costs no more than the torn event, and the next is not glued to it', async (t) => {
  const folder = t.testdir()
  const { hub } = await bench(folder)
  emitMany(hub, 3)
  await hub.close()
  const whole = readFileSync(fileOf(folder))
  const lastFrom = whole.lastIndexOf('\n', whole.length - 2) + 1
  // The first of these lacks the newline only.
  for (let length = whole.length - 1; length >= lastFrom; length -= 7) {
    writeFileSync(fileOf(folder), whole.subarray(0, length))
    const after = await bench(folder)
    await after.hub.stored(emitMany(after.hub, 1, 'run-1', 7))
    const left = length === whole.length - 1 ? [0, 1, 2] : [0, 1]
    t.same(counted(await after.hub.getEventsSince()), [...left, 7], `cut at ${length}`)
    await after.hub.close()
    t.ok(linesOf(folder).every(isJson))
    t.same(readFileSync(fileOf(folder)).subarray(0, lastFrom), whole.subarray(0, lastFrom))
  }
})

test('a last line without its newline is ended also where the next line goes into another segment', async (t) => {
  const folder = t.testdir()
  const { hub } = await bench(folder, small)
  emitMany(hub, 1)
  hub.emit('A.B', { text: 'x'.repeat(100_000) })
  await hub.close()
  const whole = readFileSync(fileOf(folder))
  truncateSync(fileOf(folder), whole.length - 1)
  const after = await bench(folder, small)
  t.equal((await after.hub.getEventsSince()).length, 2)
  await after.hub.stored(after.hub.emit('A.C', { text: 'x'.repeat(100_000) }))
  t.equal((await after.hub.getEventsSince()).length, 3)
  await after.hub.close()
  t.equal(segmentsOf(folder).length, 2)
  t.ok(readFileSync(fileOf(folder)).equals(whole))
})

test('a last line without its newline is answered while the card takes nothing, and ended once it does', async (t) => {
  const folder = t.testdir()
  const { hub } = await bench(folder)
  emitMany(hub, 3)
  await hub.close()
  truncateSync(fileOf(folder), readFileSync(fileOf(folder)).length - 1)
  const card = new Card()
  card.fail('open', 'EROFS')
  const after = await bench(folder, { card })
  await after.hub.stored(emitMany(after.hub, 2, 'run-1', 3))
  t.same(counted(await after.hub.getEventsSince()), upTo(5))
  card.mend()
  await after.clock.advance(1000)
  await until(() => !after.hub.log.failing && after.hub.log.waiting === 0)
  t.same(counted(await after.hub.getEventsSince()), upTo(5))
  await after.hub.close()
  t.ok(linesOf(folder).every(isJson))
})

test('a tail of zeros, or of another kind of dirt, is cut off and reported', async (t) => {
  for (const dirt of [Buffer.alloc(4096), Buffer.from('\x00\x00{"crc":"'), Buffer.from('garbage\n\n\n'), Buffer.alloc(9_000_000, 0x61)]) {
    const folder = t.testdir()
    const { hub } = await bench(folder)
    emitMany(hub, 3)
    await hub.close()
    writeFileSync(fileOf(folder), Buffer.concat([readFileSync(fileOf(folder)), dirt]))
    const after = await bench(folder)
    t.match(after.words[0], /torn/)
    await after.hub.stored(emitMany(after.hub, 1, 'run-1', 3))
    t.same(counted(await after.hub.getEventsSince()), upTo(4))
    t.equal(after.hub.incidents.list()[0]!.category, 'STORAGE')
    await after.hub.close()
    t.ok(linesOf(folder).every(isJson))
    rmSync(folder, { recursive: true })
  }
})

test('a rotten byte anywhere costs the event it struck and no other, and is reported', async (t) => {
  const folder = t.testdir()
  const { hub } = await bench(folder)
  emitMany(hub, 5)
  await hub.close()
  const whole = readFileSync(fileOf(folder))
  const from = whole.indexOf('\n') + 1
  const to = whole.indexOf('\n', whole.indexOf('\n', from) + 1) + 1
  for (let at = from; at < to; at += 3) {
    const rotten = Buffer.from(whole)
    rotten[at] = rotten[at]! ^ 0x10
    writeFileSync(fileOf(folder), rotten)
    const after = await bench(folder)
    const found = counted(await after.hub.getEventsSince())
    const struck = at < whole.indexOf('\n', from) + 1 ? 1 : 2
    const isMissing = !found.includes(struck)
    // The first bytes of a line and its newline carry nothing of the event.
    t.same(found, isMissing ? upTo(5).filter((n) => n !== struck) : upTo(5), `byte ${at}`)
    if (isMissing) t.match(after.words.join(), /damaged/, `byte ${at}`)
    await after.hub.close()
  }
})

test('a newline that rots away costs no event', async (t) => {
  const folder = t.testdir()
  const { hub } = await bench(folder)
  emitMany(hub, 5)
  await hub.close()
  const bytes = readFileSync(fileOf(folder))
  bytes[bytes.indexOf('\n', bytes.indexOf('\n') + 1)] = 0x1a
  writeFileSync(fileOf(folder), bytes)
  const after = await bench(folder)
  t.same(counted(await after.hub.getEventsSince()), upTo(5))
  t.same(counted(await after.hub.getEventsForExecution('run-1')), upTo(5))
  await after.hub.close()
})

test('rot in a sealed segment is passed over by whoever reads it, and told once', async (t) => {
  const { hub, folder } = await bench(t.testdir(), small)
  const last = emitMany(hub, 1000)
  await hub.close()
  const bytes = readFileSync(fileOf(folder))
  bytes.fill(0, 10_000, 10_010)
  writeFileSync(fileOf(folder), bytes)
  const after = await bench(folder, small)
  t.same(after.words, [])
  const found = counted(await after.hub.getEventsSince())
  t.equal(found.length, 999)
  t.equal(counted(await after.hub.getEventsForExecution('run-1')).length, 999)
  t.equal(after.words.filter((word) => word.includes('damaged')).length, 1)
  t.ok(last)
  await after.hub.close()
})

test('since, execution and limit answer what a filter over everything would', async (t) => {
  const { hub, wall } = await bench(t.testdir(), small)
  for (let i = 0; i < 1500; i++) {
    emitMany(hub, 1, `run-${i % 7}`, i)
    wall.us += (i % 3) * 1000
  }
  const all = await hub.getEventsSince()
  const us = all.map(({ timestamp }) => Math.round(timestamp * 1e6))
  for (let i = 0; i < 1500; i += 97) {
    for (const since_us of [us[i]! - 1, us[i]!, us[i]! + 1]) {
      const expected = all.filter((_, k) => us[k]! >= since_us)
      t.same(counted(await answer(hub, { since_us })), counted(expected))
      const own = expected.filter(({ execution_id }) => execution_id === 'run-3')
      t.same(counted(await answer(hub, { since_us, execution_id: 'run-3', limit: 5 })), counted(own.slice(0, 5)))
    }
    t.same(counted(await answer(hub, { after_seq: i, limit: 3 })), upTo(1500).slice(i, i + 3))
  }
  await hub.close()
})

test('an execution named inside a context is not taken for its own', async (t) => {
  const { hub } = await bench(t.testdir())
  hub.emit('A.B', { x: 'y', execution_id: 'run-1', timestamp: 1 }, 'other')
  hub.emit('A.C', { text: '","execution_id":"run-1","timestamp":1' }, 'other')
  hub.emit('A"B.D', {}, 'run-1')
  t.same(
    (await hub.getEventsForExecution('run-1')).map(({ status }) => status),
    ['D'],
  )
  hub.emit('A.E', {}, 'a "quoted"\\ \u0001 id ü')
  t.same(
    (await hub.getEventsForExecution('a "quoted"\\ \u0001 id ü')).map(({ status }) => status),
    ['E'],
  )
  await hub.close()
})

test('an event longer than a block goes through whole', async (t) => {
  const { hub, folder } = await bench(t.testdir())
  const text = 'ü'.repeat(700_000)
  emitMany(hub, 2)
  hub.emit('A.B', { text }, 'run-2')
  emitMany(hub, 2, 'run-1', 2)
  t.equal((await hub.getEventsForExecution('run-2'))[0]!.context.text, text)
  await hub.close()
  const after = await bench(folder)
  t.same(counted(await after.hub.getEventsSince()), upTo(4))
  await after.hub.close()
})

test('removing an execution hides its events at once and for good, and takes them out of the files later', async (t) => {
  const { hub, folder } = await bench(t.testdir(), small)
  for (let i = 0; i < 2000; i++) emitMany(hub, 1, `run-${i % 4}`, i)
  hub.emit('A.B', {})
  await hub.stored(emitMany(hub, 1, 'run-9', 2000))
  const rest = upTo(2001).filter((n) => n % 4 !== 1 || n === 2000)
  await hub.remove('run-1')
  t.same(counted(await hub.getEventsSince()), rest)
  t.same(await hub.getEventsForExecution('run-1'), [])
  await hub.log.swept()
  t.same(counted(await hub.getEventsSince()), rest)
  const [sealed, last] = [linesOf(folder).slice(0, 500), segmentsOf(folder).at(-1)!]
  t.notOk(sealed.some((line) => line.includes('"run-1","timestamp"')))
  t.ok(sealed.every(isJson))
  await hub.close()
  const after = await bench(folder, small)
  t.same(counted(await after.hub.getEventsSince()), rest)
  // What is in the segment that is still written to goes when that is sealed.
  await after.hub.stored(emitMany(after.hub, 1000, 'run-2', 3000))
  await after.hub.log.swept()
  t.notOk(readFileSync(`${folder}/events/${last}`, 'utf8').includes('"run-1","timestamp"'))
  t.same(JSON.parse(readFileSync(`${folder}/events/removed.json`, 'utf8')).executions, {})
  t.equal(counted(await after.hub.getEventsForExecution('run-2')).length, 1500)
  await after.hub.close()
})

test('what is sealed, or removed, while segments are rewritten is cut out by the next sweep, and hidden until then', async (t) => {
  const { hub, card, folder } = await bench(t.testdir(), small)
  for (let i = 0; i < 800; i++) emitMany(hub, 1, `run-${i % 4}`, i)
  await hub.log.until()
  const letGo = card.hold('sync', '.tmp')
  await hub.remove('run-1')
  await hub.remove('run-2')
  const sealed = segmentsOf(folder).length
  await hub.stored(emitMany(hub, 600, 'run-3', 800))
  t.ok(segmentsOf(folder).length > sealed)
  letGo()
  await hub.log.swept()
  t.same(await hub.getEventsForExecution('run-1'), [])
  t.same(await hub.getEventsForExecution('run-2'), [])
  t.same(JSON.parse(readFileSync(`${folder}/events/removed.json`, 'utf8')).executions, {})
  t.notOk(linesOf(folder).some((line) => /"run-[12]","timestamp"/.test(line)))
  await hub.close()
})

test('whole lines are read as they stand in the files, also where some between them are removed; lines in memory only are none', async (t) => {
  const { hub, folder, card } = await bench(t.testdir(), small)
  for (let i = 0; i < 900; i++) emitMany(hub, 1, `run-${i % 3}`, i)
  await hub.log.until()
  await hub.log.remove('run-1')
  const wanted = linesOf(folder).filter((line) => !line.includes('"run-1"'))
  t.same(await readLines(hub, 0), wanted)
  t.same(
    await readLines(hub, 450),
    wanted.filter((line) => JSON.parse(line).seq > 450),
  )
  card.fail('write', 'EIO')
  await hub.stored(emitMany(hub, 5, 'run-2', 900))
  t.same(await readLines(hub, 897), wanted.slice(-2))
  card.mend()
  await hub.close()
})

test('the checksum of a line is found by its number; of removed lines that of the newest in a file, and of the one that is to be kept', async (t) => {
  const { hub, folder } = await bench(t.testdir(), small)
  await hub.stored(emitMany(hub, 600, 'run-1'))
  const crcs = new Map(linesOf(folder).map((line) => [JSON.parse(line).seq as number, JSON.parse(line).crc as string]))
  for (const seq of [1, 300, 600]) t.equal(await hub.log.crcOf(seq), crcs.get(seq), `${seq}`)
  for (const seq of [0, 601, Number.NaN]) t.equal(await hub.log.crcOf(seq), undefined, `${seq}`)
  hub.log.keepCrcOf(300)
  await hub.remove('run-1')
  t.equal(await hub.log.crcOf(299), crcs.get(299), 'hidden, and still in the file')
  await hub.stored(emitMany(hub, 600, 'run-2'))
  await hub.log.swept()
  t.equal(await hub.log.crcOf(300), crcs.get(300))
  t.equal(await hub.log.crcOf(600), crcs.get(600))
  t.equal(await hub.log.crcOf(299), 'gone')
  t.equal(await hub.log.crcOf(1202), undefined)
  await hub.close()
  const after = await bench(folder, small)
  t.equal(await after.hub.log.crcOf(300), crcs.get(300))
  t.equal(after.hub.log.givenBetween(10, 20), 9)
  await after.hub.close()
})

test('a segment that is removed while another one is begun stays removed', async (t) => {
  const { hub, folder, card } = await bench(t.testdir(), small)
  await hub.stored(emitMany(hub, 400, 'run-1'))
  await hub.stored(emitMany(hub, 150, 'run-2', 400))
  t.equal(segmentsOf(folder).length, 2)
  const letGo = card.hold('sync', 'events-000003.jsonl')
  const last = emitMany(hub, 400, 'run-2', 550)
  while (segmentsOf(folder).length < 3) await new Promise(setImmediate)
  await hub.log.remove('run-1')
  await hub.log.swept()
  letGo()
  await hub.stored(last)
  t.same(counted(await hub.getEventsSince()), upTo(550, 400))
  await hub.close()
})

test('of segments that held nothing but what was removed nothing is left', async (t) => {
  const { hub, folder } = await bench(t.testdir(), small)
  await hub.stored(emitMany(hub, 2000, 'run-1'))
  await hub.stored(emitMany(hub, 500, 'run-2', 2000))
  await hub.remove('run-1')
  await hub.log.swept()
  t.equal((await hub.getEventsForExecution('run-2')).length, 500)
  t.same(
    readdirSync(`${folder}/events`).filter((name) => name.endsWith('.tmp') || name.startsWith('events-000001.')),
    [],
  )
  await hub.close()
})

test('who reads while segments are rewritten misses nothing and gets nothing twice', async (t) => {
  const { hub } = await bench(t.testdir(), small)
  for (let i = 0; i < 3000; i++) emitMany(hub, 1, `run-${i % 2}`, i)
  await hub.log.until()
  const reading = [hub.getEventsForExecution('run-0'), hub.getEventsForExecution('run-0')]
  await hub.remove('run-1')
  reading.push(hub.getEventsForExecution('run-0'))
  for (const found of await Promise.all(reading))
    t.same(
      counted(found),
      upTo(3000).filter((n) => n % 2 === 0),
    )
  await hub.close()
})

test('while the card is full, events are shown from memory and told to be not stored; later they are in the log, in order', async (t) => {
  const { hub, card, clock, folder } = await bench(t.testdir(), small)
  const socket = new Socket()
  hub.streams.subscribe({ outlet: socket })
  await hub.stored(emitMany(hub, 5))
  card.fail('write', 'ENOSPC')
  await hub.stored(emitMany(hub, 700, 'run-1', 5))
  await hub.log.until()
  t.same(hub.troubles(), ['storage'])
  t.same(socket.counted, upTo(705))
  t.match(socket.text, /^: not stored$/m)
  t.same(counted(await answer(hub, {})), upTo(705))
  t.equal(hub.incidents.list()[0]!.category, 'STORAGE')
  await clock.advance(3000)
  card.mend()
  await clock.advance(1000)
  await until(() => !hub.log.failing && hub.log.waiting === 0)
  t.same(hub.troubles(), [])
  await hub.stored(emitMany(hub, 5, 'run-1', 705))
  t.same([counted(await answer(hub, {})), socket.counted], [upTo(710), upTo(710)])
  await hub.close()
  const seqs = linesOf(folder).map((line) => JSON.parse(line).seq)
  t.same(seqs, upTo(711, 1))
})

test('events from memory that are just being written are answered, and once', async (t) => {
  const { hub, card, clock } = await bench(t.testdir())
  await hub.stored(emitMany(hub, 1))
  card.fail('write', 'ENOSPC')
  await hub.stored(emitMany(hub, 5, 'run-1', 1))
  card.mend()
  const letGo = card.hold('write')
  await clock.advance(1000)
  await turns(5)
  t.same(counted(await answer(hub, {})), upTo(6))
  const asked = hub.log.read({}, 'array')
  letGo()
  await until(() => hub.log.waiting === 0 && !hub.log.failing)
  let text = ''
  for await (const { bytes } of asked) text += bytes
  t.same(counted(JSON.parse(`[${text}]`)), upTo(6))
  await hub.close()
})

test('who makes events at will waits until a burst of them is written, and goes slowly while the log cannot be written', async (t) => {
  const { hub, card, clock } = await bench(t.testdir())
  emitMany(hub, 499)
  t.equal(hub.log.backpressure(), undefined)
  emitMany(hub, 1)
  await hub.log.backpressure()
  t.same([hub.log.waiting, hub.log.backpressure()], [0, undefined])
  card.fail('write', 'EROFS')
  await hub.stored(emitMany(hub, 500))
  let isOver = false
  const pause = hub.log.backpressure()!.then(() => (isOver = true))
  await clock.advance(10)
  t.equal(isOver, false, 'the processor is not kept busy')
  await clock.advance(100)
  await pause
  await hub.close()
})

test('the newest ten thousand are kept in memory, what is lost is counted and told', async (t) => {
  const { hub, card, clock } = await bench(t.testdir())
  await hub.stored(emitMany(hub, 1))
  card.fail('write', 'EROFS')
  for (let i = 0; i < 12; i++) await hub.stored(emitMany(hub, 1000, 'run-1', 1 + i * 1000))
  t.equal(hub.log.waiting, 10_000)
  // One place is taken by the incident that told of it.
  const expected = [0, ...upTo(10_000, 2001)]
  t.same(counted(await answer(hub, {})).length, expected.length)
  t.same(counted(await answer(hub, {})), expected)
  card.mend()
  await clock.advance(1000)
  await until(() => !hub.log.failing && hub.log.waiting === 0)
  t.match(hub.incidents.list()[0]!.message, /2001 events are not in it/)
  t.same(counted(await hub.getEventsSince()), expected)
  await hub.close()
})

test('what is lost because more is fired than a slow card takes is told when it begins, and when all is written', async (t) => {
  const { hub, card } = await bench(t.testdir())
  const told = () =>
    hub.incidents.list().map(({ message }) => Number(/^(\d+) events are not in the log: more were fired/.exec(message)?.[1]))
  const letGo = card.hold('write')
  emitMany(hub, 100_010)
  t.same(told(), [], 'not in the middle of firing')
  await turns(2)
  t.same(told(), [10])
  emitMany(hub, 1000, 'run-1', 100_010)
  await turns(10)
  t.equal(told().length, 1)
  const { lost } = hub.log
  t.ok(lost > 10)
  letGo()
  await until(() => told().length === 2)
  await hub.log.until()
  t.same(told(), [lost - 10, 10])
  // All that was fired, and the two incidents.
  t.equal(hub.log.shown.seq, 101_012)
  emitMany(hub, 1)
  await hub.close()
  t.equal(told().length, 2)
})

test('what was lost before the card failed is told when it has recovered', async (t) => {
  const { hub, card, clock } = await bench(t.testdir())
  const letGo = card.hold('write')
  emitMany(hub, 20_000)
  await turns(2)
  card.fail('write', 'EIO')
  letGo()
  await until(() => hub.log.failing !== undefined)
  const { lost } = hub.log
  t.ok(lost > 9000)
  card.mend()
  await clock.advance(1000)
  await until(() => !hub.log.failing && hub.log.waiting === 0)
  t.equal(hub.incidents.list()[0]!.message, `the event log can be written again, but ${hub.log.lost} events are not in it`)
  await hub.close()
})

test('a write that was cut short leaves no trace when it is done again', async (t) => {
  const { hub, card, clock, folder } = await bench(t.testdir())
  await hub.stored(emitMany(hub, 2))
  card.fail('write', 'ENOSPC', 1)
  await hub.stored(emitMany(hub, 2, 'run-1', 2))
  writeFileSync(fileOf(folder), Buffer.concat([readFileSync(fileOf(folder)), Buffer.from('{"crc":"half of a line')]))
  await clock.advance(1000)
  await until(() => hub.log.waiting === 0)
  await hub.close()
  t.ok(linesOf(folder).every(isJson))
  const own = linesOf(folder).filter((line) => line.includes('CUSTOM.n'))
  t.same(
    own.map((line) => JSON.parse(line).event.context.n),
    upTo(4),
  )
})

test('a card that is read-only from the start prevents nothing', async (t) => {
  const card = new Card()
  card.fail('open', 'EROFS')
  const { hub } = await bench(t.testdir(), { card })
  await hub.stored(emitMany(hub, 10))
  t.same(counted(await hub.getEventsSince()), upTo(10))
  t.same(hub.troubles(), ['storage'])
  await hub.close()
})

test('after a failed sync nothing more goes into that file; nothing shown is lost or doubled', async (t) => {
  const { hub, card, clock, folder } = await bench(t.testdir())
  await hub.stored(emitMany(hub, 5))
  await clock.advance(100)
  await until(() => card.done.at(-1)!.startsWith('datasync'))
  await turns(5)
  await hub.stored(emitMany(hub, 5, 'run-1', 5))
  card.fail('datasync', 'EIO', 1)
  while (hub.incidents.list().length === 0) await clock.advance(100)
  await hub.stored(emitMany(hub, 5, 'run-1', 10))
  t.same(counted(await hub.getEventsSince()), upTo(15))
  t.same(segmentsOf(folder).length, 2)
  t.match(hub.incidents.list()[0]!.message, /new file/)
  await hub.close()
  const after = await bench(folder)
  t.same(counted(await after.hub.getEventsSince()), upTo(15))
  await after.hub.close()
})

const losses: Record<string, (file: string) => void> = {
  'is deleted': (file) => rmSync(file),
  'is replaced by another file': (file) => {
    writeFileSync(`${file}.other`, 'notes\n')
    renameSync(`${file}.other`, file)
  },
  'is deleted with its folder': (file) => rmSync(dirname(file), { recursive: true }),
}
for (const [what, lose] of Object.entries(losses)) {
  test(`a file of the log that ${what} while it is written to goes on in a new file with all of its events`, async (t) => {
    const { hub, folder } = await bench(t.testdir())
    await hub.stored(emitMany(hub, 5))
    lose(fileOf(folder))
    await hub.stored(emitMany(hub, 5, 'run-1', 5))
    t.same(counted(await hub.getEventsSince()), upTo(10))
    const [{ message } = { message: '' }] = hub.incidents.list()
    t.match(message, /^events-000001\.jsonl was deleted while the service ran; its events are in events-000002\.jsonl/)
    t.equal(/is kept as events-000001\.jsonl\.corrupt/.test(message), what.includes('replaced'))
    await hub.close()
    t.same(segmentsOf(folder), ['events-000002.jsonl'])
    const after = await bench(folder)
    t.same(counted(await after.hub.getEventsSince()), upTo(10))
    await after.hub.close()
  })
}

test('a sync that succeeds after one that failed makes the file no better', async (t) => {
  const { hub, card, clock, folder } = await bench(t.testdir())
  await hub.stored(emitMany(hub, 3))
  await clock.advance(100)
  await until(() => card.done.includes('datasync events-000001.jsonl'))
  await hub.stored(emitMany(hub, 3, 'run-1', 3))
  card.fail('datasync', 'EIO', 1)
  card.fail('open', 'ENOSPC')
  const before = card.done.length
  await hub.stored(hub.emit('DEVICE.s.FAULTED', {}))
  t.ok(hub.log.failing)
  await clock.advance(100)
  await turns(100)
  t.notOk(card.done.slice(before).includes('datasync events-000001.jsonl'))
  card.mend()
  await clock.advance(1000)
  await until(() => !hub.log.failing && hub.log.waiting === 0)
  await hub.close()
  const [, second] = segmentsOf(folder)
  const events = readFileSync(`${folder}/events/${second}`, 'utf8').split('\n').slice(0, -1)
  t.same(counted(events.map((line) => JSON.parse(line).event)), [3, 4, 5], 'what no sync had seen is in the new file')
})

test('a fault whose sync failed is synced in a new file before it is shown, and is there once', async (t) => {
  const { hub, card, folder } = await bench(t.testdir())
  const socket = new Socket()
  hub.streams.subscribe({ outlet: socket })
  await hub.stored(emitMany(hub, 2))
  card.fail('datasync', 'EIO', 1)
  await hub.stored(hub.emit('DEVICE.s.FAULTED', {}))
  await hub.log.until()
  t.equal(segmentsOf(folder).at(-1), 'events-000002.jsonl')
  const names = (await hub.getEventsSince()).map(({ event_name }) => event_name.replace(/[0-9a-f-]{36}/, '*'))
  t.same(names, ['CUSTOM.n.EMITTED', 'CUSTOM.n.EMITTED', 'DEVICE.s.FAULTED', 'INCIDENT.*.STORAGE'])
  t.same(socket.events.length, 4)
  await hub.close()
  const after = await bench(folder)
  t.equal((await after.hub.getEventsSince()).length, 4)
  await after.hub.close()
})

test('a segment that cannot be opened is passed over and left alone', async (t) => {
  const { hub, folder } = await bench(t.testdir(), small)
  emitMany(hub, 1000)
  await hub.close()
  truncateSync(fileOf(folder), 0)
  const after = await bench(folder, small)
  t.ok(counted(await after.hub.getEventsSince()).length < 1000)
  emitMany(after.hub, 1, 'run-1', 1000)
  t.equal(counted(await after.hub.getEventsSince()).at(-1), 1000)
  await after.hub.close()
})

test('who verifies the log is told of a segment that cannot be read, and of what is in the others', async (t) => {
  const { hub, folder } = await bench(t.testdir(), small)
  emitMany(hub, 1000)
  await hub.close()
  const before = await verifyLog(`${folder}/events`)
  t.match(before, { events: 1000, damaged: [] })
  mkdirSync(`${folder}/events/events-000000.jsonl`)
  const { files, events, damaged } = await verifyLog(`${folder}/events`)
  t.same([files, events], [before.files + 1, 1000])
  t.match(damaged, [{ file: 'events-000000.jsonl', offset: 0, bytes: 0, problem: 'cannot be read: it is a folder' }])
})

test('closing brings all that was emitted onto the card', async (t) => {
  const { hub, folder, card } = await bench(t.testdir())
  emitMany(hub, 2000)
  await hub.close()
  t.equal(linesOf(folder).length, 2000)
  t.match(
    card.done.findLast((what) => what.startsWith('datasync')),
    /events-000001/,
  )
  hub.emit('A.LATE', {})
  t.equal((await hub.getEventsSince()).length, 2000)
})

function removeSidecars(folder: string): void {
  for (const name of readdirSync(`${folder}/events`)) if (name.endsWith('.idx.json')) rmSync(`${folder}/events/${name}`)
}

async function bench(folder: string, options: Parameters<typeof onBench>[1] = {}): Promise<Bench & { folder: string }> {
  return { ...(await onBench(folder, options)), folder }
}

type Hub = Bench['hub']

async function bytesOf(hub: Hub, query: Query): Promise<string> {
  let text = ''
  for await (const { bytes } of hub.log.read(query, 'array')) text += bytes
  return text
}

async function answer(hub: Hub, query: Query): Promise<RuntimeEvent[]> {
  return JSON.parse(`[${await bytesOf(hub, query)}]`)
}

function segmentsOf(folder: string): string[] {
  return readdirSync(`${folder}/events`)
    .filter((name) => name.endsWith('.jsonl'))
    .sort()
}

function fileOf(folder: string): string {
  return `${folder}/events/events-000001.jsonl`
}

function linesOf(folder: string): string[] {
  const text = segmentsOf(folder).map((name) => readFileSync(`${folder}/events/${name}`, 'utf8'))
  return text.join('').split('\n').slice(0, -1)
}

function isJson(line: string): boolean {
  return JSON.parse(line).event.timestamp >= someDay / 1e6
}

async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise(setImmediate)
}

/** The lines behind a number, as a reader of whole lines gets them. */
async function readLines({ log }: Bench['hub'], after_seq: number): Promise<string[]> {
  let text = ''
  for await (const { bytes } of log.read({ after_seq }, 'lines')) text += bytes.toString()
  return text.split('\n').filter(Boolean)
}
