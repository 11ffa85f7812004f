// The power fails at any moment: of what was not synced any part may be on the card, or zeros in its place.

import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { type FileHandle, open as openOnDisk } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { type Test, test } from 'tap'
import { LogFiles } from './log_files.ts'
import { openEvents } from './open.ts'
import type { StateSource } from './states.ts'

const quiet = { info() {}, warn() {}, error() {} }
const config = { system_id: 'system', events: { segment_mib: 8, commit_ms: 20, queue: 1000 }, limits: { subscribers: 1 } }
/** Of the card, in bytes. */
const page = 128

/** The same numbers in every run. */
function diceOf(seed: number): (below: number) => number {
  let state = seed * 2_654_435_761 + 1
  return (below) => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 3_266_489_917) | 0
    return ((state >>> 8) & 0xffff) % below
  }
}

/** A card that knows of each file what was synced. `lies`: the files whose syncs do nothing. */
class Card {
  readonly #lies: RegExp
  readonly #synced = new Map<string, Buffer>()

  constructor(lies: RegExp) {
    this.#lies = lies
  }

  readonly open = async (path: string, flags: string, mode?: number): Promise<FileHandle> => {
    const file = await openOnDisk(path, flags, mode)
    // A file of states is a draft until its copy is synced.
    const name = path.replace(/jsonl\.tmp$/, 'jsonl')
    if (!name.endsWith('.jsonl')) return file
    if (flags.includes('w')) this.#synced.set(name, Buffer.alloc(0))
    const sync = async () => {
      const before = readFileSync(existsSync(path) ? path : name)
      if (!this.#lies.test(basename(name))) this.#synced.set(name, before)
    }
    return new Proxy(file, {
      get: (target, key) => {
        if (key === 'datasync' || key === 'sync') return sync
        const value = Reflect.get(target, key)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  }

  /** Copies the folder as it is after the power has failed now. */
  fail(folder: string, copy: string, below: (below: number) => number): void {
    cpSync(folder, copy, { recursive: true })
    for (const [path, synced] of this.#synced) {
      const copied = path.replace(folder, copy)
      let now: Buffer
      try {
        now = readFileSync(path)
      } catch {
        continue
      }
      const from = firstDifference(synced, now)
      const length = from + below(now.length - from + 1)
      const kept = Buffer.from(now.subarray(0, length))
      for (let at = from; at < length; at = (Math.floor(at / page) + 1) * page)
        if (below(3) === 0) kept.fill(0, at, Math.min(length, (Math.floor(at / page) + 1) * page))
      writeFileSync(copied, kept)
    }
  }
}

function firstDifference(one: Buffer, other: Buffer): number {
  const end = Math.min(one.length, other.length)
  for (let at = 0; at < end; at++) if (one[at] !== other[at]) return at
  return end
}

/** Counts, tells of it, and makes sure now and then that it is on the card. */
class Counting implements StateSource {
  readonly standing = new Map<string, string>()
  count = 0

  changes(): ReadonlyMap<string, string> {
    const text = String(this.count)
    if (this.standing.get('count') === text) return new Map()
    this.standing.set('count', text)
    return new Map([['count', text]])
  }
}

/** A source beside the runs: it notes how far each run has counted, and changes with them. */
class Bench implements StateSource {
  readonly standing = new Map<string, string>()
  readonly #runs: readonly { id: string; source: Counting }[]

  constructor(runs: readonly { id: string; source: Counting }[]) {
    this.#runs = runs
  }

  changes(): [string, string][] {
    const changed = this.#runs
      .map(({ id, source }): [string, string] => [id, String(source.count)])
      .filter(([id, text]) => this.standing.get(id) !== text)
    for (const [id, text] of changed) this.standing.set(id, text)
    return changed
  }
}

/** `until` ends the trials with the first fault of that kind. */
type Trial = { lies?: RegExp; until?: RegExp }
const seeds = 40
/** A control ends with its first fault; on a busy machine that can take longer. */
const mostSeeds = 2000

/** What is wrong after power cuts at random moments. */
async function faults(t: Test, { lies = /nothing/, until }: Trial): Promise<string[]> {
  const found: string[] = []
  const top = t.testdir()
  for (let seed = 1; seed <= (until ? mostSeeds : seeds); seed++) {
    const below = diceOf(seed)
    const [folder, copy] = [join(top, `${seed}`), join(top, `${seed}-after`)]
    mkdirSync(folder)
    const card = new Card(lies)
    const hub = await openEvents({ folder, config, log: quiet, open: card.open })
    const runs = ['a', 'b'].map((id) => ({ id, source: new Counting(), persisted: 0 }))
    for (const { id, source } of runs) hub.states.add(id, source)
    hub.states.add('bench', new Bench(runs))
    await hub.log.persist()
    const turns = 5 + below(60)
    for (let i = 0; i < turns; i++) {
      const run = runs[below(2)]!
      run.source.count++
      for (let left = 1 + below(3); left > 0; left--) hub.emit(`CUSTOM.of.STEP`, { count: run.source.count, last: left === 1 }, run.id)
      hub.states.changed()
      if (below(6) === 0) {
        await hub.log.persist()
        for (const one of runs) one.persisted = one.source.count
      } else for (let wait = below(6); wait > 0; wait--) await new Promise(setImmediate)
    }
    card.fail(folder, copy, below)
    await hub.close()
    const after = await openEvents({ folder: copy, config, log: quiet })
    const bench = after.log.saved.runs.get('bench')
    for (const { id, persisted } of runs) {
      const saved = after.log.saved.runs.get(id)
      const events = await after.getEventsForExecution(id)
      const { count, last } = (events.at(-1)?.context ?? { count: 0, last: true }) as { count: number; last: boolean }
      if (!saved) found.push(`seed ${seed}: nothing is left of ${id}`)
      else if (saved.damage !== undefined) found.push(`seed ${seed}: ${id} is refused: ${saved.damage}`)
      else if (saved.keys.get('count') !== count || !last)
        found.push(`seed ${seed}: ${id} is at ${saved.keys.get('count')}, the log at ${count}`)
      else if (bench?.damage === undefined && bench?.keys.get(id) !== count)
        found.push(`seed ${seed}: ${id} is at ${count}, and beside it at ${bench?.keys.get(id)}`)
      else if (count < persisted) found.push(`seed ${seed}: ${id} had ${persisted} on the card, and has ${count}`)
    }
    await after.close()
    if (until && found.some((fault) => until.test(fault))) break
  }
  return found
}

test('after a power cut state and log tell of the same, and of all that was persisted', async (t) => {
  const found = await faults(t, {})
  // Where a page of zeros lies between whole lines, nobody knows which run it was of.
  t.same(
    found.filter((fault) => !fault.includes('is refused')),
    [],
  )
  t.ok(found.length < 20, `${found.length} runs are refused`)
})

test('controls: a card that does not sync one of the files, and a log that is not cut, are noticed', async (t) => {
  const lost = /had \d+ on the card|nothing is left/
  t.match((await faults(t, { lies: /^state-/, until: lost })).join('\n'), lost, 'the state')
  const disagree = /is at \d+, the log at/
  // The state knows how far the log was said to be on the card, and is not cut to what is left of it.
  t.match((await faults(t, { lies: /^events-/, until: disagree })).join('\n'), disagree, 'the log')
  const { cutAfter } = LogFiles.prototype
  t.teardown(() => {
    LogFiles.prototype.cutAfter = cutAfter
  })
  LogFiles.prototype.cutAfter = async () => new Set()
  t.match((await faults(t, { until: disagree })).join('\n'), disagree, 'a log that is not cut')
})
