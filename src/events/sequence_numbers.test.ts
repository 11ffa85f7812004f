import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { type Test, test } from 'tap'
import { type Bench, Card, emitMany, HandWall, onBench, Socket, someDay, until, upTo } from '../testing/events.ts'
import { verifyLog } from './log_verify.ts'
import { SequenceNumbers } from './sequence_numbers.ts'

type Hub = Bench['hub']

test('after a power cut no id is given again; who has seen a lost one is told of a gap, and gets all that follows', async (t) => {
  const { hub, folder } = await begun(t)
  const before = subscribed(hub)
  await hub.stored(emitMany(hub, 20))
  t.same(before.ids, upTo(20, 1))
  const after = await onBench(afterCut(folder, 10))
  await after.hub.stored(emitMany(after.hub, 12, 'run-1', 100))
  const resumed = await Promise.all([20, 15, 11, 10, 3].map((seq) => resumedAt(after.hub, seq)))
  t.same(
    resumed.map(({ text }) => text.startsWith('retry: 2000\n\n: gap\n\n')),
    [true, true, true, false, false],
  )
  for (const { counted } of resumed) t.same(counted.slice(-12), upTo(12, 100))
  t.same(resumed[3]!.counted, upTo(12, 100), 'what it had seen is all there is')
  t.same(resumed[4]!.counted, [...upTo(7, 3), ...upTo(12, 100)])
  t.ok(Math.min(...resumed[0]!.ids) > 20)
  t.match((await resumedAt(after.hub, 20, 'another')).text, /^: gap$/m, 'of one execution too')
  t.match((await resumedAt(after.hub, resumed[0]!.ids.at(-1)! + 5)).text, /^: gap$/m, 'an id beyond the log')
  await after.hub.close()
  await hub.close()
})

test('numbers that a power cut may have taken are known as lost, and are not counted as given', async (t) => {
  const { hub, folder } = await begun(t)
  await hub.stored(emitMany(hub, 20))
  const { hub: after } = await onBench(afterCut(folder, 10))
  await after.stored(emitMany(after, 5, 'run-1', 100))
  const { seq } = after.log.shown
  t.same(await Promise.all([10, 15, 20, seq].map(async (one) => (await after.log.crcOf(one)) === 'gone')), [false, true, true, false])
  t.equal(after.log.givenBetween(8, seq + 1), 2 + 5)
  t.equal(after.log.givenBetween(15, seq), 4)
  await after.close()
  await hub.close()
})

test('a stream that is taken up before the first event after a power cut gets it too', async (t) => {
  const { hub, folder } = await begun(t)
  await hub.stored(emitMany(hub, 20))
  const after = await onBench(afterCut(folder, 10))
  const sockets = [20, 10].map((after_seq) => {
    const socket = new Socket()
    after.hub.streams.subscribe({ outlet: socket, after_seq })
    return socket
  })
  await after.hub.stored(emitMany(after.hub, 3, 'run-1', 100))
  for (const { counted } of sockets) t.same(counted, upTo(3, 100))
  t.same(
    sockets.map(({ text }) => text.includes(': gap')),
    [true, false],
  )
  await after.hub.close()
  await hub.close()
})

test('every gap of several power cuts is remembered, over orderly ends too; the log is in order for who verifies it', async (t) => {
  let folder = `${t.testdir()}/data`
  mkdirSync(folder)
  const lost: number[] = []
  const kept: number[] = []
  for (let round = 0; round < 4; round++) {
    const { hub } = await onBench(folder)
    const socket = subscribed(hub)
    await hub.stored(emitMany(hub, 20))
    const { ids } = socket
    kept.push(...ids.slice(0, 10))
    lost.push(...ids.slice(10))
    folder = afterCut(folder, 10 * (round + 1))
    await hub.close()
  }
  // Nothing was stored in between.
  folder = afterCut(folder, 40)
  for (let round = 0; round < 3; round++) {
    const { hub } = await onBench(folder)
    await hub.stored(emitMany(hub, 1))
    for (const seq of lost) t.match((await resumedAt(hub, seq)).text, /^: gap$/m, `${seq}`)
    for (const seq of kept) t.notMatch((await resumedAt(hub, seq)).text, /^: gap$/m, `${seq}`)
    await hub.close()
  }
  const ids = readFileSync(`${folder}/events/events-000001.jsonl`, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).seq as number)
  t.equal(ids.length, 43)
  t.equal(new Set([...ids, ...lost]).size, 43 + 40, 'each was given once')
  t.same(await verifyLog(`${folder}/events`), { files: 1, events: 43, damaged: [] })
})

