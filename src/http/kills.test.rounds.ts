// The service killed under load, again and again on one data folder, while clients read along: is what they saw true?

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { createInterface } from 'node:readline'
import { setTimeout as after } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { RuntimeEvent } from '../events/event.ts'
import { verifyLog } from '../events/log_verify.ts'
import { seeded } from '../testing/seeded.ts'

const program = fileURLToPath(new URL('../../bundle/main.js', import.meta.url))
const rate = 2000
const mostSeen = 1200
const longestStart_ms = 300

export type Outcome = { events: number; seen: number; acknowledged: number; kills: number; problems: string[] }

/** The folder has to be there, and empty. The same seed chooses the same moments. */
export async function killRounds(folder: string, { rounds, seed }: { rounds: number; seed: number }): Promise<Outcome> {
  const bench = new Bench(folder, seeded(seed))
  try {
    for (let round = 1; round <= rounds; round++) await bench.round(round)
    return await bench.end()
  } finally {
    bench.letGo()
  }
}

type Door = { url: string; key: string }

class Bench {
  readonly #folder: string
  readonly #random: () => number
  readonly #key: string
  readonly #history = new History()
  readonly #followers = [new Follower(), new Follower(), new Follower('run-1'), new Follower('run-2')]
  readonly #poller = new Poller()
  readonly #poster = new Poster()
  #kills = 0
  #child: ChildProcess | undefined

  constructor(folder: string, random: () => number) {
    this.#folder = folder
    this.#random = random
    const transport = { kind: 'simulated' }
    const devices = [{ device_id: 'shaker-1', driver: 'bioshake', transport }]
    writeFileSync(
      `${folder}/config.json`,
      JSON.stringify({ format: 1, listen: { host: '127.0.0.1', port: 0 }, events: { segment_mib: 1 }, devices }),
    )
    mkdirSync(`${folder}/data`, { mode: 0o700 })
    const made = ['key', 'create', '--name', 'kills', '--scope', 'operate', '--data-dir', `${folder}/data`]
    this.#key = execFileSync(process.execPath, [program, ...made], { encoding: 'utf8' }).trim()
  }

