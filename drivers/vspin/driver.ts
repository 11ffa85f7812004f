// Agilent (Velocity11) VSpin: a centrifuge for two plates with a door. The Access2 loader is not supported.

import type { Device, Identity } from '../../src/devices/device.ts'
import { connectionLost, notOpen } from '../../src/devices/failure.ts'
import { LabError } from '../../src/errors.ts'
import type { Driver, SerialMount } from '../driver.ts'
import { OperationRunner } from '../operation_runner.ts'
import { Exchange } from '../transports/exchange.ts'
import { WithMount } from '../with_mount.ts'
import { coldStart } from './cold_start.ts'
import * as door from './door.ts'
import { framer, type Question, type Servo, servoOf, status } from './nmc.ts'
import * as rotor from './rotor.ts'
import { profile, Settings } from './settings.ts'
import { simulate } from './simulator.ts'
import { Talk } from './talk.ts'
import * as words from './words.ts'

export const driver: Driver<Settings> = {
  type: 'centrifuge',
  about: { instrument: 'Agilent (Velocity11) VSpin' },
  typical: { initialize_s: 15 },
  settings: Settings,
  // The baud rate after a cold start, so that a stop reaches a rotor that still spins from an earlier session.
  serial: { baud: words.runningBaud },
  // The driver looks at the rotor about every 110 ms of real time, however fast the instrument is.
  trial: { pace: 5 },
  changes_speed: true,
  profile,
  open: (at) => new VSpin(at),
  simulate,
}

const gap_ms = 50
/** The time limit of the first question, which detects a cold controller. */
const hello_ms = 150
const helloTries = 3
/** The time within which a rotor must be seen to slow down after a stop. */
const slowing_ms = 2000
const slowingLook_ms = 75
/** The deceleration of a stop: the motor's maximum. */
const fastest = 1

