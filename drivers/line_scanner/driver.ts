// A barcode scanner that sends a line for each code. It cannot be asked anything; a command may begin and end a scan.

import type { Device, Learned, Profile } from '../../src/devices/device.ts'
import { connectionLost, notOpen } from '../../src/devices/failure.ts'
import { LabError } from '../../src/errors.ts'
import { sleep } from '../../src/kit/clock.ts'
import type { Driver, SerialMount } from '../driver.ts'
import { OperationRunner, unlessAborted } from '../operation_runner.ts'
import { chosenPort } from '../port_choice.ts'
import { WithMount } from '../with_mount.ts'
import { bytesOf, LineCutter, longest, readLine } from './protocol.ts'
import { type Settings, settings } from './settings.ts'
import { simulate } from './simulator.ts'

export const driver: Driver<Settings> = {
  type: 'scanner',
  about: { instrument: 'any barcode scanner that sends lines' },
  typical: { initialize_s: 0 },
  trial: { variants: [{ trigger: String.raw`\x16T\r`, release: String.raw`\x16U\r`, suffix: String.raw`\r` }] },
  settings,
  serial: { baud: 9600 },
  serialOf: chosenPort,
  profile,
  open: (at) => new LineScanner(at),
  simulate,
}

/** A code comes in one piece: what was begun and not ended for so long is the rest of another. */
const stale_ms = 1000
/** The time for a scanner to say that it read nothing, after its scan was ended. */
const lastWords_ms = 300

function profile(): Profile {
  return { model: 'barcode scanner', limits: {}, features: { motionless: true } }
}

/** A scan that waits for its code. */
type Waiting = { read(code: string): void; fail(error: LabError): void }

class LineScanner extends WithMount<SerialMount<Settings>> implements Device {
  readonly #runner = new OperationRunner(this.at.line)
  readonly #cutter = new LineCutter(bytesOf(this.at.settings.suffix))
  readonly #pacing = this.at.line.pacing ?? this.at.line.clock
  #lastByte = Number.NEGATIVE_INFINITY
  #last: string | null = null
  #waiting: Waiting | undefined

  constructor(at: SerialMount<Settings>) {
    super(at)
    at.line.onBytes((bytes) => this.#receive(bytes))
    at.line.onLost((reason) => {
      this.#cutter.forget()
      this.#waiting?.fail(connectionLost(reason, at.line.advice))
    })
  }

  readonly isNeverAsked = true

  /** The scanner cannot be asked. */
  async identify(): Promise<null> {
    return null
  }

  readonly initialize = this.#runner.operation(async (): Promise<Learned> => {
    this.#mustBeOpen()
    this.#write(this.at.settings.release)
    return { identity: null }
  })

  /** Resolves with the first code that comes after its begin. */
  readonly scan = this.#runner.operation(async (_params: object, signal) => {
    this.#mustBeOpen()
    if (this.#pacing.now() - this.#lastByte >= stale_ms) this.#cutter.forget()
    this.#write(this.at.settings.trigger)
    try {
      return { barcode: await this.#next(signal) }
    } finally {
      // A halt has ended it already.
      if (!signal.aborted) this.#tryToRelease()
    }
  })

  async barcode(): Promise<{ barcode: string | null }> {
    return { barcode: this.#last }
  }

  /** Asks nothing: the transport notices a lost port, and nothing notices a scanner that is switched off. */
  async check(): Promise<void> {
    this.#mustBeOpen()
  }

  async halt(): Promise<void> {
    this.#tryToRelease()
    this.#runner.stop()
  }

  /** Rejects when no code has come in time, or the signal is aborted. */
  async #next(signal: AbortSignal): Promise<string> {
    const over = new AbortController()
    try {
      const code = new Promise<string>((read, fail) => {
        this.#waiting = { read, fail }
        this.#timeOut(over.signal).then(fail, () => undefined)
      })
      return await unlessAborted(code, signal)
    } finally {
      this.#waiting = undefined
      over.abort()
    }
  }

  /** Ends the scan when its time is over, and waits for what the scanner says to that, so that the next scan does not take it for its own. */
  async #timeOut(over: AbortSignal): Promise<LabError> {
    const { timeout_s } = this.at.settings
    await sleep(this.at.clock, timeout_s * 1000, over)
    this.#tryToRelease()
    await sleep(this.at.clock, lastWords_ms, over)
    return this.#nothing(`it read no code within ${timeout_s} s`)
  }

  #receive(bytes: Uint8Array): void {
    const now = this.#pacing.now()
    if (now - this.#lastByte >= stale_ms) this.#cutter.forget()
    this.#lastByte = now
    for (const line of this.#cutter.take(bytes)) this.#take(line)
    if (this.#cutter.unended <= longest) return
    this.#cutter.forget()
    this.#waiting?.fail(failed('it sent more than 4 KiB without a suffix; see that suffix, baud and framing are those of the scanner'))
  }

  #take(line: Buffer): void {
    const { no_read, prefix } = this.at.settings
    const before = bytesOf(prefix)
    const scanned = readLine(line.subarray(0, before.length).equals(before) ? line.subarray(before.length) : line)
    if (!scanned) return
    if ('isStrange' in scanned) {
      this.#waiting?.fail(failed('it sent bytes that are no text; see that baud and framing are those of the scanner'))
    } else if (no_read !== '' && scanned.code === no_read.trim()) {
      this.#waiting?.fail(
        new LabError('interlock', 'it read no code; see that the code faces the scanner, is clean and not covered, then scan again'),
      )
    } else {
      this.#last = scanned.code
      this.#waiting?.read(scanned.code)
    }
  }

  #nothing(what: string): LabError {
    const unended = this.#cutter.unended > 0 ? ', and sent something that the suffix of its settings does not end' : ''
    return failed(`${what}${unended}; see that the code faces the scanner, is clean and not covered, and that the scanner is on`)
  }

  #mustBeOpen(): void {
    if (this.at.line.state !== 'open') throw notOpen('its port')
  }

  /** Writes a command of the settings, if there is one. */
  #write(command: string): void {
    if (command !== '') this.at.line.write(bytesOf(command))
  }

  #tryToRelease(): void {
    try {
      this.#write(this.at.settings.release)
    } catch {
      // Nothing moves or heats, and the next scan says that the port is gone.
    }
  }
}

function failed(sentence: string): LabError {
  return new LabError('device_failed', `${sentence}; then initialize`)
}