  /** Starts it, looks whether all that was seen is there, lets it run under load for a while, and kills it. */
  async round(round: number): Promise<void> {
    if (round % 5 === 0) await this.#killStarting()
    const { child, door } = await this.#started()
    await this.#look(door, round)
    const reading = this.#read(door)
    const enough = this.#followers[0]!.seen.length + Math.floor(this.#random() * mostSeen)
    await post(door, '/api/sim/load', { rate, execution_id: 'run-1' })
    await this.#followers[0]!.has(enough - mostSeen / 4)
    await post(door, '/api/sim/load', { rate, execution_id: 'run-2' })
    await this.#followers[0]!.has(enough)
    for (let turns = Math.floor(this.#random() * 300); turns > 0; turns--) await new Promise(setImmediate)
    await this.#kill(child)
    await Promise.all(reading)
  }

  /** A last start: everything is looked at once more, from the beginning, and as a stream. */
  async end(): Promise<Outcome> {
    const { child, door } = await this.#started()
    await this.#look(door, 'end')
    const { problems, events } = this.#history
    // What a kill left half written is cut off by the next event, not before.
    await post(door, '/api/sim/events', { event_name: 'END.REACHED' })
    await this.#history.readOn(door)
    const all = new History()
    await all.readOn(door)
    if (all.events.join('\n') !== events.join('\n')) problems.push('the whole log reads otherwise than its parts did')
    const replayed = new Follower()
    const ended = replayed.follow(door, '0')
    await replayed.has(events.length)
    await this.#kill(child)
    await ended
    this.#history.compare('a stream from the beginning', replayed.seen)
    const { damaged } = await verifyLog(`${this.#folder}/data/events`)
    for (const { file, offset, problem } of damaged) problems.push(`${file} at byte ${offset}: ${problem}`)
    const seen = this.#followers.reduce((sum, { seen }) => sum + seen.length, this.#poller.seen.length)
    return { events: events.length, seen, acknowledged: this.#poster.acknowledged.length, kills: this.#kills, problems }
  }

  /** Leaves nothing running, however it went. */
  letGo(): void {
    this.#child?.kill('SIGKILL')
  }

  #read(door: Door): Promise<unknown>[] {
    return [...this.#followers.map((follower) => follower.follow(door)), this.#poller.poll(door), this.#poster.post(door)]
  }

  async #look(door: Door, round: number | string): Promise<void> {
    const history = this.#history
    await history.readOn(door)
    for (const [i, { seen, execution_id, comments }] of this.#followers.entries()) {
      history.compare(`round ${round}, stream ${i}`, seen, execution_id)
      const lost = comments.find((comment) => /gap|dropped|not stored/.test(comment))
      if (lost) history.problems.push(`round ${round}, stream ${i} was told: ${lost}`)
    }
    history.compare(`round ${round}, polling`, this.#poller.seen)
    history.has(`round ${round}`, this.#poster.acknowledged)
  }

  /** At any moment before it listens. */
  async #killStarting(): Promise<void> {
    const child = this.#spawn()
    child.stdout!.resume()
    await after(this.#random() * longestStart_ms)
    await this.#kill(child)
  }

  async #started(): Promise<{ child: ChildProcess; door: Door }> {
    const child = this.#spawn()
    for await (const line of createInterface({ input: child.stdout! })) {
      const [, url] = /listens on (http:[\w.:/]+)/.exec(line) ?? []
      if (!url) continue
      child.stdout!.resume()
      return { child, door: { url, key: this.#key } }
    }
    throw new Error('the service ended before it listened')
  }

  #spawn(): ChildProcess {
    const { PATH = '' } = process.env
    const given = ['serve', '--config', `${this.#folder}/config.json`, '--data-dir', `${this.#folder}/data`]
    // So many kills in so short a time are what safe mode is for: here nobody has to look at a bench.
    rmSync(`${this.#folder}/data/starts.json`, { force: true })
    const child = spawn(process.execPath, [program, ...given], { stdio: ['ignore', 'pipe', 'inherit'], env: { PATH, HOME: this.#folder } })
    this.#child = child
    return child
  }

  async #kill(child: ChildProcess): Promise<void> {
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    const [code, signal] = await ended
    if (signal !== 'SIGKILL') throw new Error(`the service ended by itself with ${code}`)
    this.#kills++
  }
}

/** An event as it was seen: its one text, and the id that a stream gave it. */
type Seen = { text: string; id?: number }

/** All that `GET /events` has told so far, in its order; what others saw is held against it. */
class History {
  readonly events: string[] = []
  readonly problems: string[] = []
  readonly #executions: string[] = []
  readonly #places = new Map<string, number>()
  #next_since = 0
  #newest = 0
  #flow = -1

  async readOn({ url, key }: Door): Promise<void> {
    const answer = await fetch(`${url}/events?since=${this.#next_since}`, { headers: { 'X-API-Key': key } })
    const { events, next_since } = (await answer.json()) as { events: RuntimeEvent[]; next_since: number }
    for (const event of events) this.#take(event)
    this.#next_since = next_since
  }

  /** What was seen must be these events from the first that was seen on, each once, in order. */
  compare(who: string, seen: readonly Seen[], execution_id?: string): void {
    let place = this.#places.get(seen[0]?.text ?? '') ?? 0
    let id = 0
    for (const one of seen) {
      while (execution_id !== undefined && place < this.events.length && this.#executions[place] !== execution_id) place++
      const problem =
        this.#difference(one.text, place) ?? (one.id !== undefined && one.id <= id ? `${one.id} is its id after ${id}` : undefined)
      if (problem) {
        this.problems.push(`${who}: ${problem}: ${one.text}`)
        return
      }
      id = one.id ?? id
      place++
    }
  }

  has(who: string, texts: readonly string[]): void {
    for (const text of texts) if (!this.#places.has(text)) this.problems.push(`${who}: this was acknowledged and is missing: ${text}`)
  }

  #difference(text: string, place: number): string | undefined {
    if (this.events[place] === text) return undefined
    const at = this.#places.get(text)
    return at === undefined ? 'it was seen and is missing' : at < place ? 'it came twice' : `it came before ${at - place} others`
  }

  #take(event: RuntimeEvent): void {
    const text = JSON.stringify(event)
    if (event.timestamp <= this.#newest) this.problems.push(`${text} is not later than ${this.#newest}`)
    const { n } = event.context
    if (typeof n === 'number' && n !== 0 && n !== this.#flow + 1) this.problems.push(`${text} follows number ${this.#flow}`)
    if (typeof n === 'number') this.#flow = n
    this.#newest = event.timestamp
    this.#places.set(text, this.events.length)
    this.events.push(text)
    this.#executions.push(event.execution_id)
  }
}

/** A subscriber that takes its stream up again where it was torn off. */
class Follower {
  readonly execution_id: string | undefined
  readonly seen: Seen[] = []
  readonly comments: string[] = []
  #wanted = Number.POSITIVE_INFINITY
  #enough = () => {}

  constructor(execution_id?: string) {
    this.execution_id = execution_id
  }

  /** Resolves when the stream has ended, however it did. */
  follow({ url, key }: Door, from?: string): Promise<void> {
    const last = this.seen.at(-1)?.id?.toString() ?? from
    const headers = { 'X-API-Key': key, ...(last !== undefined && { 'Last-Event-ID': last }) }
    const path = this.execution_id === undefined ? '/events/stream' : `/events/stream?execution_id=${this.execution_id}`
    return new Promise((resolve) => {
      const asking = get(url + path, { headers, agent: false }, (response) => {
        if (response.statusCode !== 200) this.comments.push(`gap: answered ${response.statusCode}`)
        let rest = ''
        response.setEncoding('utf8')
        response.on('data', (text: string) => {
          const frames = (rest + text).split('\n\n')
          rest = frames.pop()!
          for (const frame of frames) this.#take(frame)
        })
        response.on('error', () => undefined)
        response.on('close', resolve)
      })
      asking.on('error', () => resolve())
    })
  }

  async has(count: number): Promise<void> {
    if (this.seen.length >= count) return
    this.#wanted = count
    await new Promise<void>((resolve) => {
      this.#enough = resolve
    })
  }

  #take(frame: string): void {
    const [, text, id] = /^event: runtime_event\ndata: (.*)\nid: (\d+)$/.exec(frame) ?? []
    if (text) this.seen.push({ text, id: Number(id) })
    else this.comments.push(frame)
    if (this.seen.length >= this.#wanted) this.#enough()
  }
}

class Poller {
  readonly seen: Seen[] = []
  #since = '0'

  /** Asks on until nobody answers. What is cut off counts as not seen. */
  async poll({ url, key }: Door): Promise<void> {
    try {
      for (;;) {
        const answer = await fetch(`${url}/events?since=${this.#since}&limit=400&wait=1`, { headers: { 'X-API-Key': key } })
        const { events, next_since } = (await answer.json()) as { events: RuntimeEvent[]; next_since: number }
        for (const event of events) this.seen.push({ text: JSON.stringify(event) })
        this.#since = String(next_since)
      }
    } catch {
      // It was killed.
    }
  }
}

/** Fires events that are synced first, and such that are not, and keeps those that were acknowledged. */
class Poster {
  readonly acknowledged: string[] = []

  async post(door: Door): Promise<void> {
    try {
      for (let i = 0; ; i++) {
        const event_name = i % 2 ? 'EXECUTION.run-2.COMPLETED' : 'THREAD.plate.MOVING'
        this.acknowledged.push(await post(door, '/api/sim/events', { event_name, execution_id: 'run-2', context: { i } }))
      }
    } catch {
      // It was killed.
    }
  }
}

async function post({ url, key }: Door, path: string, body: object): Promise<string> {
  const headers = { 'X-API-Key': key, 'Content-Type': 'application/json' }
  const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
  const text = await answer.text()
  if (answer.ok) return text.trimEnd()
  throw new Error(`${path} was answered ${answer.status} ${text}`)
}