test('a power cut that leaves nothing of the log but its folder, or not even that, gives no id again', async (t) => {
  for (const left of [0, 'no folder'] as const) {
    const { hub, folder } = await begun(t)
    const socket = subscribed(hub)
    await hub.stored(emitMany(hub, 5))
    const cut = afterCut(folder, 0)
    if (left === 'no folder') rmSync(`${cut}/events`, { recursive: true })
    const after = await onBench(cut)
    await after.hub.stored(emitMany(after.hub, 1, 'run-1', 100))
    const resumed = await resumedAt(after.hub, 5)
    t.same([resumed.text.includes(': gap'), resumed.counted], [true, [100]], `${left}`)
    t.ok(resumed.ids[0]! > socket.ids.at(-1)!)
    await after.hub.close()
    await hub.close()
  }
})

test('a removal that outlasts the events it removed hides no later event, and no gap', async (t) => {
  const { hub, folder } = await begun(t)
  await hub.stored(emitMany(hub, 20))
  await hub.remove('run-1')
  for (const file of ['event_ids.json', 'nothing']) {
    const cut = afterCut(folder, 0)
    rmSync(`${cut}/${file}`, { force: true })
    const after = await onBench(cut)
    await after.hub.stored(emitMany(after.hub, 3, 'run-1', 100))
    t.same((await resumedAt(after.hub, 0)).counted, upTo(3, 100), `without ${file}`)
    t.match((await resumedAt(after.hub, 15)).text, /^: gap$/m, `without ${file}`)
    await after.hub.close()
  }
  await hub.close()
})

test('events that a full disk kept in memory, until the service was killed, have ids that are not given again', async (t) => {
  const { hub, folder, card } = await begun(t)
  const socket = subscribed(hub)
  await hub.stored(emitMany(hub, 10))
  card.fail('write', 'ENOSPC')
  await hub.stored(emitMany(hub, 30, 'run-1', 10))
  t.equal(socket.counted.length, 40)
  const after = await onBench(afterCut(folder, 10))
  await after.hub.stored(emitMany(after.hub, 3, 'run-1', 100))
  const resumed = await resumedAt(after.hub, socket.ids.at(-1)!)
  t.match([resumed.text.includes(': gap'), resumed.counted], [true, upTo(3, 100)])
  t.notOk(resumed.ids.some((id) => socket.ids.includes(id)))
  await after.hub.close()
  await hub.close()
})

test('who takes a stream up across events that a full disk never took is told of a gap, over a restart too', async (t) => {
  const { hub, folder, card, clock } = await begun(t)
  const socket = subscribed(hub)
  await hub.stored(emitMany(hub, 5))
  card.fail('write', 'ENOSPC')
  for (let i = 0; i < 12; i++) await hub.stored(emitMany(hub, 1000, 'run-1', 5 + i * 1000))
  const look = async (hub: Hub, when: string) => {
    const before = await Promise.all([0, 3, 5].map((seq) => resumedAt(hub, seq)))
    const inside = await Promise.all([6, 1000, 1900].map((seq) => resumedAt(hub, seq)))
    const behind = await Promise.all([2500, 9000].map((seq) => resumedAt(hub, seq)))
    t.same(
      [before, inside, behind].map((sockets) => sockets.map(({ text }) => text.includes(': gap'))),
      [
        [true, true, true],
        [true, true, true],
        [false, false],
      ],
      when,
    )
    t.equal(inside[1]!.counted.at(-1), 12_004, when)
  }
  await look(hub, 'while it is full')
  card.mend()
  await clock.advance(1000)
  await until(() => !hub.log.failing && hub.log.waiting === 0)
  await look(hub, 'when it is not any more')
  const cut = afterCut(folder)
  await hub.close()
  const next = await onBench(folder)
  await look(next.hub, 'after a restart')
  t.equal(next.hub.log.shown.seq, socket.ids.at(-1), 'in order: no number is left out')
  await next.hub.close()
  const killed = await onBench(cut)
  await look(killed.hub, 'after a kill')
  await killed.hub.close()
})

test('that events were dropped is on the card before anything behind them is', async (t) => {
  const { hub, folder, card, clock } = await begun(t)
  await hub.stored(emitMany(hub, 5))
  card.fail('write', 'ENOSPC')
  for (let i = 0; i < 12; i++) await hub.stored(emitMany(hub, 1000, 'run-1', 5 + i * 1000))
  card.mend()
  const written = () => readFileSync(`${folder}/event_ids.json`, 'utf8')
  const letGo = card.hold('write')
  await clock.advance(1000)
  await until(() => written().includes('"is_certain":true'))
  t.match(written(), /"after":5,"before":20\d\d,"is_certain":true/)
  t.equal(readFileSync(`${folder}/events/events-000001.jsonl`, 'utf8').trim().split('\n').length, 5)
  letGo()
  await until(() => !hub.log.failing && hub.log.waiting === 0)
  await hub.close()
})

