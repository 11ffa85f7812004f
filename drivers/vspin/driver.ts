// Agilent (Velocity11) VSpin: a centrifuge for two plates, with a door of its own. Without the Access2 loader.

import type { Device, Identity, Learned } from '../../src/devices/device.ts'
import { connectionLost, notOpen } from '../../src/devices/failure.ts'
import { LabError } from '../../src/errors.ts'
import type { Clock } from '../../src/kit/clock.ts'
import type { Driver } from '../driver.ts'
import { Going } from '../going.ts'
import { Exchange } from '../transports/exchange.ts'
import type { Line } from '../transports/line.ts'
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
  settings: Settings,
  // The speed after a cold start, so that a stop reaches one that still spins from an earlier session.
  serial: { baud: words.runningBaud },
  profile,
  open,
  simulate,
}

const gap_ms = 50
/** For a first word after which silence means something. */
const hello_ms = 150
const helloTries = 3
/** In which a rotor that was told to stop must be seen to slow down. */
const slowing_ms = 2000
const slowingLook_ms = 150
/** A stop slows down as fast as the motor may. */
const fastest = 1

type At = { line: Line; clock: Clock; settings: Settings }

function open(at: At): Device {
  return new VSpin(at).device()
}

/** Turns the operations of a VSpin into the words of its motor controller. */
class VSpin {
  readonly #line: Line
  readonly #clock: Clock
  readonly #settings: Settings
  #servoId: Buffer | undefined
  /** It has been initialized and neither stopped nor lost since: it hears, and the positions mean something. */
  #ready = false
  /** For what is asked without an operation, and to tell that there was a stop. */
  #halting = new AbortController()
  readonly #going: Going
  #confirming: Promise<void> = Promise.resolve()
  readonly #exchange: Exchange<Buffer<ArrayBufferLike>, Question>

  constructor({ line, clock, settings }: At) {
    this.#line = line
    this.#clock = clock
    this.#settings = settings
    this.#going = new Going(line)
    this.#exchange = new Exchange<Buffer, Question>(line, {
      framer,
      encode: ({ bytes }) => bytes,
      gap_ms,
      // Shorter than any other answer of the servo, and known after the first time.
      resync: {
        question: words.readServoId,
        recognises: (frame) => frame.length === 4 && (!this.#servoId || this.#servoId.subarray(1, 3).equals(frame.subarray(1, 3))),
      },
    })
    line.onLost((reason) => this.#end(connectionLost(reason)))
  }

  /** Has a method for each operation that this model knows. */
  device(): Device {
    return {
      initialize: this.#going.operation((params, signal) => this.#initialize(params, signal)),
      centrifuge: this.#going.operation((params, signal) => this.#centrifuge(params, signal)),
      open: this.#going.operation((params, signal) => this.#openDoor(params, signal)),
      close: this.#going.operation((params, signal) => this.#closeDoor(params, signal)),
      // The centrifuge identifies itself only after a cold start, which moves it.
      identify: async (): Promise<Identity | null> => null,
      check: () => this.#check(),
      halt: () => this.#halt(),
    }
  }

