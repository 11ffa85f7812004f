// A line to a program that is started here: its standard input and output. It has a process group of its own, and ends with its line.

import type { ChildProcessByStdio } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import type { Readable, Writable } from 'node:stream'
import { LabError } from '../../src/errors.ts'
import { type Clock, sleep, systemClock } from '../../src/kit/clock.ts'
import type { BridgeLine } from './line.ts'
import { RealLine } from './real_line.ts'

type Parts = { clock?: Clock; words?: NodeJS.WritableStream }

/** `command` is the program and its arguments. Its standard error is also written to `words`. */
export function programLine(command: readonly string[], { clock = systemClock, words }: Parts = {}): BridgeLine {
  return new ProgramLine(command, clock, words)
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>
/** `mark` is in the environment of the program and of its child processes. */
type Program = { child: Child; mark: string; began: number; lastWords: string; exited: Promise<void> }

/** A program that ends sooner is restarted with growing pauses. */
const young_ms = 10_000
const pause_ms = { least: 2000, most: 60_000 }
/** The time for a program to end after its input has ended. */
const ending_ms = 1000
const mostWords = 400
const mostShown = 300
/** The wait for the last output of a program after its end. */
const last_words_ms = 200
const markName = 'BENCHD_BRIDGE_MARK'

class ProgramLine extends RealLine<Program> implements BridgeLine {
  readonly advice = 'see what it wrote to standard error, and its command in the configuration'
  readonly #command: readonly string[]
  readonly #words: NodeJS.WritableStream | undefined
  /** The time of the next start, and the last pause. */
  #next = { at: Number.NEGATIVE_INFINITY, pause_ms: pause_ms.least }

  constructor(command: readonly string[], clock: Clock, words: NodeJS.WritableStream | undefined) {
    // Without the arguments: every key may see this name, and an argument can be a secret.
    super(command[0] ?? '', clock)
    this.#command = command
    this.#words = words
  }

  write(bytes: Uint8Array): void {
    this.pour(this.connection.child.stdin, bytes, { reason: 'the program reads nothing any more', advice: this.advice })
  }

  override giveUp(reason: string, atOnce?: 'atOnce'): Promise<void> {
    const gone = super.giveUp(reason)
    if (atOnce) this.#next = { at: Number.NEGATIVE_INFINITY, pause_ms: pause_ms.least }
    return gone
  }

  protected async connect(): Promise<Program> {
    const wait_s = Math.ceil((this.#next.at - this.clock.now()) / 1000)
    if (wait_s > 0) throw new LabError('disconnected', `the program ended soon after its start; it is started again in ${wait_s} s`)
    const [file = '', ...args] = this.#command
    const mark = randomUUID()
    // Loaded only if a program is configured, which most benches do not have.
    const { spawn } = process.getBuiltinModule('node:child_process')
    const child = spawn(file, args, { stdio: 'pipe', detached: true, cwd: '/', env: { ...withoutOurs(process.env), [markName]: mark } })
    child.stdin.on('error', () => undefined)
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve)
      child.once('error', ({ message }) => {
        reject(new LabError('disconnected', `the program cannot be started: ${message}; see its command in the configuration`))
      })
    })
    const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
    return { child, mark, began: this.clock.now(), lastWords: '', exited }
  }

  protected begin(program: Program): void {
    const { child } = program
    child.stdout.on('data', (bytes: Buffer) => this.came(program, bytes))
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      program.lastWords = (program.lastWords + text).slice(-mostWords)
      this.#words?.write(text)
    })
    child.on('error', (error) => this.#ended(program, error.message))
    child.once('exit', (code, signal) => {
      const how = signal ? `it was ended by ${signal}` : `it ended with exit status ${code}`
      // A child process of the program may keep its outputs open.
      const cancel = this.clock.after(last_words_ms, () => this.#ended(program, how))
      child.once('close', () => {
        cancel()
        this.#ended(program, how)
      })
    })
  }

  /** Kills the program with its child processes; after an orderly close it first has a moment to end by itself. */
  protected async end(program: Program, isLost: boolean): Promise<void> {
    const { child, mark, exited } = program
    this.#pause(program)
    child.stdout.removeAllListeners('data').resume()
    child.stdin.end()
    if (!isLost) await Promise.race([exited, sleep(this.clock, ending_ms)])
    killGroup(child)
    await Promise.race([exited, sleep(this.clock, ending_ms)])
    await killMarked(mark)
    child.stdout.destroy()
    child.stderr.destroy()
  }

  #pause({ began }: Program): void {
    const now = this.clock.now()
    const isYoung = now - began < young_ms
    this.#next = {
      at: isYoung ? now + this.#next.pause_ms : now,
      pause_ms: isYoung ? Math.min(this.#next.pause_ms * 2, pause_ms.most) : pause_ms.least,
    }
  }

  #ended(program: Program, how: string): void {
    if (!this.isUsed(program)) return
    const words = program.lastWords.trim().split('\n').at(-1)?.trim()
    const shown = words && words.length > mostShown ? `…${words.slice(1 - mostShown)}` : words
    this.lose(shown ? `${how}; its last words: ${shown}` : how)
  }
}

/** Variables of the service. With those of systemd a program could feed the watchdog in its place, or find its secrets. */
const ours = /^(BENCHD_|NODE_|NOTIFY_SOCKET$|WATCHDOG_|LISTEN_|CREDENTIALS_DIRECTORY$)/

/** Returns the environment without the service's own variables. */
function withoutOurs(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !ours.test(name)))
}

function killGroup({ pid }: Child): void {
  kill(pid === undefined ? undefined : -pid)
}

function kill(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(pid, 'SIGKILL')
  } catch {
    // The program has ended already.
  }
}

/** Kills child processes that have left the process group, found by the mark in their environment. */
async function killMarked(mark: string): Promise<void> {
  const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name))
  await Promise.all(
    pids.map(async (pid) => {
      const environment = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '')
      if (environment.includes(`${markName}=${mark}`)) kill(Number(pid))
    }),
  )
}