test('events that a failed card does not give back are told as a gap', async (t) => {
  let left = Number.POSITIVE_INFINITY
  const card = new Card()
  const { open } = card
  Object.assign(card, {
    open: async (...given: Parameters<typeof open>) => {
      if (given[1] === 'r' && given[0].endsWith('.jsonl') && --left === 0) throw new Error('EIO')
      return open(...given)
    },
  })
  const { hub } = await onBench(t.testdir(), { card })
  await hub.stored(emitMany(hub, 5))
  card.fail('datasync', 'EIO', 1)
  // The first looks what is safe, the second reads the rest back.
  left = 2
  await hub.stored(hub.emit('DEVICE.s.FAULTED', {}))
  await hub.log.until()
  const messages = hub.incidents.list().map(({ message }) => message)
  t.match(messages.join(), /could not be read back/)
  t.match((await resumedAt(hub, 2)).text, /^: gap$/m)
  t.notMatch((await resumedAt(hub, 7)).text, /^: gap$/m)
  await hub.close()
})

test('an orderly end and a start leave no number out, and no gap', async (t) => {
  const { hub, folder } = await begun(t)
  await hub.stored(emitMany(hub, 20))
  await hub.log.remove('run-1')
  await hub.close()
  for (const round of [1, 2, 3]) {
    const { hub } = await onBench(folder)
    await hub.stored(emitMany(hub, 1))
    t.equal(hub.log.shown.seq, 20 + round)
    for (const seq of upTo(20 + round, 1)) t.notMatch((await resumedAt(hub, seq)).text, /^: gap$/m)
    await hub.close()
    const empty = await onBench(folder)
    await empty.hub.close()
  }
})

test('a log of a version that left no such file behind, an older one put back, or another in its place: no id comes twice', async (t) => {
  const { hub, folder } = await begun(t)
  await hub.stored(emitMany(hub, 20))
  await hub.close()
  cpSync(`${folder}/events`, `${folder}/older`, { recursive: true })
  const again = await onBench(folder)
  await again.hub.stored(emitMany(again.hub, 30, 'run-1', 20))
  await again.hub.close()
  const changes: Record<string, (copy: string) => void> = {
    'without the file': (copy) => rmSync(`${copy}/event_ids.json`),
    'an older log': (copy) => {
      rmSync(`${copy}/events`, { recursive: true })
      cpSync(`${copy}/older`, `${copy}/events`, { recursive: true })
    },
    'the log moved aside': (copy) => renameSync(`${copy}/events`, `${copy}/aside`),
    'a damaged file': (copy) => writeFileSync(`${copy}/event_ids.json`, '\0'.repeat(300)),
    'a file that says nothing': (copy) => writeFileSync(`${copy}/event_ids.json`, ''),
  }
  for (const [what, change] of Object.entries(changes)) {
    const copy = `${folder}-${what}`
    cpSync(folder, copy, { recursive: true })
    rmSync(`${copy}/event_ids.json.bak`, { force: true })
    change(copy)
    const { hub } = await onBench(copy)
    await hub.stored(emitMany(hub, 1, 'run-1', 100))
    t.ok(hub.log.shown.seq > 50, what)
    if (what !== 'without the file' && !what.includes('file')) t.match((await resumedAt(hub, 45)).text, /^: gap$/m, what)
    await hub.close()
  }
})

test('an orderly end that only the generation before tells of is not believed', async (t) => {
  const { hub, folder } = await begun(t)
  await hub.stored(emitMany(hub, 20))
  await hub.close()
  const again = await onBench(folder)
  const socket = subscribed(again.hub)
  await again.hub.stored(emitMany(again.hub, 5))
  const cut = afterCut(folder, 20)
  t.match(readFileSync(`${cut}/event_ids.json.bak`, 'utf8'), /"stored": 20/)
  writeFileSync(`${cut}/event_ids.json`, '{')
  const after = await onBench(cut)
  await after.hub.stored(emitMany(after.hub, 1))
  t.ok(after.hub.log.shown.seq > socket.ids.at(-1)!)
  await after.hub.close()
  await again.hub.close()
})

test('times go on a second behind the newest that is left of a power cut, where the clock does not know better', async (t) => {
  const { hub, folder, wall } = await begun(t)
  const kept = emitMany(hub, 10)
  wall.us += 500_000
  const lost = emitMany(hub, 10)
  await hub.stored(lost)
  const early = new HandWall()
  early.us = someDay - 3_600_000_000
  const after = await onBench(afterCut(folder, 10), { wall: early })
  const next = emitMany(after.hub, 1)
  t.ok(next.timestamp > lost.timestamp)
  t.equal(Math.round((next.timestamp - kept.timestamp) * 1e6), 1_000_001)
  await after.hub.close()
  await hub.close()
  const orderly = await onBench(folder, { wall: early })
  t.equal(Math.round((emitMany(orderly.hub, 1).timestamp - lost.timestamp) * 1e6), 1)
  await orderly.hub.close()
})

