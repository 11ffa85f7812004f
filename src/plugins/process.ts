// The process of a plug-in: its start with bounds of the kernel, its messages, its output, and its end.

import type { ChildProcess } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { HostFiles } from '../kit/host_files.ts'
import { TokenBuckets } from '../kit/token_buckets.ts'
import { type FromPlugin, LineReader, type ToPlugin } from './messages.ts'

/** The messages of a plug-in, once its process is ready. */
export type PluginMessage = Exclude<FromPlugin, { type: 'ready' }>

type ProcessOptions = {
  memory_mib: number
  /** Milliseconds, by any clock that runs. */
  now(): number
  onMessage(message: PluginMessage): void
  /** A line that it wrote to its output. */
  onOutput(line: string): void
  /** Called once, with a clause that says how it ended. */
  onEnd(how: string): void
}

/**
 * Bounds by the kernel: no core file, the first to be killed when memory is short, the end of the service as its own end, and a low
 * priority. `setpriv` is not everywhere; without it the process ends when its input is closed.
 */
const bounded = `
echo 900 2>/dev/null >/proc/self/oom_score_adj
ulimit -c 0
nice="nice -n 10"; [ -z "$($nice true 2>&1)" ] || nice=
setpriv --pdeathsig KILL true 2>/dev/null && exec setpriv --pdeathsig KILL $nice "$@"
exec $nice "$@"`

/** Room for Node itself beside what it has at its start, in MiB. With less, V8 crashes before it says that the heap is full. */
const ofNode_mib = 48
/** The part of the memory for its objects; the rest is for buffers. */
const heapPart = 0.4
/** The variables of the environment that a plug-in sees; the others can hold secrets of the service. */
const seen =
  /^(PATH|HOME|LANG|LC_.*|TZ|TMPDIR|NODE_ENV|NODE_EXTRA_CA_CERTS|CREDENTIALS_DIRECTORY|https?_proxy|no_proxy|HTTPS?_PROXY|NO_PROXY)$/

const isOfMemory = /allocation failed|out of memory|ERR_MEMORY_ALLOCATION_FAILED/i

/** The longest message, in characters. */
const longestMessage = 4 * 1024 * 1024
const longestOutput = 8 * 1024
/** The pieces of messages that are read at once, and each second; further ones wait. */
const messages = { burst: 400, perSecond: 200 }
/** Pieces of its output, of 64 KiB at most, that are read each second. */
const pieces = { burst: 8, perSecond: 4 }
const pause_ms = 100

export class PluginProcess {
  readonly #options: ProcessOptions
  readonly #child: ChildProcess
  readonly #buckets = new Map<Readable, TokenBuckets>()
  readonly #pauses = new Set<NodeJS.Timeout>()
  #lastError = ''
  #why: string | undefined
  #isOver = false
  /** The messages that wait until its memory is bounded. */
  #held: ToPlugin[] | undefined = []

