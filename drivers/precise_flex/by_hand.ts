// Movements of a PreciseFlex that a person leads: jogs in small steps, and free drive.

import { type Axis, jogged } from '../../src/devices/axes.ts'
import type { Params } from '../../src/devices/operations.ts'
import { LabError } from '../../src/errors.ts'
import type { Clock } from '../../src/kit/clock.ts'
import type { EarlyEnd } from '../early_end.ts'
import { stepOf } from '../jog_steps.ts'
import { type Axes, isSame, moveC, moveJ, profileWith } from './protocol.ts'
import type { Settings } from './settings.ts'
import type { Talk } from './talk.ts'

/** The axes of the robot that a jog moves alone, by their numbers. The column is vertical, so `z` is the column. */
const joints: Partial<Record<Axis, number>> = { z: 1, base: 1, shoulder: 2, elbow: 3, wrist: 4, rail: 6 }
/** The axes that turn or travel horizontally, and cannot fall. */
const level = [2, 3, 4]
const column = 1
const railAxis = 6

/** The interval of the questions whether a step has ended. */
const look_ms = 15
/** A step that has not ended after this time does not end any more. */
const step_ms = 3000
/** The interval of the question how the robot is, in free drive. */
const watch_ms = 500

type Parts = {
  clock: Clock
  settings: Settings
  talk: Talk
  early: EarlyEnd
  /** Returns where the fingers go while the arm moves. */
  fingersGoal(): Promise<number>
  comesToRest(): Promise<void>
  /** Rejects if the robot has a fault. */
  check(): Promise<void>
  whyItStands(): Promise<LabError>
}

export class ByHand {
  readonly #parts: Parts
  /** The axes that it can be jogged along. On a rail, a pose does not say where the rail stands. */
  readonly axes: readonly Axis[]
  /** Whether a step of a jog may be under way. */
  #isJogging = false
  /** Whether axes may be free. The service may have been killed while they were. */
  #isFree = true

  constructor(parts: Parts) {
    this.#parts = parts
    const own = ['base', 'shoulder', 'elbow', 'wrist'] as const
    this.axes = parts.settings.rail ? ['z', ...own, 'rail'] : ['x', 'y', 'z', 'yaw', ...own]
  }

