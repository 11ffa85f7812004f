// The PlateLoc plate sealer: short commands at 19200 baud, each acknowledged. It tells no temperature and no position.

import * as v from 'valibot'
import type { Device, Identity, Learned, Profile } from '../../src/devices/device.ts'
import { LabError } from '../../src/errors.ts'
import { type Clock, sleep } from '../../src/kit/clock.ts'
import type { Driver } from '../driver.ts'
import { Going } from '../going.ts'
import { Exchange, strange } from '../transports/exchange.ts'
import type { Line } from '../transports/line.ts'
import {
  type Answer,
  abortCycle,
  clearError,
  encode,
  heatTo,
  isComplete,
  nextAnswer,
  sealFor,
  stageIn,
  stageOut,
  startCycle,
  verbOf,
} from './protocol.ts'
import { simulate } from './simulator.ts'

/** There is nothing to set. */
export const settings = v.strictObject({})
export type Settings = v.InferOutput<typeof settings>

export const driver: Driver<Settings> = { type: 'sealer', settings, serial: { baud: 19200 }, profile, open, simulate }

/** Known hosts wait 10 s for an acknowledgement; the service waits no longer than that for a temperature to be set. */
const acknowledge_ms = 8000
const query_ms = 2000
const poll_ms = 500
/** The stage is acknowledged at once, and has arrived by then. */
const stage_ms = 6000
/** Stage and press, besides the time of pressing. */
const cycle_s = 30
const heating_s = 300
const askAgain_ms = 5000
/** As cold as it can be set: there is no switching it off. */
const coldest = 20

function profile(): Profile {
  return {
    model: 'PlateLoc',
    limits: {
      temperature: { min: coldest, max: 235, unit: '°C', step: 1 },
      duration: { min: 0.5, max: 12, unit: 's', step: 0.1 },
    },
    features: { heating: true, door: true },
  }
}

