// A line that a tool of libgpiod holds: one gpiomon for each input that is watched, one gpioset for each output.
//
// Levels go through the tools as they are; what is active is worked out here. Each runs under a small shell that ends it when the
// service has gone, in whatever way. An output floats once its gpioset has ended: what hangs on it must be off then (a pull
// resistor sees to it).

import { type ChildProcessByStdio, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readlinkSync } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { promisify } from 'node:util'
import { LabError, messageOf } from '../../src/errors.ts'
import { sleep, systemClock } from '../../src/kit/clock.ts'
import { SerialQueue } from '../../src/kit/serial_queue.ts'
import { WithMount } from '../with_mount.ts'
import type { Pin, PinUse } from './pin.ts'
import type { Chip } from './pin_chips.ts'

export const run = promisify(execFile)

/** Levels are 0 and 1, not what is active. */
export type Words = {
  get(chip: string, line: number, pull: PinUse['pull']): string[]
  /** Without the `line=level` at the end. Holds the line until it is ended. */
  set(chip: string): string[]
  /**
   * The arguments of a gpioset that sets as `set` does, and takes `set line=level` and `get line` from its input; the latter is answered
   * `"line"=active` or `inactive`.
   */
  obey?: ((chip: string) => string[]) | undefined
  monitor(chip: string, line: number, pull: PinUse['pull']): string[]
  /** The line that gpiomon prints for a rising edge. */
  rising: string
  /** The most edges of which the last one is the level for certain. Undefined where the last edge always is. */
  trusted_edges?: number
}

export type Tools = { words: Words; tool(words: string[]): [string, string[]]; chips: readonly Chip[] }
type Place = { tools: Tools; chip: string; line: number; use: PinUse; lost(reason: string): void }

/** How long a line may take to be held: who had it before may keep it for a second. */
const patience_ms = 2000
const look_ms = 5
/** When a gpioset found the line taken and has ended, another one is begun after so long. One that is slow to start is waited for. */
const again_ms = 250
/** An input that is watched is read again after this time: see `Input`. */
const stale_ms = 2000

/** A process that holds a line has a file of this name open, by the old and the new interface of the kernel. */
const lineFile = /gpio-(line|linehandle|event)$/

/** Whether a process of this user holds a line, may yet, or has ended. */
function stateOf(pid: number | undefined): 'holds' | 'starts' | 'ended' {
  if (pid === undefined) return 'starts'
  const folder = `/proc/${pid}/fd`
  try {
    const open = readdirSync(folder)
    if (open.some((fd) => lineFile.test(linkOf(`${folder}/${fd}`)))) return 'holds'
    return open.length ? 'starts' : 'ended'
  } catch {
    return 'ended'
  }
}

/** Empty when it has just been closed. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}

/** Reads the level and starts gpiomon in one go, so that hardly anything can happen between the level and the first edge. */
const watcher = (get: string[], monitor: string[]) => `
${quoted(get)} || exit
${quoted(monitor)} & p=$!
echo "pid $p"
exec >&- 2>&-
read -r end
kill -9 "$p"; wait "$p"
`

type Shell = ChildProcessByStdio<Writable, Readable, Readable>
type Watch = { shell: Shell; closed: Promise<void>; said: string; pid?: number; read_at?: number; edges: number; ended: boolean }

/**
 * An input that is listened to is held by gpiomon, which does not say where the level began, and nobody else can read it then. The kernel
 * queues the edges, so the last one is the level, with two exceptions: an edge between the first level and gpiomon, a few milliseconds, is
 * lost; and in a burst the queue can overflow. So `read` begins anew every two seconds, and after a burst.
 */
export class Input extends WithMount<Place> implements Pin {
  readonly #queue = new SerialQueue(64)
  readonly #listeners = new Set<(active: boolean) => void>()
  #watch: Watch | undefined
  #last: boolean | undefined

  static async open(place: Place): Promise<Input> {
    const input = new Input(place)
    await input.read()
    return input
  }

  read(): Promise<boolean> {
    return this.#queue.run(async () => {
      if (this.#watch && !this.#isStale(this.#watch)) return this.#last!
      await this.#endWatch()
      if (this.#listeners.size) await this.#beginWatch()
      else await this.#readOnce()
      return this.#last!
    })
  }

  async write(): Promise<void> {
    throw new LabError('internal', `line ${this.at.line} of ${this.at.chip} is an input`)
  }

  writeNow(): Promise<void> {
    return this.write()
  }