/** Turns the operations of a VSpin into the commands of its motor controller. */
class VSpin extends WithMount<SerialMount<Settings>> implements Device {
  #servoId: Buffer | undefined
  /** Whether the centrifuge was initialized and neither stopped nor lost since, so that its positions are valid. */
  #ready = false
  /** Ends questions outside of operations, and marks a stop. */
  #halting = new AbortController()
  readonly #runner = new OperationRunner(this.at.line)
  #confirming: Promise<void> = Promise.resolve()
  readonly #exchange = new Exchange<Buffer, Question>(this.at.line, {
    framer,
    encode: ({ bytes }) => bytes,
    gap_ms,
    // The servo's id, which is shorter than its other answers, and known after the first start.
    resync: {
      question: words.readServoId,
      recognises: (frame) => frame.length === 4 && (!this.#servoId || this.#servoId.subarray(1, 3).equals(frame.subarray(1, 3))),
    },
  })

  constructor(at: SerialMount<Settings>) {
    super(at)
    at.line.onLost((reason) => this.#end(connectionLost(reason)))
  }

  #end(reason: LabError): void {
    this.#ready = false
    this.#halting.abort(reason)
    this.#halting = new AbortController()
    this.#runner.end(reason)
  }

  #talkUntil(signal = this.#halting.signal): Talk {
    return new Talk({ exchange: this.#exchange, line: this.at.line, clock: this.at.clock, signal })
  }

  readonly initialize = this.#runner.operation(async (_params: object, signal) => {
    const talk = this.#talkUntil(signal)
    await this.#confirming.catch(() => undefined)
    await this.at.line.setBaud(words.runningBaud)
    await mustNotStillTurn(talk)
    this.#ready = false
    this.#servoId = undefined
    const identity = await coldStart(talk, (id) => {
      this.#servoId = id
    })
    await this.#slowedDownOtherwise(() => this.#homeAndPresent(talk))
    this.#ready = true
    return { identity }
  })

  async #homeAndPresent(talk: Talk): Promise<void> {
    const home = await rotor.home(talk)
    await rotor.goToBucket(talk, { home, remainder: this.at.settings.remainder, bucket: this.at.settings.bucket })
  }

  readonly centrifuge = this.#runner.operation(async ({ g, duration }: { g: number; duration: number }, signal) => {
    const talk = this.#initialized(signal)
    const spin = { rpm: words.rpmOf(g), duration, acceleration: this.at.settings.acceleration, deceleration: this.at.settings.deceleration }
    if (spin.rpm > words.highest_rpm)
      throw new LabError('invalid', `${g} ×g would be ${Math.round(spin.rpm)} rpm, more than ${words.highest_rpm} rpm`)
    rotor.plan(spin, (await talk.servo()).position)
    await mustNotTurn(talk)
    if ((await talk.inputs()).doorOpen) throw new LabError('interlock', 'its door is open; close it first')
    await door.freeForSpinning(talk)
    await this.#slowedDownOtherwise(async () => {
      await rotor.spin(talk, spin, { early: this.#runner.early, going: signal })
      await this.#homeAndPresent(talk)
    })
  })

  readonly end = () => this.#runner.early.ask()

  /** Does work that turns the rotor. If it fails, slows the rotor down, unless a stop has done so already. */
  async #slowedDownOtherwise(work: () => Promise<void>): Promise<void> {
    const { signal } = this.#halting
    try {
      await work()
    } catch (error) {
      if (!signal.aborted) {
        this.#ready = false
        this.#trySlowingDown()
      }
      throw error
    }
  }

  #trySlowingDown(): void {
    try {
      this.#exchange.interrupt(words.slowDown(fastest))
    } catch {
      // The line is lost, with which the operation already fails. The controller stops at its final position.
    }
  }

  readonly open = this.#runner.operation(async (_params: object, signal) => {
    const talk = this.#initialized(signal)
    await mustNotTurn(talk)
    await door.open(talk)
  })

  readonly close = this.#runner.operation(async (_params: object, signal) => {
    const talk = this.#initialized(signal)
    await mustNotTurn(talk)
    await door.close(talk)
  })

  #initialized(signal: AbortSignal): Talk {
    if (!this.#ready)
      throw new LabError('not_initialized', 'it has not been initialized since it was started, stopped or lost; initialize it first')
    return this.#talkUntil(signal)
  }

  /** Returns null, because the centrifuge identifies itself only after a cold start, which moves it. */
  async identify(): Promise<Identity | null> {
    return null
  }

  async check(): Promise<void> {
    if (this.at.line.state !== 'open') throw notOpen('the line')
    // A cold controller is silent at this speed, which is not a fault.
    if (this.#ready) rotor.mustRestWell(await this.#talkUntil().servo())
  }

  /**
   * Slows the rotor down, as an abrupt stop at speed could damage it. The door and the lock of the buckets are driven by air
   * and stay as their valves are set.
   */
  async halt(): Promise<void> {
    const wasReady = this.#ready
    try {
      this.#exchange.interrupt(words.slowDown(fastest))
    } finally {
      this.#end(new LabError('stopped', 'interrupted by a stop'))
    }
    const mine: Promise<void> = this.#confirm(this.#talkUntil(), wasReady).catch((error) => {
      if (this.#confirming !== mine) return this.#confirming
      throw error
    })
    this.#confirming = mine
    await mine
  }

  async #confirm(talk: Talk, wasReady: boolean): Promise<void> {
    if (!wasReady) await this.at.line.setBaud(words.runningBaud)
    for (let tries = 1; tries <= helloTries; tries++) {
      const seen = await look(talk)
      if (seen) return this.#mustSlowDown(talk, seen)
      if (!wasReady && (await this.#isCold(talk))) return
    }
    throw new LabError('no_reply', 'it did not answer the stop; if its rotor turns, switch it off')
  }

  /** Whether the controller was reset and not addressed since. Its motor has no power then, which equals a stop. */
  async #isCold(talk: Talk): Promise<boolean> {
    await this.at.line.setBaud(words.coldBaud)
    try {
      const asked = [words.areYouCold, words.areYouAddressed]
      for (const question of asked) if (await answersTwice(talk, question)) return true
      return false
    } finally {
      await this.at.line.setBaud(words.runningBaud)
    }
  }

  async #mustSlowDown(talk: Talk, first: Servo): Promise<void> {
    const end = this.at.line.clock.now() + slowing_ms
    for (let before = first; this.at.line.clock.now() < end; ) {
      await talk.pause(slowingLook_ms - gap_ms)
      const seen = await look(talk)
      if (!seen) continue
      if (!rotor.isTurning(before, seen) || rotor.isSlower(first, seen)) return
      before = seen
    }
    throw new LabError('device_failed', 'it does not slow down after a stop; switch it off')
  }
}

/** Throws if the rotor still turns. A cold controller does not answer at this speed, and cannot turn it. */
async function mustNotStillTurn(talk: Talk): Promise<void> {
  for (let tries = 1; tries <= helloTries; tries++) {
    if (await talk.probeSilent(words.defineServoStatus, hello_ms)) return mustNotTurn(talk)
  }
}

async function mustNotTurn(talk: Talk): Promise<void> {
  if (await rotor.turns(talk)) throw new LabError('interlock', 'its rotor is turning; stop it, or wait until it is at rest')
}

/** Whether a servo gives the same valid answer twice, since two bytes may be noise or the rest of an earlier answer. */
async function answersTwice(talk: Talk, question: Question): Promise<boolean> {
  const first = await talk.probe(question, hello_ms)
  if (!first || (first.readUInt8(0) & status.checksumError) !== 0) return false
  const second = await talk.probe(question, hello_ms)
  return second?.equals(first) ?? false
}

async function look(talk: Talk): Promise<Servo | undefined> {
  const frame = await talk.probe(words.defineServoStatus, hello_ms)
  return frame && (frame.readUInt8(0) & status.checksumError) === 0 ? servoOf(frame) : undefined
}
