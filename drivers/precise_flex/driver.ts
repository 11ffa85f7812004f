// A PreciseFlex robot arm of Brooks, over TCP: it takes plates up and puts them down at teachpoints of the bench.

import type { Destination, Device, EndedEarly, Gripper, Profile } from '../../src/devices/device.ts'
import type { Params } from '../../src/devices/operations.ts'
import { type CarriedLabware, type MoveTarget, type Skill, type Spot, skills, type Way } from '../../src/devices/way.ts'
import { LabError } from '../../src/errors.ts'
import { sleep } from '../../src/kit/clock.ts'
import type { SerialMount, TcpDriver } from '../driver.ts'
import { OperationRunner } from '../operation_runner.ts'
import { isNoReply } from '../transports/exchange.ts'
import { WithMount } from '../with_mount.ts'
import { ByHand } from './by_hand.ts'
import { attached, errors, hardStop, ready, states } from './errors.ts'
import { Fingers } from './fingers.ts'
import { type Leg, type Path, pathOf } from './path.ts'
import { type Axes, axesOf, fingerAxis, isAt, isSame, moveC, moveJ, profileWith, raised, signature } from './protocol.ts'
import { type Settings, settings } from './settings.ts'
import { simulate } from './simulator.ts'
import { Talk } from './talk.ts'

export const driver: TcpDriver<Settings> = {
  type: 'transporter',
  about: { instrument: 'Brooks PreciseFlex PF400, PF3400' },
  typical: { initialize_s: 7.3 },
  settings,
  tcp: { port: 10_100 },
  trial: { variants: [{ rail: true, gripper: 'axis' }] },
  signature,
  profile,
  errors: () => errors,
  open: (at) => new PreciseFlex(at),
  simulate,
}

/** The interval of the questions where it is, during a motion. */
const look_ms = 100
/** The interval after a stop, so that the service has the confirmation soon. */
const rest_ms = 50
/** A motion that has not begun after this time does not come any more. */
const begins_ms = 1000
/** The time to come to rest after a stop. */
const brakes_ms = 3000
/** The longest time for which the controller hears nothing: the fingers, and the home run of a robot with absolute encoders. */
const parked_ms = 35_000
/** How near a goal counts as reached: each axis, in mm or degrees, and the hand, in mm. */
const near = 0.2
const handNear = 1
/** The speed of `go_to`, and the longest time that it takes. */
const slow_percent = 20
const slow_ms = 600_000

function profile(): Profile {
  return { model: 'PreciseFlex', limits: {}, features: {}, ends_early: ['jog', 'free_drive'] }
}

