// QInstruments BioShake: plate shakers, heated or cooled or neither, with or without a plate lock, and their plates.

import type { Device, Identity, Learned, Limit, Limits, UnderWay } from '../../src/devices/device.ts'
import { LabError } from '../../src/errors.ts'
import { type Clock, sleep } from '../../src/kit/clock.ts'
import type { Driver } from '../driver.ts'
import { Going } from '../going.ts'
import { HeatWatch, isBlind } from '../heat_watch.ts'
import type { Line } from '../transports/line.ts'
import { errorTable } from './errors.ts'
import { modelOf, profile, type Settings, settings } from './models.ts'
import { atHome, booting, driven, elmLocked, elmStates, elmUnlocked, ending, inEco, inService, moving, shakeStates } from './protocol.ts'
import { simulate } from './simulator.ts'
import { motion_ms, Talk } from './talk.ts'

export const driver: Driver<Settings> = {
  type: 'shaker',
  settings,
  serial: { baud: 9600 },
  profile,
  errors: () => errorTable,
  open,
  simulate,
}

/** Between two looks at an instrument that shakes, and at one that is about to arrive. */
const look_ms = 2000
const lookSoon_ms = 300
/** Stopping and going home take 6 s together, besides the time of slowing down. */
const arrival_s = 30
/** How much sooner than asked it may be back home and still have shaken as long as asked. */
const early_s = 1
/** And besides, for its clock is not ours: by so much of the time asked. */
const drift = 0.001
/** A plate has no other temperature; whatever says so is not a thermometer. */
const believable = { min: -50, max: 150 }
/** A full plate of the largest size takes its time; the instrument itself goes to 99 °C. */
const warming = { hottest: 115, overshoot: 15, gain: 2, within_s: 600, below: 5 }
/** For what nobody aborts. */
const nobodys = new AbortController().signal