  onEdge(listen: (active: boolean) => void): () => void {
    this.#listeners.add(listen)
    void this.read().catch((error) => this.at.lost(messageOf(error)))
    return () => {
      this.#listeners.delete(listen)
      if (this.#listeners.size === 0) void this.#queue.run(async () => this.#listeners.size || this.#endWatch())
    }
  }

  async close(): Promise<void> {
    this.#listeners.clear()
    await this.#queue.run(() => this.#endWatch())
  }

  #isStale({ read_at, edges }: Watch): boolean {
    if (read_at === undefined || systemClock.now() - read_at >= stale_ms) return true
    return edges > (this.at.tools.words.trusted_edges ?? Number.POSITIVE_INFINITY)
  }

  #note(level: boolean): void {
    const active = level !== this.at.use.active_low
    const changed = this.#last !== undefined && active !== this.#last
    this.#last = active
    if (changed) for (const listen of this.#listeners) listen(active)
  }

  async #readOnce(): Promise<void> {
    const { words, tool } = this.at.tools
    const { stdout } = await run(...tool(words.get(this.at.chip, this.at.line, this.at.use.pull)))
    this.#note(stdout.trim() === '1')
  }

  /** Resolves once gpiomon has the line. */
  async #beginWatch(): Promise<void> {
    const watch = this.#watching()
    const end = systemClock.now() + patience_ms
    while (stateOf(watch.pid) !== 'holds') {
      if (watch.ended || systemClock.now() > end) {
        await this.#endWatch()
        throw new Error(watch.said || `gpiomon did not take line ${this.at.line} of ${this.at.chip}`)
      }
      await sleep(systemClock, look_ms)
    }
    watch.read_at = systemClock.now()
  }

  #watching(): Watch {
    const { words, tool } = this.at.tools
    const at = [this.at.chip, this.at.line, this.at.use.pull] as const
    const script = watcher(tool(words.get(...at)).flat(), tool(words.monitor(...at)).flat())
    const shell = begun(script)
    const closed = new Promise<void>((resolve) => shell.on('close', resolve).on('error', () => resolve()))
    const watch: Watch = { shell, closed, said: '', edges: -1, ended: false }
    this.#watch = watch
    createInterface({ input: shell.stdout }).on('line', (text) => {
      const [, pid] = /^pid (\d+)$/.exec(text) ?? []
      if (pid) watch.pid = Number(pid)
      else if (this.#watch === watch) {
        // The first line is the level, each later one an edge.
        this.#note(text.trim() === (++watch.edges === 0 ? '1' : words.rising))
        if (watch.edges - 1 === words.trusted_edges) void this.read().catch((error) => this.at.lost(messageOf(error)))
      }
    })
    shell.stderr.on('data', (text) => {
      watch.said = String(text).trim()
    })
    shell.stdin.on('error', () => undefined)
    shell.stdout.on('close', () => {
      watch.ended = true
      if (this.#watch === watch && watch.read_at !== undefined) this.at.lost(`gpiomon ended for line ${this.at.line} of ${this.at.chip}`)
    })
    return watch
  }

  async #endWatch(): Promise<void> {
    const watch = this.#watch
    this.#watch = undefined
    watch?.shell.stdin.end()
    await watch?.closed
  }
}

/**
 * Reads levels and keeps a gpioset running for the last one: where it takes no words, the one before is ended first. A process of its
 * own group, so that Ctrl-C at a terminal does not take the pin away before the service has halted; and when the service has gone, in
 * whatever way, it sets the safe level for a second before it lets go. Killed, a gpioset lets go soonest.
 */
const beginsAnew = (set: string[], line: number, safe: string) => `
end() { [ -n "$p" ] && kill -9 "$p" && wait "$p"; p=; } 2>/dev/null
while read -r level; do
  end
  [ "$level" = end ] && exit
  ${quoted(set)} "${line}=$level" & p=$!
  echo "pid $p"
done
end
${quoted(set)} ${line}=${safe} & p=$!
sleep 1
end
`

/** Sets the line with one gpioset that takes commands. At the end of its input gpioset would ask again for ever, so it is sent an exit. */
const tells = (obey: string[], line: number, safe: string) => `
read -r level || exit
[ "$level" = end ] && exit
{
  echo "get ${line}"
  while read -r level; do
    [ "$level" = end ] && break
    echo "set ${line}=$level"
    echo "get ${line}"
  done
  [ "$level" = end ] || { echo "set ${line}=${safe}"; sleep 1; }
  echo exit
} | { ${quoted(obey)} "${line}=$level"; printf '\\nended\\n'; }
`

export class Output extends WithMount<Place> implements Pin {
  readonly #keeper: Shell
  readonly #obeys = this.at.tools.words.obey !== undefined
  #pid: number | undefined
  #said = ''
  #active = this.at.use.initial ?? false
  #sent = 0
  #taken = 0
  #opened = false
  #ended = false
  #closing = false