/** Moves the arm in single motions, each of which is seen to end before the next one is commanded. */
class PreciseFlex extends WithMount<SerialMount<Settings>> implements Device {
  readonly skills: ReadonlySet<Skill> = new Set(Object.keys(skills) as Skill[])
  readonly #runner = new OperationRunner(this.at.line)
  readonly #talk = new Talk(this.at.line, this.at.settings)
  readonly #fingers = new Fingers(this.#talk, this.at.settings, (goal, signal) => this.#glide(goal, signal))
  readonly #byHand = new ByHand({
    clock: this.at.clock,
    settings: this.at.settings,
    talk: this.#talk,
    early: this.#runner.early,
    fingersGoal: () => this.#fingers.goal(),
    comesToRest: () => this.#comesToRest(),
    check: () => this.check(),
    whyItStands: () => this.#whyItStands(),
  })
  readonly choices = { axis: this.#byHand.axes }
  /** Whether the service has initialized it, and not stopped it since. A robot that is no longer attached then has a fault. */
  #isReady = false
  /** The way out of the teachpoint where `go_to` has left the arm; empty elsewhere, and after a person has moved it. */
  #wayOut: Leg[] = []
  /** The time by which the pick or the place under way has to be done. */
  #latest = 0
  readonly pick = this.#runner.operation((target: MoveTarget, signal) =>
    this.#carry(target, signal, (path) => this.#pick(path, target, signal)),
  )
  readonly place = this.#runner.operation((target: MoveTarget, signal) =>
    this.#carry(target, signal, (path) => this.#place(path, target, signal)),
  )

  readonly jog = this.#runner.operation(async (params: Params<'jog'>, signal) => {
    await this.#mayMove()
    this.#wayOut = []
    return this.#byHand.jog(params, signal)
  })
  readonly free_drive = this.#runner.operation(async (params: object, signal) => {
    await this.#mayMove()
    this.#wayOut = []
    return this.#byHand.freeDrive(params, signal)
  })
  readonly go_to = this.#runner.operation(async ({ teachpoint, offset_z, way }: Params<'go_to'> & Destination, signal) => {
    const { there, nest, back } = this.#pathTo(teachpoint, way)
    await this.#mayMove()
    signal.throwIfAborted()
    this.#latest = this.at.clock.now() + slow_ms
    await this.#leaveNest(signal)
    await this.#go(there, signal, (isStraight) => this.#slowly(isStraight, signal))
    this.#wayOut = back
    await this.#go([{ spot: raised(nest.spot, offset_z), isStraight: true }], signal, (isStraight) => this.#slowly(isStraight, signal))
  })

  identify() {
    return this.#talk.identity()
  }

  async pose() {
    await this.#mustStand('ask again when it stands')
    return this.#talk.pose()
  }

  /** Returns null unless the fingers prove something and the motor power is on: without it, somebody may have moved them. */
  async gripper(labware: CarriedLabware): Promise<Gripper | null> {
    await this.#mustStand('wait until it stands, and try again')
    const state = await this.#talk.state()
    return (state === attached || state === ready) && (await this.#fingers.areTooFarApart(labware)) ? 'empty' : null
  }

  readonly initialize = this.#runner.operation(async (_params: object, signal) => {
    const { settings } = this.at
    this.#isReady = false
    this.#fingers.forget()
    const identity = await this.#talk.identity()
    await this.#mustStand('wait, or stop it, then initialize')
    signal.throwIfAborted()
    await this.#switchOn(signal)
    const { profile, approach_profile, speed, approach_speed } = settings
    const profiles = [
      { profile, speed, isStraight: false },
      { profile: approach_profile, speed: approach_speed, isStraight: true },
    ]
    for (const one of profiles) await this.#talk.command({ question: profileWith(one) }, signal)
    await this.#mustBeAttached()
    await this.#byHand.hold()
    this.#isReady = true
    return { identity }
  })

  /** Switches the motor power on, attaches the robot and homes it, each only where it is not so already. */
  async #switchOn(signal: AbortSignal): Promise<void> {
    const talk = this.#talk
    const { power_timeout_s } = this.at.settings
    talk.hasMoved = true
    const state = await talk.state()
    if (state === hardStop) throw new LabError('interlock', `${wordsOf(state)}, then initialize it`)
    if (state !== attached && state !== ready) {
      await talk.parkingCommand({ question: `hp 1 ${power_timeout_s}`, deadline_ms: power_timeout_s * 1000 + 5000 }, signal)
    }
    if (!(await talk.isAttached())) await talk.command({ question: 'attach 1' }, signal)
    if (!(await talk.isHomed())) await talk.parkingCommand({ question: 'home', deadline_ms: parked_ms }, signal)
  }

  async check(): Promise<void> {
    if (!this.#isReady) return void (await this.#talk.state())
    await this.#talk.mustBeWell()
    await this.#mustBeAttached()
  }

  async halt(): Promise<void> {
    this.#isReady = false
    this.#wayOut = []
    this.#runner.stop()
    this.#talk.interrupt()
    await this.#comesToRest()
  }

  end(): Promise<EndedEarly> {
    const ended = this.#runner.early.ask()
    this.#byHand.letGo()
    return ended
  }

  /**
   * Makes the robot hold its position, if its axes may be free, and waits for two equal answers about where it is. A controller that works on a command which
   * nothing ends answers after that.
   */
  async #comesToRest(): Promise<void> {
    const { clock } = this.at
    const began = clock.now()
    for (;;) {
      const passed_ms = clock.now() - began
      try {
        await this.#byHand.holdAgain()
        if (await this.#stands(rest_ms)) {
          await this.#talk.state()
          return
        }
        if (passed_ms > brakes_ms) throw new LabError('device_failed', 'it still moves after a stop; use its red button')
      } catch (error) {
        if (!isNoReply(error) || !this.#talk.isParked || passed_ms > parked_ms) throw error
      }
    }
  }

  async #stands(apart_ms = look_ms): Promise<boolean> {
    const before = await this.#talk.where()
    await sleep(this.at.clock, apart_ms)
    return isSame(before, await this.#talk.where())
  }

  async #mustStand(remedy: string, apart_ms = look_ms): Promise<void> {
    if (!(await this.#stands(apart_ms))) throw new LabError('interlock', `it is moving; ${remedy}`)
  }

  async #mustBeAttached(): Promise<void> {
    const state = await this.#talk.state()
    if (state !== attached) throw new LabError('device_failed', `${wordsOf(state)}, then initialize the device`)
  }

  async #carry({ position, way }: MoveTarget, signal: AbortSignal, work: (path: Path) => Promise<void>): Promise<void> {
    const path = this.#pathTo(position, way)
    await this.#mayMove()
    signal.throwIfAborted()
    this.#latest = this.at.clock.now() + slow_ms
    await this.#leaveNest(signal)
    this.#latest = this.at.clock.now() + this.at.settings.move_timeout_s * 1000
    await work(path)
  }

  /** Leaves a teachpoint to which `go_to` has brought the arm, slowly and by the way that it came, before it moves anywhere else. */
  async #leaveNest(signal: AbortSignal): Promise<void> {
    await this.#go(this.#wayOut.splice(0), signal, (isStraight) => this.#slowly(isStraight, signal))
  }

  #pathTo(position: string, way: Way | null): Path {
    if (!way) throw new LabError('not_found', `it has no teachpoint ${position}; teach it that place`)
    const { clearance, rail } = this.at.settings
    return pathOf(way, { clearance, hasRail: rail })
  }

  /** Throws unless it is ready and stands. */
  async #mayMove(): Promise<void> {
    if (!this.#isReady) throw new LabError('not_initialized', 'it is not ready to move; initialize it')
    await this.#mustStand('wait, or stop it', rest_ms)
    this.#talk.hasMoved = false
  }

  async #pick({ there, nest, back }: Path, { labware, position }: MoveTarget, signal: AbortSignal): Promise<void> {
    if (this.#fingers.hold)
      throw new LabError('interlock', 'its gripper holds something already; place that first, or take it out and initialize it')
    await this.#go(there, signal)
    await this.#fingers.open(labware, signal)
    await this.#go([nest], signal)
    const holds = await this.#fingers.grip(labware, signal)
    if (!holds) await this.#fingers.release(labware, signal)
    await this.#go(back, signal)
    if (!holds)
      throw new LabError(
        'device_failed',
        `it found nothing to grip at ${position}; see that the labware stands there and is as wide as its type says, then initialize`,
      )
  }

  async #place({ there, nest, back }: Path, { labware }: MoveTarget, signal: AbortSignal): Promise<void> {
    await this.#go([...there, nest], signal)
    await this.#fingers.release(labware, signal)
    await this.#go(back, signal)
  }

  async #go(
    legs: readonly Leg[],
    signal: AbortSignal,
    profileFor = (isStraight: boolean) => this.#usualProfile(isStraight),
  ): Promise<void> {
    for (const { spot, isStraight } of legs) {
      const goal = await this.#begin(spot, await profileFor(isStraight), signal)
      await this.#arrives(goal, signal)
      if (!('joints' in spot)) await this.#mustBeThere(spot)
    }
  }

  async #usualProfile(isStraight: boolean): Promise<number> {
    const { profile, approach_profile } = this.at.settings
    return isStraight ? approach_profile : profile
  }

  /** Writes the profile for slow motions, and returns its number. */
  async #slowly(isStraight: boolean, signal: AbortSignal): Promise<number> {
    const { manual_profile: profile } = this.at.settings
    await this.#talk.command({ question: profileWith({ profile, speed: slow_percent, isStraight }) }, signal)
    return profile
  }

  /** Commands one motion, and returns where it goes. The fingers are never sent further apart than they are. */
  async #begin(spot: Spot, profile: number, signal: AbortSignal): Promise<Axes> {
    const talk = this.#talk
    if (!('joints' in spot)) {
      await talk.command({ question: moveC(profile, spot) }, signal)
      talk.hasMoved = true
      return talk.goal()
    }
    const axes = axesOf(spot.joints, await this.#fingers.goal(), this.at.settings.rail)
    await talk.command({ question: moveJ(profile, axes) }, signal)
    talk.hasMoved = true
    return axes
  }

  async #arrives(goal: Axes, signal: AbortSignal): Promise<void> {
    await this.#until((now) => isAt(now, goal, near), signal)
  }

  /** Waits until it stands, and is there. It may not have begun to move when it is first asked. */
  async #until(isThere: (now: Axes) => boolean, signal: AbortSignal): Promise<void> {
    const { clock } = this.at
    let before = await this.#talk.where()
    let stoodSince = clock.now()
    for (;;) {
      await sleep(clock, look_ms, signal)
      const now = await this.#talk.where()
      signal.throwIfAborted()
      const stands = isSame(before, now)
      if (stands && isThere(now)) return
      if (!stands) stoodSince = clock.now()
      if (clock.now() - stoodSince > begins_ms) throw await this.#whyItStands()
      if (clock.now() > this.#latest)
        throw new LabError('no_reply', `it did not arrive within ${this.at.settings.move_timeout_s} s; see what it does, then initialize`)
      before = now
    }
  }

  /** Moves the finger axis alone, and returns where it stands when it moves no more. */
  async #glide(question: string, signal: AbortSignal): Promise<number> {
    await this.#talk.command({ question }, signal)
    this.#talk.hasMoved = true
    const began = this.at.clock.now()
    // Labware may keep the fingers from their goal, so they only have to stand for as long as a motion takes to begin.
    await this.#until(() => this.at.clock.now() - began > begins_ms, signal)
    return (await this.#talk.where())[fingerAxis - 1]!
  }

  async #whyItStands(): Promise<LabError> {
    await this.#talk.mustBeWell()
    await this.#mustBeAttached()
    return new LabError('device_failed', 'it stands, and not where it was sent; see what is in its way, then initialize')
  }

  /** The controller's own answer about the hand has to agree with the point, too. */
  async #mustBeThere({ at, pose }: Spot & { pose: { x: number; y: number; z: number } }): Promise<void> {
    const { x, y, z } = await this.#talk.pose()
    if (Math.hypot(x - pose.x, y - pose.y, z - pose.z) <= handNear) return
    throw new LabError('device_failed', `it stands, and not at ${at}; see what is in its way, then initialize`)
  }
}

function wordsOf(state: number): string {
  const [words, action] = states[state] ?? [`it reports power state ${state}, which benchd does not know`, 'See its web page']
  return `${words}. ${action}`
}
