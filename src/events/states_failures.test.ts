// Persisted state is on the card, and the next start finds it, whatever fails, and whatever happens while a file is begun.

import { cpSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { type FileHandle, open as openOnDisk } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { type Test, test } from 'tap'
import type { Hub } from './hub.ts'
import { openEvents } from './open.ts'
import type { StateSource } from './states.ts'

const quiet = { info() {}, warn() {}, error() {} }
const config = { system_id: 'system', events: { segment_mib: 8, commit_ms: 600_000, queue: 1000 }, limits: { subscribers: 1 } }

type Call = 'datasync' | 'write'

/** A card that holds of the files of states what was synced, and whose calls wait or fail on demand. */
class Card {
  readonly synced = new Map<string, Buffer>()
  /** Each call for a file of states returns only after this. */
  until: (call: Call) => Promise<void> | undefined = () => undefined

  readonly open = async (path: string, flags: string, mode?: number): Promise<FileHandle> => {
    const file = await openOnDisk(path, flags, mode)
    if (!basename(path).startsWith('state-')) return file
    this.synced.set(path, this.synced.get(path) ?? Buffer.alloc(0))
    return new Proxy(file, {
      get: (target, key) => {
        const value = Reflect.get(target, key)
        if (key !== 'datasync' && key !== 'write') return typeof value === 'function' ? value.bind(target) : value
        return async (...args: unknown[]) => {
          const done = await value.apply(target, args)
          const now = readFileSync(path)
          await this.until(key)
          if (key === 'datasync') this.synced.set(path, now)
          return done
        }
      },
    })
  }

  /** The folder as it is after the power has failed now; what was not synced of the states never came to the card. */
  fail(folder: string, copy: string): void {
    cpSync(folder, copy, { recursive: true })
    for (const [path, bytes] of this.synced) writeFileSync(path.replace(folder, copy), bytes)
  }
}

/** Callers of `pass` wait until the gate is opened; `fail` rejects them. */
class Gate {
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
): Promise<{ copy: string; hub: Hub; found: Record<string, unknown>; damage: string | undefined }> {
  const copy = another(t)
  cpSync(folder, copy, { recursive: true })
  return { copy, ...(await found(t, copy)) }
}

async function found(t: Test, folder: string) {
  const hub = await opened(t, folder)
  const { runs, damage } = hub.log.saved
  return { hub, found: Object.fromEntries([...runs].map(([id, { keys, damage }]) => [id, damage ?? keys.get('count')])), damage }
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
  const gate = new Gate()
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
  const [sync, write] = [new Gate(), new Gate()]
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
  const write = new Gate()
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
