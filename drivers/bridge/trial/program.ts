// The program of a bridge under trial, started, asked, halted and killed by the code that does so on a bench.

import { Writable } from 'node:stream'
import { type Description, readDescription } from '../../../src/devices/description.ts'
import { inMemory, type KeptDescription } from '../../../src/devices/descriptions.ts'
import type { DeviceFile } from '../../../src/devices/device.ts'
import { LabError, messageOf } from '../../../src/errors.ts'
import { sleep, systemClock } from '../../../src/kit/clock.ts'
import type { BridgeLine } from '../../transports/line.ts'
import { programLine } from '../../transports/program_line.ts'
import { Bridge, type Settings } from '../bridge.ts'
import { JsonRpc } from '../json_rpc.ts'
import { refused } from '../shared_words.ts'
import { Wire } from './wire.ts'

type Parts = {
  command: readonly string[]
  settings: Settings
  /** Aborted when a person interrupts the trial. */
  signal: AbortSignal
}

/** The characters that are kept of standard error, from its end. */
const mostWords = 2000
/** The time in which a bench gives up a program that does not describe itself, and one that does not come to the end of `initialize`. */
const describe_s = 30
export const initialize_s = 150
/** The limit for answers that move nothing. A bench waits 5 s; the rest is for the turn of the event loop. */
export const answer_s = 6
const never = new AbortController().signal

export class TriedProgram {
  /** The text on standard error since this was last emptied. */
  words = ''
  /** The longest line that it wrote, bytes. */
  longest = 0
  /** Whether it is initialized, and was not halted since. */
  isReady = false
  /** Whether it was ever initialized: its instrument may be on. */
  isTouched = false
  /** A sentence that says why it cannot be initialized any more. */
  lastStart: string | undefined
  /** Whether it answered a check so wrongly that it is started anew before the next. */
  isSuspect = false
  /** Whether the trial is over, so that an interruption of it no longer counts. */
  isLeaving = false
  readonly settings: Settings
  readonly #command: readonly string[]
  readonly #signal: AbortSignal
  readonly #stderr: Writable
  #kept: KeptDescription = inMemory(undefined)
  #running: { line: BridgeLine; device: Bridge; wire: Wire } | undefined
  #lost: string | undefined
  #operations = 0
  #fileError: LabError | undefined

