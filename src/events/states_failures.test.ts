// Persisted state is on the card, and the next start finds it, whatever fails, and whatever happens while a file is begun.

import { copyFileSync, cpSync, existsSync, readdirSync, readFileSync, rmSync, truncateSync, watch, writeFileSync } from 'node:fs'
import { type FileHandle, open as openOnDisk } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { type Test, test } from 'tap'
import type { Hub } from './hub.ts'
import { openEvents } from './open.ts'
import type { StateSource } from './states.ts'
import { readStates } from './states_reader.ts'

const quiet = { info() {}, warn() {}, error() {} }
const config = { system_id: 'system', events: { segment_mib: 8, commit_ms: 600_000, queue: 1000 }, limits: { subscribers: 1 } }

/** `sync` is that of the folder. */
type Call = 'datasync' | 'write' | 'close' | 'sync'

/** A card that holds of the files of states what was synced, and whose calls wait or fail on demand. */
class Card {
  readonly synced = new Map<string, Buffer>()
  /** Each call for a file of states returns only after this. */
  until: (call: Call, path: string) => Promise<void> | undefined = () => undefined

  readonly open = async (path: string, flags: string, mode?: number): Promise<FileHandle> => {
    const file = await openOnDisk(path, flags, mode)
    if (basename(path) === 'executions') return this.#waiting(file, path)
    if (!basename(path).startsWith('state-')) return file
    // A file is a draft until its copy is synced.
    const name = path.replace(/\.tmp$/, '')
    this.synced.set(name, this.synced.get(name) ?? Buffer.alloc(0))
    return new Proxy(file, {
      get: (target, key) => {
        const value = Reflect.get(target, key)
        if (key === 'close') return () => target.close().then(() => this.until(key, path))
        if (key !== 'datasync' && key !== 'write') return typeof value === 'function' ? value.bind(target) : value
        return async (...args: unknown[]) => {
          const done = await value.apply(target, args)
          const now = readFileSync(existsSync(path) ? path : name)
          await this.until(key, path)
          if (key === 'datasync') this.synced.set(name, now)
          return done
        }
      },
    })
  }

  #waiting(folder: FileHandle, path: string): FileHandle {
    return new Proxy(folder, {
      get: (target, key) => {
        const value = Reflect.get(target, key)
        if (key !== 'sync') return typeof value === 'function' ? value.bind(target) : value
        return async () => {
          await target.sync()
          await this.until(key, path)
        }
      },
    })
  }

  /** The folder as it is after the power has failed now; what was not synced of the states never came to the card. */
  fail(folder: string, copy: string): void {
    cpSync(folder, copy, { recursive: true })
    for (const [path, bytes] of this.synced) if (existsSync(path)) writeFileSync(path.replace(folder, copy), bytes)
  }
}

/** Callers of `pass` wait until the gate is opened; `fail` rejects them. */
class Barrier {
  #come = () => {}
  #open = () => {}
  #fail = (_error: Error) => {}
  readonly reached = new Promise<void>((come) => {
    this.#come = come
  })
  readonly #passed = new Promise<void>((open, fail) => {
    this.#open = open
    this.#fail = fail
  })

  pass(): Promise<void> {
    this.#come()
    return this.#passed
  }

  open(): void {
    this.#open()
  }

  fail(): void {
    this.#fail(Object.assign(new Error('EIO: i/o error'), { code: 'EIO' }))
  }
}

class Counting implements StateSource {
  readonly standing = new Map<string, string>()
  readonly #hub: Hub
  readonly id: string
  count = 0

  constructor(hub: Hub, id: string) {
    this.#hub = hub
    this.id = id
    hub.states.add(id, this)
  }

  step(event_name = `CUSTOM.of_${this.id}.STEP`): void {
    this.#hub.emit(event_name, { count: ++this.count }, this.id)
    this.#hub.states.changed()
  }

  changes(): ReadonlyMap<string, string> {
    const text = String(this.count)
    if (this.standing.get('count') === text) return new Map()
    this.standing.set('count', text)
    return new Map([['count', text]])
  }
}

async function opened(t: Test, folder: string, card = new Card()): Promise<Hub> {
  const hub = await openEvents({ folder, config, log: quiet, open: card.open })
  t.teardown(() => hub.close())
  return hub
}