function open({ line, clock }: { line: Line; clock: Clock }): Device {
  const going = new Going(line)
  /** What it said to the last stop. */
  let aborted: Answer | undefined
  /** When the stage has arrived, as far as can be known. */
  let arrived = clock.now()
  const exchange = new Exchange<Answer, string>(line, {
    framer: nextAnswer,
    encode,
    gap_ms: 50,
    resync: { question: isComplete, recognises: ({ verb }) => verb === verbOf(isComplete), deadline_ms: query_ms },
    unsolicited(answer) {
      if (answer.verb === verbOf(abortCycle)) aborted = answer
      return false
    },
  })

  function ask(command: string): Promise<Answer> {
    return exchange.command(command, { deadline_ms: acknowledge_ms, accepts: ({ verb }) => verb === verbOf(command) })
  }

  async function order(command: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    mustBeTaken(command, await ask(command))
    signal.throwIfAborted()
  }

  /** Whether it says that its cycle is complete. */
  async function complete(): Promise<boolean> {
    const { ok } = await exchange.query(isComplete, { deadline_ms: query_ms, accepts: ({ verb }) => verb === verbOf(isComplete) })
    return ok
  }

  async function initialize(_params: object, signal: AbortSignal): Promise<Learned> {
    await mustHear()
    signal.throwIfAborted()
    await untilItStands(signal)
    await order(clearError, signal)
    return { identity: await identify() }
  }

  /** Asked twice and no more: to find the line again takes much longer, and is of no use on one that is dead. */
  async function mustHear(): Promise<void> {
    const ask = { deadline_ms: query_ms, accepts: ({ verb }: Answer) => verb === verbOf(isComplete) }
    const { dropped } = exchange
    if ((await exchange.probe(isComplete, ask)) ?? (await exchange.probe(isComplete, ask))) return
    const why = exchange.dropped === dropped ? 'see that it is switched on and connected' : strange
    throw new LabError('no_reply', `it does not answer; ${why}`)
  }

  /** What it answers when no cycle was ever begun, or one was aborted, is not known; but none lasts longer than this. */
  async function untilItStands(signal: AbortSignal): Promise<void> {
    const latest = clock.now() + cycle_s * 1000
    while (!(await complete()) && clock.now() < latest) await sleep(clock, poll_ms, signal)
    await untilArrived(signal)
  }

  async function untilArrived(signal?: AbortSignal): Promise<void> {
    await sleep(clock, Math.max(0, arrived - clock.now()), signal)
  }

  async function seal({ temperature, duration }: { temperature: number; duration: number }, signal: AbortSignal): Promise<void> {
    await start({ temperature, duration }, signal)
    await untilSealed(duration, signal)
  }

  /**
   * Where it refuses because it has not the temperature yet, it is asked again until it has. What it is set to cannot be read
   * back, so it is told each time: somebody may have set it otherwise in the meantime, or it may have lost its power.
   */
  async function start({ temperature, duration }: { temperature: number; duration: number }, signal: AbortSignal): Promise<void> {
    const latest = clock.now() + heating_s * 1000
    for (;;) {
      await order(heatTo(temperature), signal)
      await order(sealFor(duration), signal)
      signal.throwIfAborted()
      const answer = await ask(startCycle)
      if (answer.ok) return
      if (!/temp/i.test(answer.reason)) mustBeTaken(startCycle, answer)
      if (clock.now() > latest) throw new LabError('device_failed', `it is not at its temperature after ${heating_s} s: ${answer.reason}`)
      await sleep(clock, askAgain_ms, signal)
    }
  }

  async function untilSealed(duration: number, signal: AbortSignal): Promise<void> {
    const began = clock.now()
    for (;;) {
      await sleep(clock, poll_ms, signal)
      const sealed = await complete()
      signal.throwIfAborted()
      const seconds = (clock.now() - began) / 1000
      // A word of the cycle before would come sooner than any seal.
      if (sealed && seconds >= duration) return
      if (seconds > duration + cycle_s) {
        throw new LabError('device_failed', `it has not finished ${cycle_s} s after its time; see its display, then initialize`)
      }
    }
  }

  async function moveStage(command: string, signal: AbortSignal): Promise<void> {
    await untilArrived(signal)
    arrived = clock.now() + stage_ms
    await order(command, signal)
    arrived = clock.now() + stage_ms
    await untilArrived(signal)
    // Where it is now it does not tell, but whether it is still there.
    await complete()
  }

  /** The cycle is aborted and the set point put to the coldest in one go. */
  async function halt(): Promise<void> {
    going.end(new LabError('stopped', 'interrupted by a stop'))
    aborted = undefined
    try {
      exchange.interrupt(abortCycle)
    } finally {
      exchange.interrupt(heatTo(coldest))
    }
    // Once more, for the first may have come too close behind the other. By its answer, the one before is there or was not heard.
    mustBeTaken(heatTo(coldest), await ask(heatTo(coldest)))
    mustBeTaken(abortCycle, aborted ?? (await ask(abortCycle)))
    await untilArrived()
  }

  /** It cannot be asked who it is; but nothing else answers like this. */
  async function identify(): Promise<Identity> {
    await complete()
    return { model: 'PlateLoc', serial_number: null, firmware_version: null }
  }

  return {
    initialize: going.operation(initialize),
    seal: going.operation(seal),
    open: going.operation((_params: object, signal) => moveStage(stageOut, signal)),
    close: going.operation((_params: object, signal) => moveStage(stageIn, signal)),
    set_temperature: going.operation(({ temperature }: { temperature: number }, signal) => order(heatTo(temperature), signal)),
    identify,
    check: async () => void (await complete()),
    halt,
  }
}

function mustBeTaken(command: string, { ok, reason }: Answer): void {
  if (ok) return
  throw new LabError('device_failed', `it refused ${command}${reason && `: ${reason}`}; see its display, then initialize`)
}