  constructor({ command, settings, signal }: Parts) {
    this.#command = command
    this.settings = settings
    this.#signal = signal
    this.#stderr = new Writable({
      decodeStrings: false,
      write: (text, _encoding, done) => {
        this.words = (this.words + text).slice(-mostWords)
        done()
      },
    })
  }

  get device(): Bridge {
    return this.#now.device
  }

  get wire(): Wire {
    return this.#now.wire
  }

  get isOpen(): boolean {
    return this.#running?.line.state === 'open'
  }

  get canHalt(): boolean {
    return this.settings.halt !== 'none' && (this.settings.halt === 'kill' || this.description.halt !== 'none')
  }

  get description(): Description {
    const { description } = this.#kept
    if (!description) throw new Error('the program has not described itself')
    return description
  }

  get #now() {
    if (!this.#running) throw new LabError('disconnected', 'the program is not running')
    return this.#running
  }

  /** Starts it, asks for its description twice, and ends it. Returns the seconds of the first answer. Rejects if it is invalid, or not the same again. */
  async describe(): Promise<number> {
    const line = this.#line()
    try {
      const began = line.clock.now()
      await line.open()
      const lost = (reason: string) => new LabError('disconnected', reason)
      const rpc = new JsonRpc({ line, notified: () => undefined, lost, refused })
      const ask = () => this.within(rpc.request('describe', undefined, describe_s), describe_s + 1, 'it has not answered describe')
      this.#kept.keep(readDescription(await ask()))
      const took_s = (line.clock.now() - began) / 1000
      // A description is compared by its value, with its defaults.
      if (JSON.stringify(readDescription(await ask())) !== JSON.stringify(this.description))
        throw new LabError('device_failed', 'it describes itself otherwise when it is asked again')
      return took_s
    } finally {
      await line.close()
    }
  }

  /** Starts it anew. An earlier one is ended first, since two of them would share the port. */
  async start(): Promise<void> {
    await this.end()
    const line = this.#line()
    const wire = new Wire(line)
    const { type } = this.description
    const device = new Bridge({ device_id: 'bridge', type, line, settings: this.settings, kept: this.#kept })
    this.#running = { line, device, wire }
    this.isSuspect = false
    await line.open()
  }

  /** Kills it with all its processes. */
  async kill(): Promise<void> {
    this.isReady = false
    await this.#now.line.giveUp('it was killed by the checklist', 'atOnce')
  }

  /** Closes its standard input, and kills it unless it ends by itself. */
  async end(): Promise<void> {
    this.isReady = false
    this.longest = Math.max(this.longest, this.#running?.wire.longest ?? 0)
    await this.#running?.line.close()
    this.#running = undefined
  }

  /** Asks for the description. Rejects if it is not the one of before. */
  async identify(): Promise<void> {
    await this.within(this.device.identify(), describe_s + 1, 'it has not answered describe')
  }

  /** Initializes it. Returns the seconds. */
  initialize(): Promise<number> {
    return this.timed(async () => {
      this.isTouched = true
      await this.within(this.device.initialize({}, never), initialize_s, `initialize did not end within ${initialize_s} s`)
      this.isReady = true
    })
  }

  /** Halts it, where something ends what it does. Returns the seconds. */
  halt(): Promise<number> {
    this.isReady = false
    const limit_s = Math.max(describe_s, this.settings.halt_s) * 2
    return this.timed(() => this.within(this.device.halt(), limit_s, 'it has not answered halt'))
  }

  async check(): Promise<void> {
    await this.within(this.device.check(), 2 * answer_s, 'it has not answered check')
  }

  read(name: string): Promise<{ value: number; target: number | null }> {
    return this.within(this.device.described.read(name), answer_s, `it has not answered the reading ${name}`)
  }

  async perform(operation: string, params: Record<string, unknown>, deadline_s: number): Promise<unknown> {
    await this.device.described.fetching()
    const operation_id = `trial-${++this.#operations}`
    this.#fileError = undefined
    const attach = async ({ name, pieces }: DeviceFile) => {
      try {
        for await (const _piece of pieces);
      } catch (error) {
        this.#fileError ??= new LabError('device_failed', `its file ${name} cannot be fetched: ${messageOf(error)}`)
      }
    }
    return this.device.described.perform({ operation, params, operation_id, deadline_s, progressed: () => undefined, attach }, never)
  }

  /** Resolves when the files of the last operation are fetched. Rejects if one of them cannot be. */
  async files(): Promise<void> {
    await this.device.described.fetching()
    if (this.#fileError) throw this.#fileError
  }

  /** Makes it ready for operations: it is started, halted and initialized, where that is needed. */
  async ready(): Promise<void> {
    if (this.isReady && this.isOpen && !this.isSuspect) return
    if (this.isSuspect || !this.isOpen) await this.startHalted()
    await this.startIfKilled()
    await this.initialize()
  }

  /** Starts it anew, and halts what an earlier one may have left on. */
  async startHalted(): Promise<void> {
    await this.start()
    // A bench sends the halt first, and then waits 30 s for its answer, because the program may still be loading; a check of its own does so.
    await this.identify()
    if (this.canHalt && this.isTouched) await this.halt()
  }

  /** Starts it where a halt has ended it, as `"halt": "kill"` does. */
  async startIfKilled(): Promise<void> {
    if (!this.isOpen && this.settings.halt === 'kill') await this.start()
  }

  /** Waits for the work. Rejects with `late` after that time, or at once when the trial is interrupted. */
  async within<T>(work: Promise<T>, seconds: number, late: string): Promise<T> {
    const over = new AbortController()
    const interrupt = () => over.abort(this.#signal.reason)
    this.#signal.addEventListener('abort', interrupt)
    work.catch(() => undefined)
    try {
      if (!this.isLeaving) this.#signal.throwIfAborted()
      const limit = sleep(systemClock, seconds * 1000, over.signal).then(() => {
        throw new LabError('no_reply', late)
      })
      return await Promise.race([work, limit])
    } finally {
      this.#signal.removeEventListener('abort', interrupt)
      over.abort()
    }
  }

  /** Runs the work. Returns its seconds. */
  async timed(work: () => Promise<unknown>): Promise<number> {
    const began = systemClock.now()
    await work()
    return (systemClock.now() - began) / 1000
  }

  /** Words an error for the writer of the program, without the advice for somebody at a bench. */
  sentenceOf(error: unknown): string {
    if (error instanceof LabError && error.code === 'disconnected' && this.#lost) return `the program was lost: ${this.#lost}`
    return messageOf(error).replace(/(; see to it)?, then initialize$|; see (that|what|its command) .*$/, '')
  }

  #line(): BridgeLine {
    this.#lost = undefined
    const line = programLine(this.#command, { words: this.#stderr })
    line.onLost((reason) => {
      this.#lost = reason
      this.isReady = false
    })
    return line
  }
}