/** A bench with one run, whose first step is persisted. */
async function begun(t: Test) {
  const folder = join(t.testdir({ bench: {} }), 'bench')
  const card = new Card()
  const hub = await opened(t, folder, card)
  const a = new Counting(hub, 'a')
  a.step()
  await hub.log.persist()
  return { folder, card, hub, a }
}

let copies = 0
const another = (t: Test) => join(t.testdirName, `copy-${++copies}`)

/** The service as a start after a kill finds it, and what that finds. */
async function killed(
  t: Test,
  folder: string,
): Promise<{ copy: string; hub: Hub; incidents: string[]; found: Record<string, unknown>; damage: string | undefined }> {
  const copy = another(t)
  cpSync(folder, copy, { recursive: true })
  return { copy, ...(await found(t, copy)) }
}

async function found(t: Test, folder: string) {
  const hub = await opened(t, folder)
  const { runs, damage } = hub.log.saved
  const incidents = hub.incidents.list().map(({ message }) => message)
  // The folder goes as soon as the test has ended.
  await hub.incidents.written()
  return { hub, incidents, found: Object.fromEntries([...runs].map(([id, { keys, damage }]) => [id, damage ?? keys.get('count')])), damage }
}

function noSpace(): Promise<void> {
  return Promise.reject(Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' }))
}

async function toldOf(hub: Hub, id: string): Promise<unknown> {
  return (await hub.getEventsForExecution(id)).at(-1)?.context.count
}

test('a run that begins while a file is begun is found after a kill, and one that ends meanwhile is gone', async (t) => {
  const folder = join(t.testdir({ bench: {} }), 'bench')
  const card = new Card()
  const hub = await opened(t, folder, card)
  const [a, gone] = [new Counting(hub, 'a'), new Counting(hub, 'gone')]
  a.step()
  gone.step()
  const gate = new Barrier()
  card.until = (call) => (call === 'datasync' ? gate.pass() : undefined)
  const first = hub.log.persist()
  await gate.reached
  const b = new Counting(hub, 'b')
  b.step()
  hub.states.drop('gone')
  gate.open()
  await first
  await hub.log.persist()
  b.step()
  await hub.log.persist()
  const after = await killed(t, folder)
  t.same([after.found, after.damage], [{ a: 1, b: 2 }, undefined])
})

test('where a sync fails while the next line is written, nothing counts as persisted that is not on the card', async (t) => {
  const { folder, card, hub, a } = await begun(t)
  const [sync, write] = [new Barrier(), new Barrier()]
  card.until = (call) => (call === 'datasync' ? sync.pass() : undefined)
  a.step()
  const second = hub.log.persist()
  await sync.reached
  card.until = (call) => (call === 'write' ? write.pass() : undefined)
  a.step()
  const third = hub.log.persist()
  await write.reached
  sync.fail()
  await t.rejects(second, { code: 'storage' })
  card.until = () => undefined
  write.open()
  const isPersisted = await third.then(
    () => true,
    () => false,
  )
  const copy = another(t)
  card.fail(folder, copy)
  const after = await found(t, copy)
  if (isPersisted) t.same(after.found, { a: 3 })
  await hub.log.persist()
  const last = another(t)
  card.fail(folder, last)
  t.same((await found(t, last)).found, { a: 3 })
})

test('a sync that runs while a line is being written does not count for that line', async (t) => {
  const { card, hub, a } = await begun(t)
  let syncs = 0
  const write = new Barrier()
  card.until = (call) => {
    if (call === 'write') return write.pass()
    syncs++
    return undefined
  }
  a.step()
  const persisted = hub.log.persist()
  await write.reached
  await hub.states.sync()
  const before = syncs
  write.open()
  await persisted
  t.ok(syncs > before, 'the line has a sync of its own')
})

test('where the sync of a turn fails whose events are shown only when they are synced, its state is written anew', async (t) => {
  const { folder, card, hub, a } = await begun(t)
  card.until = (call) => {
    if (call !== 'datasync') return undefined
    card.until = () => undefined
    return Promise.reject(new Error('EIO: i/o error'))
  }
  a.step('SUBMISSION.one.COMPLETED')
  await hub.log.persist()
  const copy = another(t)
  card.fail(folder, copy)
  t.same((await found(t, copy)).found, { a: 2 })
})

test('what was left out at one start, for the log did not reach so far, does not count at the next', async (t) => {
  const { folder, hub, a } = await begun(t)
  const log = join(folder, 'events', 'events-000001.jsonl')
  const { length } = readFileSync(log)
  a.step()
  new Counting(hub, 'b').step()
  await hub.log.persist()
  truncateSync(log, length)
  const once = await killed(t, folder)
  t.same(once.found, { a: 1 })
  once.hub.emit('DEVICE.shaker-1.READY', {})
  await once.hub.log.until()
  const twice = await killed(t, once.copy)
  t.same([twice.found, await toldOf(twice.hub, 'a')], [{ a: 1 }, 1])
})

test('a run is not taken up as it was when the log was saved that somebody has put back', async (t) => {
  const { folder, hub, a } = await begun(t)
  const saved = another(t)
  cpSync(join(folder, 'events'), saved, { recursive: true })
  a.step()
  await hub.log.persist()
  await hub.close()
  rmSync(join(folder, 'events'), { recursive: true })
  cpSync(saved, join(folder, 'events'), { recursive: true })
  t.same((await found(t, folder)).found, { a: 2 })
})

test('a backup of a running service is put back with its log: both tell of the same, though they were copied one after the other', async (t) => {
  const { folder, hub, a } = await begun(t)
  const saved = another(t)
  cpSync(join(folder, 'executions'), join(saved, 'executions'), { recursive: true })
  a.step()
  await hub.log.persist()
  cpSync(join(folder, 'events'), join(saved, 'events'), { recursive: true })
  a.step()
  await hub.log.persist()
  await hub.close()
  for (const name of ['executions', 'events']) {
    rmSync(join(folder, name), { recursive: true })
    cpSync(join(saved, name), join(folder, name), { recursive: true })
  }
  const after = await found(t, folder)
  t.same([after.found, await toldOf(after.hub, 'a')], [{ a: 1 }, 1])
})

test('an older log that was put back after a kill is noticed: the runs go on from their own state, and somebody is told', async (t) => {
  const { folder, hub, a } = await begun(t)
  const saved = another(t)
  cpSync(join(folder, 'events'), saved, { recursive: true })
  for (let times = 0; times < 3; times++) {
    a.step()
    await hub.log.persist()
  }
  const copy = another(t)
  cpSync(folder, copy, { recursive: true })
  rmSync(join(copy, 'events'), { recursive: true })
  cpSync(saved, join(copy, 'events'), { recursive: true })
  const once = await found(t, copy)
  t.same(once.found, { a: 4 })
  t.match(once.incidents, [/^the event log ends with event 1, and event 3 was in it before: an older log was put in its place/])
  await once.hub.incidents.written()
  await once.hub.log.until()
  const twice = await killed(t, copy)
  t.same([twice.found, twice.incidents.length], [{ a: 4 }, 1], 'it is told once')
})

test('a log that ends early because its newest events were removed is not taken for an older one', async (t) => {
  const { folder, hub, a } = await begun(t)
  a.step()
  await hub.log.persist()
  const end = { stored: 0, known: 1, ended: 0 }
  t.equal((await readStates(join(folder, 'executions'), end)).runs.get('a')?.damage, 'the event log does not reach as far as its state')
  t.equal((await readStates(join(folder, 'executions'), { ...end, known: 0 })).runs.get('a')?.damage, undefined)
})

test('a kill in the very first copy costs nothing, and is no damage', async (t) => {
  const folder = join(t.testdir({ bench: {} }), 'bench')
  const card = new Card()
  const hub = await opened(t, folder, card)
  const gate = new Barrier()
  card.until = () => gate.pass()
  const a = new Counting(hub, 'a')
  a.step()
  await gate.reached
  for (const length of [undefined, 60, 0]) {
    const copy = another(t)
    cpSync(folder, copy, { recursive: true })
    const [name] = readdirSync(join(copy, 'executions'))
    if (length !== undefined) truncateSync(join(copy, 'executions', name!), length)
    const after = await found(t, copy)
    t.same([after.found, after.damage, await toldOf(after.hub, 'a')], [{}, undefined, undefined])
  }
  gate.open()
  await hub.log.persist()
  t.same((await killed(t, folder)).found, { a: 1 })
})

/** A bench whose file of states is replaced after the next value of `big`, for most of it is dead. */
async function grown(t: Test) {
  const bench = await begun(t)
  const big = (times: number) => {
    bench.hub.states.add('big', new Big('x'.repeat(300_000) + times))
    return bench.hub.log.persist()
  }
  for (let times = 1; times < 28; times++) await big(times)
  return { ...bench, big }
}

class Big implements StateSource {
  readonly standing: Map<string, string>
  #isNew = true

  constructor(text: string) {
    this.standing = new Map([['text', JSON.stringify(text)]])
  }

  changes(): ReadonlyMap<string, string> {
    const changes = this.#isNew ? this.standing : new Map()
    this.#isNew = false
    return changes
  }
}

test('while the card has no room for a copy, the old file goes on; later it is replaced', async (t) => {
  const { folder, hub, card, a, big } = await grown(t)
  await big(28)
  let refused = 0
  card.until = (call, path) => (call === 'write' && path.endsWith('2.jsonl.tmp') && ++refused ? noSpace() : undefined)
  for (let times = 0; times < 3; times++) {
    a.step()
    await hub.log.persist()
  }
  t.equal(refused, 1, 'it is not asked with every turn')
  t.same(readdirSync(join(folder, 'executions')), ['state-000001.jsonl'])
  t.equal((await killed(t, folder)).found.a, 4)
  card.until = () => undefined
  for (let times = 0; times < 5; times++) await big(times)
  t.same(readdirSync(join(folder, 'executions')), ['state-000002.jsonl'])
  t.equal((await killed(t, folder)).found.a, 4)
})

test('a sync of the old file that fails when another has taken its place is no failure', async (t) => {
  const { folder, hub, card, a, big } = await grown(t)
  const gate = new Barrier()
  card.until = (call, path) => (call === 'datasync' && path.endsWith('1.jsonl.tmp') ? gate.pass() : undefined)
  const first = big(28)
  await gate.reached
  a.step()
  await hub.log.until()
  gate.fail()
  await first
  await hub.log.persist()
  t.equal((await killed(t, folder)).found.a, 2)
})

test('where the card may have the name of a copy though the sync of the folder failed, nothing is added to the file before it', async (t) => {
  const { folder, hub, card, a, big } = await grown(t)
  await big(28)
  let copied: Buffer | undefined
  card.until = (call) => {
    if (call !== 'sync') return undefined
    card.until = () => undefined
    copied = readFileSync(join(folder, 'executions', 'state-000002.jsonl'))
    return Promise.reject(new Error('EIO: i/o error'))
  }
  a.step()
  await t.rejects(hub.log.persist(), { code: 'storage' })
  a.step()
  await hub.log.persist()
  const cut = another(t)
  card.fail(folder, cut)
  // The card has the name, and not that it was removed.
  const named = join(cut, 'executions', 'state-000002.jsonl')
  if (!existsSync(named)) writeFileSync(named, copied!)
  const after = await found(t, cut)
  t.same([after.found.a, after.damage, await toldOf(after.hub, 'a')], [3, undefined, 3])
})

test('a sync that begins while the file of the last run is closed does not fail', async (t) => {
  const { hub, card, a } = await begun(t)
  a.step()
  await hub.log.until()
  const closing = new Barrier()
  card.until = (call) => (call === 'close' ? closing.pass() : undefined)
  hub.states.drop('a')
  await closing.reached
  await t.resolves(hub.states.sync())
  closing.open()
  await hub.log.persist()
})

test('with the end of the last run the oldest file is removed first: after a kill in between, the next start reads the newest', async (t) => {
  const { folder, hub } = await begun(t)
  const states = join(folder, 'executions')
  for (const number of [0, 2, 3]) copyFileSync(join(states, 'state-000001.jsonl'), join(states, `state-00000${number}.jsonl`))
  const removed: string[] = []
  await new Promise<void>((resolve) => {
    const watcher = watch(states, (_, name) => {
      if (name && !existsSync(join(states, name)) && !removed.includes(name)) removed.push(name)
      if (removed.length === 4) resolve(watcher.close())
    })
    hub.states.drop('a')
  })
  t.same(removed, ['state-000000.jsonl', 'state-000001.jsonl', 'state-000002.jsonl', 'state-000003.jsonl'])
})
