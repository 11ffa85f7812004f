// Agilent (Velocity11) VSpin: a centrifuge for two plates, with a door of its own. Without the Access2 loader.

import * as v from 'valibot'
import type { Device, Identity, Learned, Profile } from '../../src/devices/device.ts'
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
import { simulate } from './simulator.ts'
import { Talk } from './talk.ts'
import * as words from './words.ts'

const Fraction = v.pipe(v.number(), v.minValue(0.01), v.maxValue(1))

export const Settings = v.strictObject({
  acceleration: v.optional(v.pipe(Fraction, v.description('Of the fastest, 0.01 to 1')), 0.8),
  deceleration: v.optional(v.pipe(Fraction, v.description('Of the fastest, 0.01 to 1')), 0.8),
  remainder: v.optional(
    v.pipe(
      v.number(),
      v.integer(),
      v.minValue(-7999),
      v.maxValue(7999),
      v.description('From bucket 1 at the door back to the index, in counts; each unit has its own'),
    ),
    -5337,
  ),
  bucket: v.optional(v.pipe(v.picklist([1, 2]), v.description('The bucket that stands at the door')), 1),
})
export type Settings = v.InferOutput<typeof Settings>

export const driver: Driver<Settings> = {
  type: 'centrifuge',
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
/** For what nobody aborts. */

function profile(): Profile {
  return {
    model: 'VSpin',
    limits: {
      g: { min: 1, max: 1000, unit: '×g', step: 1 },
      duration: { min: 1, max: 10_800, unit: 's', step: 1 },
    },
    features: { door: true },
  }
}

function open({ line, clock, settings }: { line: Line; clock: Clock; settings: Settings }): Device {
  let servoId: Buffer | undefined
  /** It has been initialized and neither stopped nor lost since: it hears, and the positions mean something. */
  let ready = false
  /** For what is asked without an operation, and to tell that there was a stop. */
  let halting = new AbortController()
  const going = new Going(line)
  let confirming: Promise<void> = Promise.resolve()
  const exchange = new Exchange<Buffer, Question>(line, {
    framer,
    encode: ({ bytes }) => bytes,
    gap_ms,
    // Shorter than any other answer of the servo, and known after the first time.
    resync: {
      question: words.readServoId,
      recognises: (frame) => frame.length === 4 && (!servoId || servoId.subarray(1, 3).equals(frame.subarray(1, 3))),
    },
  })
  line.onLost((reason) => end(connectionLost(reason)))

  function end(reason: LabError): void {
    ready = false
    halting.abort(reason)
    halting = new AbortController()
    going.end(reason)
  }

  function talkUntil(signal = halting.signal): Talk {
    return new Talk({ exchange, line, clock, signal })
  }

  async function initialize(_params: object, signal: AbortSignal): Promise<Learned> {
    const talk = talkUntil(signal)
    await confirming.catch(() => undefined)
    await line.setBaud(words.runningBaud)
    await mustNotStillTurn(talk)
    ready = false
    servoId = undefined
    const identity = await coldStart(talk, (id) => {
      servoId = id
    })
    await slowedDownOtherwise(() => homeAndPresent(talk))
    ready = true
    return { identity }
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

  async function homeAndPresent(talk: Talk): Promise<void> {
    const home = await rotor.home(talk)
    await rotor.goToBucket(talk, { home, remainder: settings.remainder, bucket: settings.bucket })
  }

  async function centrifuge({ g, duration }: { g: number; duration: number }, signal: AbortSignal): Promise<void> {
    const talk = initialized(signal)
    const spin = { rpm: words.rpmOf(g), duration, acceleration: settings.acceleration, deceleration: settings.deceleration }
    if (spin.rpm > words.highest_rpm)
      throw new LabError('invalid', `${g} ×g would be ${Math.round(spin.rpm)} rpm, more than ${words.highest_rpm} rpm`)
    rotor.plan(spin, (await talk.servo()).position)
    await mustNotTurn(talk)
    if ((await talk.inputs()).doorOpen) throw new LabError('interlock', 'its door is open; close it first')
    await door.freeForSpinning(talk)
    await slowedDownOtherwise(async () => {
      await rotor.spin(talk, spin)
      await homeAndPresent(talk)
    })
  }

  /** Does what turns the rotor. If it fails the rotor is slowed down, unless a stop has done so already. */
  async function slowedDownOtherwise(work: () => Promise<void>): Promise<void> {
    const { signal } = halting
    try {
      await work()
    } catch (error) {
      if (!signal.aborted) {
        ready = false
        trySlowingDown()
      }
      throw error
    }
  }

  function trySlowingDown(): void {
    try {
      exchange.interrupt(words.slowDown(fastest))
    } catch {
      // The line is gone, which is what the operation failed with. The controller stops at its final position.
    }
  }

  async function openDoor(_params: object, signal: AbortSignal): Promise<void> {
    const talk = initialized(signal)
    await mustNotTurn(talk)
    await door.open(talk)
  }

  async function closeDoor(_params: object, signal: AbortSignal): Promise<void> {
    const talk = initialized(signal)
    await mustNotTurn(talk)
    await door.close(talk)
  }

  function initialized(signal: AbortSignal): Talk {
    if (!ready)
      throw new LabError('not_initialized', 'it has not been initialized since it was started, stopped or lost; initialize it first')
    return talkUntil(signal)
  }

  async function check(): Promise<void> {
    if (line.state !== 'open') throw notOpen('the line')
    // A cold one is silent at this speed, and not ill.
    if (ready) rotor.mustRestWell(await talkUntil().servo())
  }

  /**
   * Slows the rotor down: an abrupt stop at speed would tear at it. The door and the lock of the buckets have air behind them
   * and stay where their valves send them.
   */
  async function halt(): Promise<void> {
    const wasReady = ready
    try {
      exchange.interrupt(words.slowDown(fastest))
    } finally {
      end(new LabError('stopped', 'interrupted by a stop'))
    }
    const mine: Promise<void> = confirm(talkUntil(), wasReady).catch((error) => {
      if (confirming !== mine) return confirming
      throw error
    })
    confirming = mine
    await mine
  }

  async function confirm(talk: Talk, wasReady: boolean): Promise<void> {
    if (!wasReady) await line.setBaud(words.runningBaud)
    for (let tries = 1; tries <= helloTries; tries++) {
      const seen = await look(talk)
      if (seen) return mustSlowDown(talk, seen)
      if (!wasReady && (await isCold(talk))) return
    }
    throw new LabError('no_reply', 'it did not answer the stop; if its rotor turns, switch it off')
  }

  async function look(talk: Talk): Promise<Servo | undefined> {
    const frame = await talk.probe(words.defineServoStatus, hello_ms)
    return frame && (frame.readUInt8(0) & status.checksumError) === 0 ? servoOf(frame) : undefined
  }

  /** One that was reset and has not been spoken to since has no power on its motor: as good as stopped. */
  async function isCold(talk: Talk): Promise<boolean> {
    await line.setBaud(words.coldBaud)
    try {
      const asked = [words.areYouCold, words.areYouAddressed]
      for (const question of asked) if (await talk.probe(question, hello_ms)) return true
      return false
    } finally {
      await line.setBaud(words.runningBaud)
    }
  }

  async function mustSlowDown(talk: Talk, first: Servo): Promise<void> {
    const end = line.clock.now() + slowing_ms
    for (let before = first; line.clock.now() < end; ) {
      await talk.pause(slowingLook_ms - gap_ms)
      const seen = await look(talk)
      if (!seen) continue
      if (!rotor.isTurning(before, seen) || Math.abs(seen.velocity) < Math.abs(first.velocity)) return
      before = seen
    }
    throw new LabError('device_failed', 'it was told to stop and does not slow down; switch it off')
  }

  return {
    initialize: going.operation(initialize),
    centrifuge: going.operation(centrifuge),
    open: going.operation(openDoor),
    close: going.operation(closeDoor),
    // It tells who it is only after a cold start, which moves it.
    identify: async (): Promise<Identity | null> => null,
    check,
    halt,
  }
}