  #end(reason: LabError): void {
    this.#ready = false
    this.#halting.abort(reason)
    this.#halting = new AbortController()
    this.#going.end(reason)
  }

  #talkUntil(signal = this.#halting.signal): Talk {
    return new Talk({ exchange: this.#exchange, line: this.#line, clock: this.#clock, signal })
  }

  async #initialize(_params: object, signal: AbortSignal): Promise<Learned> {
    const talk = this.#talkUntil(signal)
    await this.#confirming.catch(() => undefined)
    await this.#line.setBaud(words.runningBaud)
    await mustNotStillTurn(talk)
    this.#ready = false
    this.#servoId = undefined
    const identity = await coldStart(talk, (id) => {
      this.#servoId = id
    })
    await this.#slowedDownOtherwise(() => this.#homeAndPresent(talk))
    this.#ready = true
    return { identity }
  }

  async #homeAndPresent(talk: Talk): Promise<void> {
    const home = await rotor.home(talk)
    await rotor.goToBucket(talk, { home, remainder: this.#settings.remainder, bucket: this.#settings.bucket })
  }

  async #centrifuge({ g, duration }: { g: number; duration: number }, signal: AbortSignal): Promise<void> {
    const talk = this.#initialized(signal)
    const spin = { rpm: words.rpmOf(g), duration, acceleration: this.#settings.acceleration, deceleration: this.#settings.deceleration }
    if (spin.rpm > words.highest_rpm)
      throw new LabError('invalid', `${g} ×g would be ${Math.round(spin.rpm)} rpm, more than ${words.highest_rpm} rpm`)
    rotor.plan(spin, (await talk.servo()).position)
    await mustNotTurn(talk)
    if ((await talk.inputs()).doorOpen) throw new LabError('interlock', 'its door is open; close it first')
    await door.freeForSpinning(talk)
    await this.#slowedDownOtherwise(async () => {
      await rotor.spin(talk, spin)
      await this.#homeAndPresent(talk)
    })
  }

  /** Does what turns the rotor. If it fails the rotor is slowed down, unless a stop has done so already. */
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
      // The line is gone, which is what the operation failed with. The controller stops at its final position.
    }
  }

  async #openDoor(_params: object, signal: AbortSignal): Promise<void> {
    const talk = this.#initialized(signal)
    await mustNotTurn(talk)
    await door.open(talk)
  }

  async #closeDoor(_params: object, signal: AbortSignal): Promise<void> {
    const talk = this.#initialized(signal)
    await mustNotTurn(talk)
    await door.close(talk)
  }

  #initialized(signal: AbortSignal): Talk {
    if (!this.#ready)
      throw new LabError('not_initialized', 'it has not been initialized since it was started, stopped or lost; initialize it first')
    return this.#talkUntil(signal)
  }

  async #check(): Promise<void> {
    if (this.#line.state !== 'open') throw notOpen('the line')
    // A cold one is silent at this speed, and not ill.
    if (this.#ready) rotor.mustRestWell(await this.#talkUntil().servo())
  }

  /**
   * Slows the rotor down: an abrupt stop at speed would tear at it. The door and the lock of the buckets have air behind them
   * and stay where their valves send them.
   */
  async #halt(): Promise<void> {
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
    if (!wasReady) await this.#line.setBaud(words.runningBaud)
    for (let tries = 1; tries <= helloTries; tries++) {
      const seen = await look(talk)
      if (seen) return this.#mustSlowDown(talk, seen)
      if (!wasReady && (await this.#isCold(talk))) return
    }
    throw new LabError('no_reply', 'it did not answer the stop; if its rotor turns, switch it off')
  }

  /** One that was reset and has not been spoken to since has no power on its motor: as good as stopped. */
  async #isCold(talk: Talk): Promise<boolean> {
    await this.#line.setBaud(words.coldBaud)
    try {
      const asked = [words.areYouCold, words.areYouAddressed]
      for (const question of asked) if (await talk.probe(question, hello_ms)) return true
      return false
    } finally {
      await this.#line.setBaud(words.runningBaud)
    }
  }

  async #mustSlowDown(talk: Talk, first: Servo): Promise<void> {
    const end = this.#line.clock.now() + slowing_ms
    for (let before = first; this.#line.clock.now() < end; ) {
      await talk.pause(slowingLook_ms - gap_ms)
      const seen = await look(talk)
      if (!seen) continue
      if (!rotor.isTurning(before, seen) || Math.abs(seen.velocity) < Math.abs(first.velocity)) return
      before = seen
    }
    throw new LabError('device_failed', 'it was told to stop and does not slow down; switch it off')
  }
}

/** A cold one does not answer at this speed, and cannot turn. */
async function mustNotStillTurn(talk: Talk): Promise<void> {
  for (let tries = 1; tries <= helloTries; tries++) {
    if (await talk.probe(words.defineServoStatus, hello_ms)) return mustNotTurn(talk)
  }
}

async function mustNotTurn(talk: Talk): Promise<void> {
  if (await rotor.turns(talk)) throw new LabError('interlock', 'its rotor is turning; stop it, or wait until it is at rest')
}

async function look(talk: Talk): Promise<Servo | undefined> {
  const frame = await talk.probe(words.defineServoStatus, hello_ms)
  return frame && (frame.readUInt8(0) & status.checksumError) === 0 ? servoOf(frame) : undefined
}