  /** Starts the process, which waits for the message `start`. */
  constructor(options: ProcessOptions) {
    this.#options = options
    const { memory_mib } = options
    // Loaded only if a plug-in is configured, which most benches do not have.
    const { spawn } = process.getBuiltinModule('node:child_process')
    const heap = Math.floor(memory_mib * heapPart)
    const host = fileURLToPath(new URL('./host.js', import.meta.url))
    const program = [process.execPath, `--max-old-space-size=${heap}`, '--max-semi-space-size=2', host]
    this.#child = spawn('/bin/sh', ['-c', bounded, 'benchd-plugin', ...program], {
      stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe'],
      cwd: '/',
      detached: true,
      env: Object.fromEntries(Object.entries(process.env).filter(([name]) => seen.test(name))),
    })
    this.#listen()
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  send(message: ToPlugin): void {
    if (this.#held) this.#held.push(message)
    else if (!this.#isOver) this.#input.write(`${JSON.stringify(message)}\n`)
  }

  /** Ends the process at once. `why` is a clause about the reason. */
  kill(why: string): void {
    this.#why ??= why
    try {
      // The negative id ends the programs that the process has started too.
      if (this.pid !== undefined) process.kill(-this.pid, 'SIGKILL')
    } catch {
      // The process has ended already.
    }
  }

  /** Returns the memory that the process takes, in MiB; null if nobody knows. */
  async memory_mib(): Promise<number | null> {
    const status = this.pid === undefined ? undefined : await new HostFiles().text(`/proc/${this.pid}/status`)
    const kib = /^VmRSS:\s+(\d+)/m.exec(status ?? '')?.[1]
    return kib === undefined ? null : Math.round(Number(kib) / 1024)
  }

  get #input(): Writable {
    return this.#child.stdio[3] as Writable
  }

  #listen(): void {
    const child = this.#child
    const output = child.stdio[4] as Readable
    const reader = new LineReader((line) => this.#take(line), longestMessage)
    this.#input.on('error', () => undefined)
    this.#read(output, messages, (text) => reader.add(text))
    for (const stream of [child.stdout!, child.stderr!]) {
      const words = new LineReader((line) => this.#words(line, stream === child.stderr), longestOutput)
      this.#read(stream, pieces, (text) => words.add(text))
    }
    child.on('error', ({ message }) => this.#end(`it cannot be started: ${message}`))
    // After `exit` the last messages may still be read.
    child.on('close', (code, signal) => this.#end(this.#why ?? this.#how(code, signal)))
    child.on('exit', () => setTimeout(() => this.#end(this.#why ?? this.#how(child.exitCode, child.signalCode)), pause_ms).unref())
  }

  /** Reads a stream piece by piece, and pauses when too much comes: the plug-in waits then, and not the service. */
  #read(stream: Readable, rate: { burst: number; perSecond: number }, take: (text: string) => void): void {
    const bucket = new TokenBuckets({ ...rate, now: () => this.#options.now() })
    this.#buckets.set(stream, bucket)
    stream.setEncoding('utf8').on('error', () => undefined)
    stream.on('data', (text: string) => {
      try {
        take(text)
      } catch (error) {
        this.kill(error instanceof Error ? error.message : String(error))
      }
      if (!bucket.take('')) this.#pause(stream)
    })
  }

  #pause(stream: Readable): void {
    stream.pause()
    const timer = setTimeout(() => {
      this.#pauses.delete(timer)
      stream.resume()
    }, pause_ms)
    this.#pauses.add(timer)
  }

  #take(line: string): void {
    const bucket = this.#buckets.get(this.#child.stdio[4] as Readable)
    bucket?.take('')
    if (this.#isOver) return
    const message = JSON.parse(line) as FromPlugin
    if (message.type === 'ready') void this.#bound()
    else this.#options.onMessage(message)
  }

  /** Bounds the memory that it may write to, then sends what waits. New versions of Node reserve more at their start than others, and the kernel counts that. */
  async #bound(): Promise<void> {
    if (!this.#held) return
    const { memory_mib } = this.#options
    const kib = Number(/^VmData:\s+(\d+)/m.exec((await new HostFiles().text(`/proc/${this.pid}/status`)) ?? '')?.[1])
    const bytes = kib * 1024 + (memory_mib + ofNode_mib) * 1024 * 1024
    const failed = kib > 0 ? await tried('prlimit', [`--pid=${this.pid}`, `--data=${bytes}`]) : 'there is no /proc'
    if (failed) this.#options.onOutput(`its memory is not bounded: ${failed}`)
    const held = this.#held ?? []
    this.#held = undefined
    for (const message of held) this.send(message)
  }

  #words(line: string, isError: boolean): void {
    // The first line of a stack says what happened, and the heading of Node's report of its heap.
    const found = isError ? /^(?:\w*Error\b.*|FATAL ERROR: .*|RangeError: .*)/.exec(line)?.[0] : undefined
    if (found) this.#lastError = found
    if (line.trim() !== '') this.#options.onOutput(line)
  }

  #how(code: number | null, signal: NodeJS.Signals | null): string {
    const how = signal ? `its process was ended by ${signal}` : `its process ended with exit status ${code}`
    const bound = `${this.#options.memory_mib} MiB (memory_mib)`
    if (this.#lastError)
      return isOfMemory.test(this.#lastError) ? `${how}: ${this.#lastError}; it may take ${bound}` : `${how}: ${this.#lastError}`
    return signal === 'SIGSEGV' ? `${how}, as Node does that needs more than its ${bound}` : how
  }

  #end(how: string): void {
    if (this.#isOver) return
    this.#isOver = true
    // Programs that it has started would go on without it.
    this.kill(how)
    for (const timer of this.#pauses) clearTimeout(timer)
    for (const stream of this.#child.stdio) stream?.destroy()
    this.#options.onEnd(how)
  }
}

/** Runs a program. Resolves with the reason if it fails. */
function tried(program: string, args: readonly string[]): Promise<string | undefined> {
  const { execFile } = process.getBuiltinModule('node:child_process')
  return new Promise((resolve) => execFile(program, args, { timeout: 5000 }, (error) => resolve(error?.message)))
}