  /** Resolves once the line is driven. That of a service which was killed is let go of after a second. */
  static async open(place: Place): Promise<Output> {
    const end = systemClock.now() + patience_ms
    for (;;) {
      const output = new Output(place)
      try {
        await output.write(place.use.initial ?? false)
        output.#opened = true
        return output
      } catch (error) {
        await output.close()
        if (systemClock.now() > end) throw error
        await sleep(systemClock, again_ms)
      }
    }
  }

  private constructor(place: Place) {
    super(place)
    const { tools, chip, line, use } = place
    const { words, tool } = tools
    const safe = use.active_low ? '1' : '0'
    const script = words.obey ? tells(tool(words.obey(chip)).flat(), line, safe) : beginsAnew(tool(words.set(chip)).flat(), line, safe)
    this.#keeper = begun(script, { detached: true })
    this.#keeper.stdin.on('error', () => undefined)
    createInterface({ input: this.#keeper.stdout }).on('line', (text) => this.#hear(text))
    this.#keeper.stderr.on('data', (text) => {
      this.#said = String(text).trim()
    })
    this.#keeper.on('error', (error) => this.#onEnd(error.message)).on('exit', () => this.#onEnd(this.#said))
  }

  /** The value that was set, if the line is still held. */
  async read(): Promise<boolean> {
    if (this.#held()) return this.#active
    throw new LabError(
      'device_failed',
      `line ${this.at.line} of ${this.at.chip} is not driven any more: ${this.#said || 'gpioset has ended'}`,
    )
  }

  async write(active: boolean): Promise<void> {
    await this.writeNow(active)
  }

  /** The word is in the pipe when this returns, and the pin follows some milliseconds later. */
  writeNow(active: boolean): Promise<void> {
    const sentence = `line ${this.at.line} of ${this.at.chip} takes no more words`
    if (this.#ended) throw new LabError('stop_not_sent', `${sentence}: ${this.#said}`)
    this.#active = active
    this.#send()
    return this.#followed()
  }

  #send(): void {
    this.#sent++
    this.#keeper.stdin.write(`${this.#active !== this.at.use.active_low ? 1 : 0}\n`)
  }

  onEdge(): () => void {
    throw new LabError('internal', `line ${this.at.line} of ${this.at.chip} is an output`)
  }

  async close(): Promise<void> {
    this.#closing = true
    if (this.#active && this.#opened && !this.#ended) await this.write(false).catch(() => undefined)
    if (this.#keeper.pid === undefined || this.#keeper.exitCode !== null || this.#keeper.signalCode !== null) return
    const gone = once(this.#keeper, 'exit')
    this.#keeper.stdin.end('end\n')
    await gone
  }

  #hear(text: string): void {
    const [, pid] = /^pid (\d+)$/.exec(text) ?? []
    if (pid) this.#pid = Number(pid)
    if (pid || this.#answer.test(text)) this.#taken++
    if (text !== 'ended') return
    this.#onEnd(this.#said)
    this.#keeper.stdin.end()
  }

  /** To the question after each word; before it there may be prompts. */
  get #answer(): RegExp {
    return new RegExp(`\\b${this.at.line}"?=(active|inactive)\\s*$`)
  }

  #onEnd(said: string): void {
    if (this.#ended) return
    this.#ended = true
    this.#said = said
    if (!this.#closing && this.#opened) this.at.lost(`line ${this.at.line} of ${this.at.chip}: ${said || 'its gpioset has ended'}`)
  }

  /** Checks whether another program took the line in between, where gpioset begins anew for each level. */
  async #followed(): Promise<void> {
    const end = systemClock.now() + patience_ms
    let again = systemClock.now() + again_ms
    for (let now = systemClock.now(); !this.#ended && now < end; now = systemClock.now()) {
      if (this.#taken >= this.#sent && this.#held()) return
      // A word that the shell has not taken yet would be said twice, and the pin float once more.
      if (now > again && !this.#obeys && this.#taken >= this.#sent && stateOf(this.#pid) === 'ended') {
        again = now + again_ms
        this.#send()
      }
      await sleep(systemClock, look_ms)
    }
    throw new LabError('device_failed', this.#said || `gpioset did not take line ${this.at.line} of ${this.at.chip}`)
  }

  #held(): boolean {
    return this.#obeys ? !this.#ended : stateOf(this.#pid) === 'holds'
  }
}

/**
 * Begins a shell. Neither the shell nor its tools end when they write to a service that was killed (SIGPIPE): an output must be set to its safe level,
 * and the tool of an input must be ended.
 */
function begun(script: string, { detached = false } = {}): Shell {
  return spawn('/bin/sh', ['-c', `trap '' PIPE\n${script}`], { stdio: ['pipe', 'pipe', 'pipe'], detached })
}

/** For a shell. */
function quoted(words: readonly string[]): string {
  return words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ')
}