test('on a card that cannot be written two starts give different numbers, and neither what a later start gives', async (t) => {
  const path = '/proc/self/event_ids.json'
  const reports: string[] = []
  const starts = await Promise.all(
    [1, 2, 3].map(() => SequenceNumbers.open({ path, stored: 500, removed: 0, report: ({ message }) => void reports.push(message) })),
  )
  const first = starts.map((numbers) => numbers.next())
  t.equal(new Set(first.map((seq) => Math.floor(seq / 2 ** 20))).size, 3)
  for (const seq of first) t.ok(seq > 2 ** 21 && Number.isSafeInteger(seq))
  t.match(reports, [/numbers of events cannot be reserved/, /./, /./])
  t.equal(reports.length, 3)
  const numbers = starts[0]!
  const given = new Set<number>()
  for (let i = 0; i < 3_000_000; i += 1) if (Math.floor(numbers.next() / 2 ** 20) !== 0) given.add(Math.floor(numbers.last / 2 ** 20))
  t.ok(given.size >= 3, 'behind a million that were not reserved it leaps again')
})

test('numbers are reserved a million at a time, and never given beyond what is reserved', async (t) => {
  const path = `${t.testdir()}/event_ids.json`
  const report = ({ message }: { message: string }) => t.fail(message)
  const reserved = () => JSON.parse(readFileSync(path, 'utf8')).reserved as number
  const numbers = await SequenceNumbers.open({ path, stored: 0, removed: 0, report })
  const writes = new Set<bigint>()
  for (let heap = 0; heap < 40; heap++) {
    for (let i = 0; i < 100_000; i++) numbers.next()
    await numbers.written()
    t.ok(reserved() >= numbers.last + 400_000)
    writes.add(statSync(path, { bigint: true }).mtimeNs)
  }
  t.equal(numbers.last, 4_000_000, 'none is left out')
  t.ok(writes.size <= 5, `${writes.size} writes for four million events`)
  const next = await SequenceNumbers.open({ path, stored: 4_000_000, removed: 0, report })
  t.ok(next.next() > reserved() - 2 ** 22 && next.last > 4_000_000 + 2 ** 19)
  t.equal(next.isAfterOrderlyEnd, false)
})

test('a thousand gaps are kept; then the oldest become one, and nobody who misses something is left untold', async (t) => {
  const path = `${t.testdir()}/event_ids.json`
  const report = ({ message }: { message: string }) => t.fail(message)
  const numbers = await SequenceNumbers.open({ path, stored: 0, removed: 0, report })
  for (let i = 1; i <= 1100; i++) numbers.dropped(i * 10, i * 10 + 5)
  await numbers.written()
  const { gaps } = JSON.parse(readFileSync(path, 'utf8'))
  t.equal(gaps.length, 1000)
  t.same(gaps[0], { after: 10, before: 1015, is_certain: true })
  for (let i = 1; i <= 1100; i++) t.ok(numbers.isGapBehind(i * 10 + 2))
  t.notOk(numbers.isGapBehind(11_004))
})

async function begun(t: Test): Promise<Bench & { folder: string }> {
  const folder = `${t.testdir()}/data`
  mkdirSync(folder, { recursive: true })
  return { ...(await onBench(folder)), folder }
}

/** What a power cut at this moment may leave: of the log so many lines, all unless given. */
function afterCut(folder: string, lines?: number): string {
  const copy = `${folder}-cut`
  rmSync(copy, { recursive: true, force: true })
  mkdirSync(copy)
  cpSync(folder, copy, { recursive: true })
  const path = `${copy}/events/events-000001.jsonl`
  if (lines === undefined) return copy
  const text = readFileSync(path, 'utf8').split('\n').slice(0, lines)
  writeFileSync(path, text.map((line) => `${line}\n`).join(''))
  for (const name of readdirSync(copy).filter((one) => one.endsWith('.tmp'))) rmSync(`${copy}/${name}`)
  return copy
}

function subscribed(hub: Hub): Socket {
  const socket = new Socket()
  hub.streams.subscribe({ outlet: socket })
  return socket
}

/** A stream that goes on behind that id, when it has all there is. */
async function resumedAt(hub: Hub, after_seq: number, execution_id?: string): Promise<Socket> {
  const socket = new Socket()
  const subscription = hub.streams.subscribe({ outlet: socket, after_seq, execution_id })
  await hub.log.until()
  const { seq } = hub.log.shown
  if (execution_id === undefined && after_seq < seq) await until(() => socket.ids.at(-1) === seq)
  subscription.close()
  return socket
}
