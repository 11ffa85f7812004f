// The state of runs and their events are on the card together, wherever the service or the power fails.

import { cpSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { type FileHandle, open as openOnDisk } from 'node:fs/promises'
import { join } from 'node:path'
import { type Test, test } from 'tap'
import type { Hub } from './hub.ts'
import { openEvents } from './open.ts'
import type { StateSource } from './states.ts'

const quiet = { info() {}, warn() {}, error() {} }
const config = { system_id: 'system', events: { segment_mib: 8, commit_ms: 10_000, queue: 1000 }, limits: { subscribers: 1 } }

async function opened(t: Test, folder: string, open?: (path: string, flags: string, mode?: number) => Promise<FileHandle>): Promise<Hub> {
  const hub = await openEvents({ folder, config, log: quiet, ...(open && { open }) })
  t.teardown(() => hub.close())
  return hub
}

/** A run whose state is a count: with each step it counts one further, and tells of it. */
class Counting implements StateSource {
  readonly id: string
  readonly standing = new Map<string, string>()
  readonly #hub: Hub
  #changes = new Map<string, string>()

  constructor(hub: Hub, id: string, values: ReadonlyMap<string, unknown> = new Map()) {
    this.id = id
    this.#hub = hub
    hub.states.add(id, this)
    for (const [key, value] of values) this.#set(key, JSON.stringify(value))
  }

  get count(): number {
    return Number(this.#changes.get('count') ?? this.standing.get('count') ?? 0)
  }

  values(values: ReadonlyMap<string, unknown>): void {
    for (const [key, value] of values) this.#set(key, JSON.stringify(value))
    this.#hub.states.changed()
  }

  step(events = 1): void {
    const count = this.count + 1
    this.#set('count', String(count))
    this.#set(`text ${count % 3}`, JSON.stringify('x'.repeat(count % 50)))
    for (let i = 1; i <= events; i++) this.#hub.emit(`CUSTOM.of_${this.id}.STEP`, { count, last: i === events }, this.id)
    this.#hub.states.changed()
  }

  changes(): ReadonlyMap<string, string> {
    const changes = this.#changes
    this.#changes = new Map()
    for (const [key, text] of changes) this.standing.set(key, text)
    return changes
  }

  #set(key: string, text: string): void {
    this.#changes.set(key, text)
  }
}

/** A source beside the runs: it notes how far each run has counted, in the same turn as the run. */
class Bench implements StateSource {
  readonly standing = new Map<string, string>()
  #changes = new Map<string, string>()

  constructor(hub: Hub) {
    hub.states.add('bench', this)
  }

  note({ id, count }: Counting): void {
    this.#changes.set(`count ${id}`, String(count))
  }

  changes(): ReadonlyMap<string, string> {
    const changes = this.#changes
    this.#changes = new Map()
    for (const [key, text] of changes) this.standing.set(key, text)
    return changes
  }
}

/** How far the log tells that the run has counted; undefined where it tells of half a turn. */
async function countIn(hub: Hub, id: string): Promise<number | undefined> {
  const events = await hub.getEventsForExecution(id)
  const { count, last } = (events.at(-1)?.context ?? { count: 0, last: true }) as { count: number; last: boolean }
  return last ? count : undefined
}

const stateIn = (folder: string) => join(folder, 'executions', readdirSync(join(folder, 'executions')).sort().at(-1)!)
const logIn = (folder: string) => join(folder, 'events', 'events-000001.jsonl')

/** Makes the folder that a kill leaves of two runs, which have counted in turns of their own and in turns together; with `isBeside`, of the bench beside them too. */
async function counted(t: Test, { isBeside = false } = {}): Promise<string> {
  const folder = join(t.testdir({ bench: {} }), 'bench')
  const hub = await opened(t, folder)
  const bench = isBeside ? new Bench(hub) : undefined
  const [a, b] = [new Counting(hub, 'a'), new Counting(hub, 'b')]
  for (let i = 0; i < 30; i++) {
    a.step(1 + (i % 3))
    if (i % 4 === 0) b.step(2)
    bench?.note(a)
    bench?.note(b)
    if (i % 3 === 0) hub.emit('DEVICE.shaker-1.READY', {})
    if (i % 5 !== 1) await hub.log.until()
  }
  await hub.log.until()
  return fresh(t, folder)
}

/** Checks that the state of each run, its log, and the bench beside it tell the same count, or that the run is refused and says why. */
async function agrees(t: Test, folder: string, what: string): Promise<{ refused: number; counts: number[] }> {
  const hub = await openEvents({ folder, config, log: quiet })
  const outcome = { refused: 0, counts: [] as number[] }
  const { runs } = hub.log.saved
  const bench = runs.get('bench')
  for (const [id, { keys, damage }] of runs) {
    if (damage !== undefined) outcome.refused++
    else if (id !== 'bench') {
      const beside = bench?.damage === undefined ? bench?.keys.get(`count ${id}`) : undefined
      if (beside !== undefined && beside !== keys.get('count'))
        t.fail(`${what}: ${id} is at ${keys.get('count')}, and beside it at ${beside}`)
      const told = await countIn(hub, id)
      if (told !== keys.get('count')) t.fail(`${what}: the state of ${id} says ${keys.get('count')}, and its log ${told}`)
      outcome.counts.push(told!)
      const text = keys.get(`text ${told! % 3}`)
      if (text !== 'x'.repeat(told! % 50)) t.fail(`${what}: ${id} has the text ${text} at ${told}`)
    }
  }
  await hub.close()
  return outcome
}

test('what was written is there after the next start, and goes on there', async (t) => {
  const folder = await counted(t)
  const { counts } = await agrees(t, folder, 'as it was')
  t.same(counts, [30, 8])
  const hub = await opened(t, folder)
  for (const [id, { keys }] of hub.log.saved.runs) new Counting(hub, id, keys).step()
  await hub.log.persist()
  t.same((await agrees(t, fresh(t, folder), 'gone on')).counts, [31, 9])
})

for (const file of ['state', 'log'] as const) {
  test(`the ${file} is cut at any byte`, async (t) => {
    const folder = await counted(t, { isBeside: true })
    const path = file === 'state' ? stateIn(folder) : logIn(folder)
    const bytes = readFileSync(path)
    const step = file === 'state' ? 97 : 307
    // Of a log that ends in the midst of the very first turn nothing fits.
    const firstTurn = file === 'state' ? 0 : offsetOfLine(bytes, 5)
    let restored = 0
    for (let at = bytes.length - 1; at > 0; at -= step) {
      const copy = fresh(t, folder)
      truncateSync(path.replace(folder, copy), at)
      const { refused, counts } = await agrees(t, copy, `cut at ${at}`)
      if (refused > 0 && at > firstTurn) t.fail(`cut at ${at}: ${refused} runs are refused`)
      restored += counts.length
    }
    t.ok(restored > 10, `${restored} runs were compared`)
  })

  test(`any byte of the ${file} is flipped`, async (t) => {
    const folder = await counted(t, { isBeside: true })
    const path = file === 'state' ? stateIn(folder) : logIn(folder)
    const bytes = readFileSync(path)
    let refused = 0
    for (let at = 3; at < bytes.length; at += file === 'state' ? 61 : 397) {
      const copy = fresh(t, folder)
      const flipped = Buffer.from(bytes)
      flipped[at]! ^= 1 << (at % 8)
      writeFileSync(path.replace(folder, copy), flipped)
      refused += (await agreesOrIsPassedOver(t, copy, `flipped at ${at}`, file)).refused
    }
    if (file === 'state') t.ok(refused > 10, `${refused} runs were refused`)
  })
}

test('any page of the state is zeros', async (t) => {
  const folder = await counted(t, { isBeside: true })
  const path = stateIn(folder)
  const bytes = readFileSync(path)
  const page = 256
  for (let from = 0; from < bytes.length; from += page) {
    const copy = fresh(t, folder)
    const zeros = Buffer.from(bytes)
    zeros.fill(0, from, Math.min(bytes.length, from + page))
    writeFileSync(path.replace(folder, copy), zeros)
    await agrees(t, copy, `zeros from ${from}`)
  }
  t.pass()
})

/** Where a line of the log is damaged, its event is passed over: then the log tells of less, and not of something else. */
async function agreesOrIsPassedOver(t: Test, folder: string, what: string, file: 'state' | 'log') {
  if (file === 'state') return agrees(t, folder, what)
  const hub = await openEvents({ folder, config, log: quiet })
  const counts = [...hub.log.saved.runs.values()].map(({ keys }) => Number(keys.get('count')))
  for (const [id, { keys, damage }] of hub.log.saved.runs) {
    const told = await countIn(hub, id)
    if (damage === undefined && told !== undefined && told > Number(keys.get('count'))) t.fail(`${what}: ${id} has told of ${told}`)
  }
  await hub.close()
  return { refused: 0, counts }
}

test('a run that was refused stays so until it is dropped, whatever is written of others', async (t) => {
  const folder = await counted(t)
  const path = stateIn(folder)
  // The second patch of a is lost.
  const lines = readFileSync(path, 'utf8').split('\n')
  const at = lines.findIndex((line) => line.includes('"a":{"n":2,'))
  writeFileSync(path, lines.filter((_, i) => i !== at).join('\n'))
  const hub = await opened(t, folder)
  const { runs, damage } = hub.log.saved
  t.match(
    [runs.get('a')!.damage, runs.get('b')!.damage, damage],
    ['a part of its state is missing', undefined, /state-000001.jsonl .a line is missing/],
  )
  new Counting(hub, 'b', runs.get('b')!.keys).step()
  await hub.log.persist()
  const after = await opened(t, fresh(t, folder))
  t.same([after.log.saved.runs.get('a')!.damage, after.log.saved.runs.get('b')!.damage], ['a part of its state is missing', undefined])
  hub.states.drop('a')
  await hub.log.persist()
  t.same([...(await opened(t, fresh(t, folder))).log.saved.runs.keys()], ['b'])
  hub.states.drop('b')
  await hub.log.persist()
  t.same(readdirSync(join(folder, 'executions')), [])
})

for (const verb of ['write', 'datasync'] as const) {
  test(`while the card refuses the ${verb} of the state, nothing is called persisted; afterwards all of it is`, async (t) => {
    const folder = join(t.testdir({ bench: {} }), 'bench')
    let isRefused = false
    const open = async (path: string, flags: string, mode?: number) => {
      const file = await openOnDisk(path, flags, mode)
      if (!path.includes('state-')) return file
      return new Proxy(file, {
        get: (target, key) => {
          const value = Reflect.get(target, key)
          if (key === verb && isRefused) return () => Promise.reject(Object.assign(new Error('refused'), { code: 'ENOSPC' }))
          return typeof value === 'function' ? value.bind(target) : value
        },
      })
    }
    const hub = await opened(t, folder, open)
    const [a, b] = [new Counting(hub, 'a'), new Counting(hub, 'b')]
    a.step()
    b.step()
    await hub.log.persist()
    isRefused = true
    a.step()
    b.step()
    await t.rejects(hub.log.persist(), { code: 'storage' })
    t.same((await agrees(t, fresh(t, folder), 'while it is refused')).refused, 0)
    a.step(3)
    await t.rejects(hub.log.persist(), { code: 'storage' })
    isRefused = false
    await hub.log.persist()
    t.same((await agrees(t, fresh(t, folder), 'afterwards')).counts, [3, 2])
  })
}

test('a file of the format before this one is read, and goes on in this one', async (t) => {
  const folder = await counted(t)
  writeFileSync(stateIn(folder), readFileSync(stateIn(folder), 'utf8').replace('{"format":4}', '{"format":3}'))
  t.match(await agrees(t, folder, 'of the format before'), { refused: 0, counts: [30, 8] })
  const hub = await opened(t, folder)
  new Counting(hub, 'a', hub.log.saved.runs.get('a')!.keys).step()
  await hub.log.persist()
  t.match(readFileSync(stateIn(folder), 'utf8'), /^\{"format":4\}\n/)
})

test('a newer format is refused with what to do, and left as it is', async (t) => {
  const text = '{"format":5}\n{"crc":"00000000"}\n'
  const folder = t.testdir({ executions: { 'state-000007.jsonl': text } })
  await t.rejects(openEvents({ folder, config, log: quiet }), {
    code: 'config',
    message: /state-000007\.jsonl has format 5; this version knows up to 4: install a newer version/,
  })
  t.equal(readFileSync(stateIn(folder), 'utf8'), text)
})

test('a file that has grown is replaced by a copy of the present values; until the copy is whole, the old file holds all', async (t) => {
  const folder = join(t.testdir({ bench: {} }), 'bench')
  const hub = await opened(t, folder)
  const big = new Counting(hub, 'big', new Map([['other', 'y'.repeat(300_000)]]))
  const counting = new Counting(hub, 'a')
  big.step()
  const names = new Set<string>()
  const copies: string[] = []
  for (let i = 0; i < 45; i++) {
    big.values(new Map([['text', `${i}${'x'.repeat(300_000)}`]]))
    counting.step()
    await hub.log.persist()
    for (const name of readdirSync(join(folder, 'executions'))) if (!name.endsWith('.tmp')) names.add(name)
    if (readdirSync(join(folder, 'executions')).length > 1) copies.push(fresh(t, folder))
  }
  t.same([...names].sort(), ['state-000001.jsonl', 'state-000002.jsonl'])
  for (const copy of [...copies, fresh(t, folder)]) {
    const { counts, refused } = await agrees(t, copy, 'while it was begun')
    t.same([counts.length, refused], [2, 0])
    // The copy is torn, and the log has not come so far.
    if (copies.includes(copy)) t.equal(readdirSync(join(copy, 'executions')).length, 2)
  }
  t.equal(readdirSync(join(folder, 'executions')).length, 1)
})

function offsetOfLine(bytes: Buffer, number: number): number {
  let at = 0
  for (let i = 0; i < number; i++) at = bytes.indexOf('\n', at) + 1
  return at
}

let copies = 0
function fresh(t: Test, folder: string): string {
  const copy = join(t.testdirName, `copy-${++copies}`)
  cpSync(folder, copy, { recursive: true })
  return copy
}

/** A run that has changed in many values of 100,000 characters; `onTake` is called when the next of them is taken. */
function many(values: number, onTake: (taken: number) => void): StateSource {
  const standing = new Map<string, string>()
  let left = values
  return {
    standing,
    *changes() {
      for (; left > 0; left--) {
        const [key, text] = [`value ${left}`, JSON.stringify('x'.repeat(100_000))]
        onTake(values - left)
        standing.set(key, text)
        yield [key, text]
      }
    },
  }
}

test('a transaction with many values delays nobody: between slices of it the others have their turns', async (t) => {
  const folder = join(t.testdir({ bench: {} }), 'bench')
  const hub = await opened(t, folder)
  new Counting(hub, 'a').step()
  await hub.log.persist()
  let [turns, isOver] = [0, false]
  const turn = () => {
    turns++
    if (!isOver) setImmediate(turn)
  }
  turn()
  const taken: number[] = []
  hub.states.add(
    'big',
    many(40, () => taken.push(turns)),
  )
  await hub.log.persist()
  isOver = true
  const most = Math.max(...taken.map((at) => taken.filter((other) => other === at).length))
  t.ok(most <= 3, `${most} values in one turn`)
  const saved = (await opened(t, fresh(t, folder))).log.saved.runs
  t.same([saved.get('big')?.keys.size, saved.get('big')?.damage, saved.get('a')?.keys.get('count')], [40, undefined, 1])
})

test('what is dropped and begins anew under its name before the next transaction has nothing of before', async (t) => {
  const folder = join(t.testdir({ bench: {} }), 'bench')
  const hub = await opened(t, folder)
  new Counting(hub, 'a').step()
  const before = new Counting(hub, 'b')
  before.values(
    new Map([
      ['old', 1],
      ['both', 1],
    ]),
  )
  await hub.log.persist()
  before.values(new Map([['late', 1]]))
  hub.states.drop('b')
  new Counting(hub, 'b').values(
    new Map([
      ['both', 2],
      ['new', 2],
    ]),
  )
  await hub.log.persist()
  const { saved } = (await opened(t, fresh(t, folder))).log
  t.same(
    [[...saved.runs.get('b')!.keys].sort(), saved.damage],
    [
      [
        ['both', 2],
        ['new', 2],
      ],
      undefined,
    ],
  )
})

test('a run that ends while a transaction is taken leaves nothing; one that begins then is with the next', async (t) => {
  const folder = join(t.testdir({ bench: {} }), 'bench')
  const hub = await opened(t, folder)
  let late: Counting | undefined
  const onTake = (taken: number) => {
    if (taken === 10) late = new Counting(hub, 'late')
    if (taken === 20) hub.states.drop('big')
  }
  hub.states.add('big', many(40, onTake))
  new Counting(hub, 'a').step()
  await hub.log.persist()
  const first = (await opened(t, fresh(t, folder))).log.saved.runs
  t.same([...first.keys()], ['a'])
  late!.step()
  await hub.log.persist()
  const then = (await opened(t, fresh(t, folder))).log.saved.runs
  t.same([...then].map(([id, { keys, damage }]) => [id, keys.get('count'), damage]).sort(), [
    ['a', 1, undefined],
    ['late', 1, undefined],
  ])
})

test('events of a turn that takes several buffers are shown as they are in the log, though the first buffer is full of others by then', async (t) => {
  const hub = await opened(t, t.testdir())
  const run = new Counting(hub, 'run')
  let streamed = ''
  const write = (bytes: Buffer | string) => {
    streamed += bytes
    return true
  }
  hub.streams.subscribe({ outlet: { write, onDrain() {}, end() {} } })
  // The stream keeps the newest thousand, a hundred events of the first buffer among them. The lines of the third are longer.
  for (let i = 1; i <= 1400; i++) hub.emit('CUSTOM.long.STEP', { text: 'x'.repeat(i <= 1000 ? 1 : 100) }, 'run')
  run.step()
  await hub.log.persist()
  await hub.log.until()
  let logged = ''
  for await (const { bytes } of hub.log.read({ after_seq: 401 }, 'array')) logged += bytes
  const shown = [...streamed.matchAll(/^data: (.*)$/gm)].map(([, text]) => text)
  t.equal(shown.length, 1000)
  t.ok(shown.join() === logged, 'each event has its own text')
})