function open({ line, clock, settings }: { line: Line; clock: Clock; settings: Settings }): Device {
  const model = modelOf(settings)
  const talk = new Talk(line)
  const going = new Going(line)
  const heat = new HeatWatch(clock, warming)

  async function identify(): Promise<Identity> {
    return {
      model: await talk.text('getDescription'),
      serial_number: await talk.text('getSerial'),
      firmware_version: await talk.text('getVersion'),
    }
  }

  async function initialize(_params: object, signal: AbortSignal): Promise<Learned> {
    talk.forgetRestart()
    if (model.rpm) await awake(signal)
    // The last word of a start may come beside the answer that says that it is over.
    talk.forgetRestart()
    const identity = await identify()
    if (model.rpm) await home(signal)
    if (model.heating) await watchWhatIsOn()
    await mustBeWell()
    if (model.rpm && settings.acceleration !== null) await talk.order(`setShakeAcceleration${settings.acceleration}`, signal)
    return { identity, limits: await limits() }
  }

  /** It goes on heating whatever we do, and is watched from now on. */
  async function watchWhatIsOn(): Promise<void> {
    heat.end()
    const { temperature, target } = await getTemperature()
    if (target !== null) heat.begin(target, temperature)
  }

  /** Waits until it has started, wakes it from ECO mode, and refuses while it moves. */
  async function awake(signal: AbortSignal): Promise<void> {
    for (;;) {
      const state = await talk.numberIfAllowed('getShakeState')
      if (state === undefined || state === inEco) {
        await talk.order('leaveEcoMode', signal, motion_ms)
        return untilHome(signal)
      }
      if (state === inService) throw new LabError('device_failed', 'it is in service mode; switch it off and on')
      if (moving.has(state)) {
        throw new LabError('interlock', `it is ${shakeStates[state]}; wait until it is at rest, or stop it, then initialize`)
      }
      if (state !== booting) return
      await sleep(clock, look_ms, signal)
      talk.forgetRestart()
    }
  }

  async function home(signal: AbortSignal): Promise<void> {
    await talk.order('shakeGoHome', signal, motion_ms)
    await untilHome(signal)
  }

  async function untilHome(signal: AbortSignal): Promise<void> {
    const began = clock.now()
    for (;;) {
      const state = await talk.number('getShakeState')
      if (state === atHome) return
      if (!moving.has(state)) await talk.mustBeWell()
      if (clock.now() - began > arrival_s * 1000) throw new LabError('device_failed', `it did not go home: it is ${inWords(state)}`)
      await sleep(clock, lookSoon_ms, signal)
    }
  }

  async function limits(): Promise<Limits> {
    const { limits: known } = profile(settings)
    const told: Limits = { ...known }
    if (known.speed) told.speed = between(known.speed, await talk.number('getShakeMinRpm'), await talk.number('getShakeMaxRpm'))
    if (known.temperature) told.temperature = between(known.temperature, await talk.number('getTempMin'), await talk.number('getTempMax'))
    return told
  }

  async function shake({ speed, duration }: { speed: number; duration: number }, signal: AbortSignal): Promise<void> {
    await mustBeHome()
    if (model.locking) await mustBeLocked()
    await talk.order(`setShakeTargetSpeed${speed}`, signal)
    const began = clock.now()
    await talk.order(`shakeOnWithRuntime${duration}`, signal)
    await untilShaken(began, duration, signal)
  }

  async function untilShaken(began: number, duration: number, signal: AbortSignal): Promise<void> {
    const enough = duration * (1 - drift) - early_s
    for (;;) {
      await sleep(clock, untilNextLook(seconds(began), { duration, enough }), signal)
      const state = await talk.number('getShakeState')
      const shaken = seconds(began)
      await mustBeWell()
      if (state === atHome && shaken >= enough) return
      if (state === atHome || (ending.has(state) && shaken < enough))
        throw new LabError(
          'device_failed',
          `it stopped after at most ${Math.round(shaken)} s of ${duration} s and reports no error; see whether somebody stopped it, then initialize`,
        )
      if (!moving.has(state) && (state > 9 || shaken > duration + arrival_s)) {
        throw new LabError('device_failed', `it did not end its run as it should: it is ${inWords(state)}; see to it, then initialize`)
      }
    }
  }

  /** One look comes just before it may be home: what breaks off before that has not shaken long enough. */
  function untilNextLook(shaken: number, { duration, enough }: { duration: number; enough: number }): number {
    const early = (enough - shaken) * 1000 - lookSoon_ms
    if (early > 0) return Math.min(look_ms, early)
    const left = (duration - shaken) * 1000
    return left > 0 ? Math.min(look_ms, left + lookSoon_ms) : lookSoon_ms
  }

  async function underWay(): Promise<UnderWay | null> {
    if (!moving.has(await talk.number('getShakeState'))) return null
    return { operation: 'shake', seconds_left: await talk.number('getShakeRemainingTime') }
  }

  async function mustBeHome(): Promise<void> {
    const state = await talk.number('getShakeState')
    if (state !== atHome) throw new LabError('interlock', `it is ${inWords(state)}, and must be at home; initialize it first`)
  }

  async function mustBeLocked(): Promise<void> {
    const state = await talk.number('getElmState')
    if (state !== elmLocked)
      throw new LabError('interlock', `the plate is not locked (the lock is ${elmInWords(state)}); lock the plate first`)
  }

  async function moveLock(command: string, wanted: number, signal: AbortSignal): Promise<void> {
    await talk.order(command, signal, motion_ms)
    const state = await talk.number('getElmState')
    if (state === wanted) return
    await talk.mustBeWell()
    throw new LabError(
      'device_failed',
      `the plate lock should be ${elmInWords(wanted)} and is ${elmInWords(state)}; see to it, then initialize`,
    )
  }

  async function lock(_params: object, signal: AbortSignal): Promise<void> {
    await moveLock('setElmLockPos', elmLocked, signal)
  }

  async function unlock(_params: object, signal: AbortSignal): Promise<void> {
    await mustBeHome()
    await moveLock('setElmUnlockPos', elmUnlocked, signal)
  }

  async function setTemperature({ temperature: target }: { temperature: number }, signal: AbortSignal): Promise<void> {
    const temperature = await readTemperature()
    await talk.order(`setTempTarget${Math.round(target * 10)}`, signal)
    signal.throwIfAborted()
    // Before the answer: from the moment it is told, it may heat.
    heat.begin(target, temperature)
    await talk.order('tempOn', signal)
  }

  async function readTemperature(): Promise<number> {
    const temperature = await talk.number('getTempActual')
    if (temperature >= believable.min && temperature <= believable.max) return temperature
    throw new LabError('device_failed', `it says that it has ${temperature} °C, which cannot be; see to its sensor`)
  }

  async function getTemperature(): Promise<{ temperature: number; target: number | null }> {
    const temperature = await readTemperature()
    const on = (await talk.number('getTempState')) === 1
    return { temperature, target: on ? await talk.number('getTempTarget') : null }
  }

  /** Its own errors first. Too hot, not getting warm or not to be asked: the heater is switched off before that is said. */
  async function mustBeWell(): Promise<void> {
    try {
      await talk.mustBeWell()
      if (heat.target === null) return
      const wrong = heat.wrongWith(await readTemperature())
      if (wrong) throw new LabError('device_failed', `${wrong}; its heater was switched off, see to it, then initialize`)
    } catch (error) {
      if (isBlind(error) && heat.target !== null) coolDown()
      throw error
    }
  }

  /** Told without waiting: whoever heard the error halts it as well. */
  function coolDown(): void {
    heat.end()
    if (line.state === 'open') talk.tellNow('tempOff')
  }

  /**
   * An emergency stop leaves it where it happens to be, so it has to be initialized after. Both commands go out without waiting
   * for an answer in between: it keeps a few in its buffer.
   */
  async function halt(): Promise<void> {
    talk.forgetRestart()
    const commands = [...(model.rpm ? ['shakeEmergencyOff'] : []), ...(model.heating ? ['tempOff'] : [])]
    // The bytes first: what goes on hears of it a tenth of a millisecond later.
    const acknowledged = talk.interrupt(commands)
    going.end(new LabError('stopped', 'interrupted by a stop'))
    heat.end()
    try {
      await acknowledged
    } catch (error) {
      if (!(error instanceof LabError) || error.code !== 'no_reply') throw error
      await mustBeOff()
    }
  }

  async function mustBeOff(): Promise<void> {
    if (model.rpm) await mustHaveStopped()
    if (model.heating && (await talk.number('getTempState')) !== 0) await talk.order('tempOff', nobodys)
  }

  async function mustHaveStopped(): Promise<void> {
    for (let looks = 1; ; looks++) {
      const state = await talk.number('getShakeState')
      if (!driven.has(state)) return
      if (looks === 5) throw new LabError('device_failed', `it was told to stop and is still ${inWords(state)}; use its power switch`)
    }
  }

  function seconds(since: number): number {
    return (clock.now() - since) / 1000
  }

  return {
    initialize: going.operation(initialize),
    identify,
    check: mustBeWell,
    halt,
    ...(model.rpm && { shake: going.operation(shake), underWay }),
    ...(model.locking && { lock_plate: going.operation(lock), unlock_plate: going.operation(unlock) }),
    ...(model.heating && { set_temperature: going.operation(setTemperature), get_temperature: getTemperature }),
  }
}

/** Narrows what a limit is by what the instrument says, which must make sense. */
function between(limit: Limit, min: number, max: number): Limit {
  if (min < max) return { ...limit, min, max }
  throw new LabError('device_failed', `it says that it goes from ${min} to ${max} ${limit.unit}; switch it off and on, then initialize`)
}

function inWords(state: number): string {
  return shakeStates[state] ?? `in state ${state}`
}

function elmInWords(state: number): string {
  return elmStates[state] ?? `in state ${state}`
}