  /** Moves in steps until somebody ends it, or the axis ends. Resolves with how far it went, in words. */
  async jog({ axis, direction, speed }: Params<'jog'>, signal: AbortSignal): Promise<string> {
    const { talk, early, settings } = this.#parts
    const unit = axis === 'yaw' || (joints[axis] !== undefined && level.includes(joints[axis])) ? '°' : 'mm'
    const size = stepOf(unit, speed)
    const isStraight = joints[axis] === undefined
    await talk.command({ question: profileWith({ profile: settings.manual_profile, speed, isStraight }) }, signal)
    const begin = await this.#place(axis)
    const walk = isStraight ? await this.#alongFrame(axis) : await this.#alongJoint(joints[axis]!)
    let goal = begin
    let end = ''
    this.#isJogging = true
    try {
      while (!early.isAsked && end === '') {
        goal += direction === '+' ? size : -size
        end = await this.#step(() => walk(goal - begin, signal), { isLater: Math.abs(goal - begin) > 1.5 * size })
        if (end === '' && !early.isAsked) await this.#ends(axis, goal, size, signal)
      }
    } catch (error) {
      signal.throwIfAborted()
      // The end of the jog interrupts the step, whose answers are lost then.
      if (!early.isAsked) throw error
    } finally {
      this.#isJogging = false
    }
    await early.carriedOut({ seconds_left: 0, going: signal }, () => this.#parts.comesToRest())
    return `${jogged(axis, await this.#moved(axis, begin), unit)}${end}`
  }

  /** Frees the axes that cannot fall, until somebody ends it. */
  async freeDrive(_params: object, signal: AbortSignal): Promise<string> {
    const { talk, early, settings, clock } = this.#parts
    const axes = [...(settings.column_holds ? [column] : []), ...level, ...(settings.rail ? [railAxis] : [])]
    talk.hasMoved = true
    this.#isFree = true
    for (const axis of axes) await talk.command({ question: `freemode ${axis}` }, signal)
    while (!early.isAsked) {
      await early.sleep(clock, watch_ms, signal)
      if (!early.isAsked) await this.#parts.check()
    }
    await early.carriedOut({ seconds_left: 0, going: signal }, () => this.hold())
    return `${settings.column_holds ? 'all its joints were free' : 'its joints were free, except the column'}; it holds its position again`
  }

  /** Ends a step of a jog in the same turn: `halt` leaves the motor power on, and nothing is latched. */
  letGo(): void {
    if (this.#isJogging) this.#parts.talk.interrupt()
  }

  /** Makes the robot hold its position again, if it may be free. A robot that refuses that has no motor power, so it does not move by itself. */
  async holdAgain(): Promise<void> {
    if (!this.#isFree) return
    await this.hold().catch((error) => {
      if (!(error instanceof LabError && error.code === 'device_failed')) throw error
    })
    this.#isFree = false
  }

  /** Ends the free mode of all axes. */
  async hold(): Promise<void> {
    await this.#parts.talk.command({ question: 'freemode -1' }, new AbortController().signal)
    this.#isFree = false
  }

  /** Commands a step. Returns words if the axis ends there, and nothing has moved. */
  async #step(command: () => Promise<unknown>, { isLater }: { isLater: boolean }): Promise<string> {
    const { talk } = this.#parts
    // The step before was seen to end, so a refusal of this one has moved nothing.
    talk.hasMoved = false
    try {
      await command()
      talk.hasMoved = true
      return ''
    } catch (error) {
      if (isLater && error instanceof LabError && error.code === 'invalid') return '; it goes no further'
      throw error
    }
  }

  /** Waits until it stands at the goal of the step. */
  async #ends(axis: Axis, goal: number, size: number, signal: AbortSignal): Promise<void> {
    const { talk, clock, early } = this.#parts
    const latest = clock.now() + step_ms
    for (let before = await talk.where(); ; ) {
      await early.sleep(clock, look_ms, signal)
      // The end of the jog has halted the step.
      if (early.isAsked) return
      const now = await talk.where()
      signal.throwIfAborted()
      if (isSame(before, now) && Math.abs(between(axis, await this.#place(axis, now), goal)) <= size / 2) return
      if (clock.now() > latest) throw await this.#parts.whyItStands()
      before = now
    }
  }

  async #place(axis: Axis, now?: Axes): Promise<number> {
    const joint = joints[axis]
    if (joint !== undefined) return (now ?? (await this.#parts.talk.where()))[joint - 1]!
    return (await this.#parts.talk.pose())[axis as 'x' | 'y' | 'yaw']
  }

  async #moved(axis: Axis, begin: number): Promise<number> {
    return between(axis, begin, await this.#place(axis))
  }

  /** Returns the command that moves one joint so far from where it stands now. */
  async #alongJoint(joint: number) {
    const { talk, settings } = this.#parts
    const from = (await talk.where()).with(4, await this.#parts.fingersGoal())
    return (by: number, signal: AbortSignal) =>
      talk.command({ question: moveJ(settings.manual_profile, from.with(joint - 1, from[joint - 1]! + by)) }, signal)
  }

  /** Returns the command that moves the hand so far from where it stands now, along a straight line. */
  async #alongFrame(axis: Axis) {
    const { talk, settings } = this.#parts
    const { pose, elbow } = await talk.spot()
    const from = pose[axis as 'x' | 'y' | 'yaw']
    return (by: number, signal: AbortSignal) =>
      talk.command({ question: moveC(settings.manual_profile, { pose: { ...pose, [axis]: from + by }, elbow }) }, signal)
  }
}

/** Returns the way from one place on an axis to another; the shorter one for the yaw, which `wherec` tells from -180 to 180. */
function between(axis: Axis, from: number, to: number): number {
  const way = to - from
  return axis === 'yaw' ? ((((way + 180) % 360) + 360) % 360) - 180 : way
}
