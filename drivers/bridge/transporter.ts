// The moves of a bridge that carries labware, and the evidence that its program gives of them.

import * as v from 'valibot'
import { axes, jogged } from '../../src/devices/axes.ts'
import type { Description } from '../../src/devices/description.ts'
import type { Destination, Gripper } from '../../src/devices/device.ts'
import { isRefusal } from '../../src/devices/failure.ts'
import type { MoveName, Params } from '../../src/devices/operations.ts'
import type { Pose } from '../../src/devices/reading_table.ts'
import { type MoveTarget, obstaclesOn, type Spot, type Way } from '../../src/devices/way.ts'
import { LabError, messageOf } from '../../src/errors.ts'
import { type Clock, sleep } from '../../src/kit/clock.ts'
import { checked } from '../../src/kit/schema.ts'
import type { EarlyEnd } from '../early_end.ts'
import { type StepUnit, stepOf } from '../jog_steps.ts'

const Coordinate = v.pipe(v.number(), v.finite())
const Where = v.object({
  state: v.picklist(['idle', 'moving', 'unhomed', 'stopped', 'error']),
  gripper: v.optional(v.nullable(v.picklist(['empty', 'full'])), null),
  pose: v.optional(v.nullable(v.object(v.entriesFromList(['x', 'y', 'z', 'yaw', 'pitch', 'roll'], Coordinate))), null),
})
type Where = v.InferOutput<typeof Where>

/** The interval of the position query during a move. */
const look_ms = 1000
/** A program that has answered neither of two queries, each after this time, counts as lost. */
const silent_ms = 2500

/** The speed of `go_to`, and the longest time that it takes. */
const slow_percent = 20
const slow_s = 600

type Parts = {
  clock: Clock
  early: EarlyEnd
  description(): Description | undefined
  /** How long a move may take, s. */
  move_timeout_s: number
  /** Requests a motion, once. Rejects when the signal is aborted. */
  ask(method: string, params: object | undefined, signal: AbortSignal): Promise<unknown>
  /** Asks `where`. A program without an answer after `deadline_s` is given up; without a deadline, the caller waits as long as it wants. */
  where(deadline_s?: number): Promise<unknown>
}

export class BridgeTransporter {
  readonly #parts: Parts
  /** Whether the service has homed it, and not stopped it since. A transporter that is no longer homed then has a fault. */
  #isHomed = false

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Forgets that it was homed, after a stop or the loss of the program. */
  unhome(): void {
    this.#isHomed = false
  }

  /** Refuses while it moves, and checks afterwards that it stands. */
  async home(signal: AbortSignal): Promise<void> {
    this.#isHomed = false
    // Before the first `initialize`, a program may be unable to say where the arm is.
    const before = await this.#where(answer_s).catch(unlessDisconnected)
    if (before?.state === 'moving') throw new LabError('interlock', 'it is moving; wait, or stop it, then initialize')
    signal.throwIfAborted()
    await this.#parts.ask('initialize', undefined, signal)
    const { state } = await this.#where(answer_s)
    signal.throwIfAborted()
    if (state !== 'idle')
      throw new LabError('device_failed', `it says that it is initialized, and it is ${state}; see to it, then initialize`)
    this.#isHomed = true
  }

  /** Throws the fault that a homed transporter has. */
  async check(): Promise<void> {
    if (this.#isHomed) mustBeReady((await this.#where(answer_s)).state)
  }

  async pose(): Promise<Pose> {
    const { state, pose } = await this.#where(answer_s)
    if (state === 'moving') throw new LabError('interlock', 'it is moving; ask again when it stands')
    if (!pose) throw new LabError('invalid', 'its program does not know its pose')
    return pose
  }

  /** Returns null for a transporter that was stopped, has an error or has restarted, since it may have lost its labware. */
  async gripper(): Promise<Gripper | null> {
    const { state, gripper } = await this.#where(answer_s)
    if (state === 'moving') throw new LabError('interlock', 'it is moving; wait until it stands, and try again')
    return state === 'idle' ? gripper : null
  }

  /** Rejects unless the program shows that the transporter stands. */
  async mustStand(deadline_s: number): Promise<void> {
    const { state } = await this.#where(deadline_s)
    if (state === 'moving') throw new LabError('device_failed', 'it still moves after a stop; use its red button')
  }

  /** Picks or places. The request is never repeated. */
  async move(verb: MoveName, target: MoveTarget, signal: AbortSignal): Promise<void> {
    const { position, labware } = target
    const point = this.#pointOf(target)
    const before = await this.#where(answer_s)
    mustBeAble(verb, before)
    signal.throwIfAborted()
    try {
      await this.#watched(this.#parts.ask(verb, { labware, position, point }, signal), signal)
    } catch (error) {
      if (isRefusal(error)) mustBeUnchanged(verb, before, await this.#where(answer_s))
      throw error
    }
    mustHaveDone(verb, await this.#where(answer_s))
  }

  /** Moves in steps until somebody ends it, or the axis ends. The next step is requested when the transporter was seen to stand after the last. */
  async jog({ axis, direction, speed }: Params<'jog'>, signal: AbortSignal): Promise<string> {
    const { ask, early } = this.#parts
    const size = stepOf(axes[axis] as StepUnit, speed) * (direction === '+' ? 1 : -1)
    mustStandReady((await this.#where(answer_s)).state)
    let [by, end] = [0, '']
    while (!early.isAsked && end === '') {
      signal.throwIfAborted()
      try {
        await this.#watched(ask('jog', { axis, by: size, speed }, signal), signal)
        by += size
      } catch (error) {
        // The step before was seen to end, so that a refusal of this one has moved nothing.
        if (by === 0 || !isRefusal(error)) throw error
        end = '; it goes no further'
      }
      mustStandReady((await this.#where(answer_s)).state, 'jog is done')
    }
    await early.carriedOut({ seconds_left: 0, going: signal }, async () => undefined)
    return `${jogged(axis, by)}${end}`
  }

  /** Lets a person lead it, until somebody ends it. */
  async freeDrive(_params: object, signal: AbortSignal): Promise<undefined> {
    const { ask, early, clock } = this.#parts
    mustStandReady((await this.#where(answer_s)).state)
    signal.throwIfAborted()
    await ask('free_drive', { on: true }, signal)
    for (; !early.isAsked; await early.sleep(clock, look_ms, signal)) mustBeReady((await this.#where(answer_s)).state)
    await early.carriedOut({ seconds_left: 0, going: signal }, () => ask('free_drive', { on: false }, signal))
    mustStandReady((await this.#where(answer_s)).state, 'free drive is over')
  }

  /** Goes slowly to a position, or above it. The request is never repeated. */
  async goTo({ teachpoint, offset_z, way }: Params<'go_to'> & Destination, signal: AbortSignal): Promise<void> {
    const point = this.#pointOf({ position: teachpoint, way })
    mustStandReady((await this.#where(answer_s)).state)
    signal.throwIfAborted()
    const going = this.#parts.ask('go_to', { position: teachpoint, point, offset_z, speed: slow_percent }, signal)
    await this.#watched(going, signal, slow_s)
    mustStandReady((await this.#where(answer_s)).state, 'go_to is done')
  }

  /** Returns the teachpoint for the program; null if it needs none. Throws if its way needs a skill that the program lacks. */
  #pointOf({ position, way }: Pick<MoveTarget, 'position' | 'way'>): object | null {
    const { points, skills = [] } = this.#parts.description() ?? {}
    if (points === 'own') return null
    if (!way) throw new LabError('not_found', `it has no teachpoint ${position}; teach it that place`)
    const obstacles = obstaclesOn([way], 'it', new Set(skills))
    if (obstacles.length > 0) throw new LabError('invalid', obstacles.join('; '))
    return pointOf(way)
  }

  /** Waits for the end of a move, and asks meanwhile where the transporter is. */
  async #watched(move: Promise<unknown>, signal: AbortSignal, limit_s = this.#parts.move_timeout_s): Promise<void> {
    const over = new AbortController()
    const end = () => over.abort(signal.reason)
    signal.addEventListener('abort', end)
    try {
      await Promise.race([move, this.#watch(over.signal, limit_s)])
    } finally {
      signal.removeEventListener('abort', end)
      over.abort()
    }
  }

  /** Rejects when the program is silent, the transporter is not ready any more, or the move takes too long. */
  async #watch(signal: AbortSignal, limit_s: number): Promise<never> {
    const { clock } = this.#parts
    const latest = clock.now() + limit_s * 1000
    for (;;) {
      await sleep(clock, look_ms, signal)
      if (clock.now() > latest) throw new LabError('no_reply', `it did not arrive within ${limit_s} s; see what it does`)
      mustBeReady((await this.#spoken(signal)).state)
    }
  }

  /** Asks where it is, and asks once more if nothing comes. The program stays connected, so that it hears the halt that follows. */
  async #spoken(signal: AbortSignal): Promise<Where> {
    const first = this.#where()
    const answer = (await this.#soon(first, signal)) ?? (await this.#soon(Promise.race([first, this.#where()]), signal))
    if (answer) return answer
    throw new LabError('no_reply', 'it does not answer while it moves; see its program, its cable and its power, then initialize')
  }

  /** Resolves with the answer, or with undefined if it has not come after `silent_ms`. */
  async #soon(answer: Promise<Where>, signal: AbortSignal): Promise<Where | undefined> {
    const over = new AbortController()
    const end = () => over.abort()
    signal.addEventListener('abort', end)
    try {
      return await Promise.race([answer, sleep(this.#parts.clock, silent_ms, over.signal).then(() => undefined)])
    } finally {
      signal.removeEventListener('abort', end)
      over.abort()
      // The answer may still fail when nobody waits for it.
      answer.catch(() => undefined)
    }
  }

  async #where(deadline_s?: number): Promise<Where> {
    try {
      return checked(Where, await this.#parts.where(deadline_s), 'its answer to where', 'device_failed')
    } catch (error) {
      // A refusal would mean that the instrument has done nothing, which is not known.
      if (isRefusal(error)) throw new LabError('device_failed', `it cannot say where it is: ${messageOf(error)}`, { cause: error })
      throw error
    }
  }
}

/** The limit for `where` outside a move, s. */
const answer_s = 5

function unlessDisconnected(error: unknown): undefined {
  if (error instanceof LabError && error.code === 'disconnected') throw error
}

/** The point as it was taught, with its gateways in the order in which the arm passes them on its way there. */
function pointOf(way: Way): object {
  const { via = [], access } = way
  return { ...spotOf(way), access: access ? { ...noLengths, ...access } : null, gateways: via.map(spotOf) }
}

const noLengths = { vertical_clearance: null, horizontal_clearance: null, gripper_offset: null }

function spotOf(spot: Spot): object {
  const { at: name } = spot
  if ('joints' in spot) return { name, coord_type: 'joint', coords: spot.joints, elbow: null }
  return { name, coord_type: 'cartesian', coords: spot.pose, elbow: spot.elbow ?? null }
}

/** The fault of a transporter that was homed and is in this state. */
const faults: Partial<Record<Where['state'], string>> = {
  error: 'it reports an error; see what is in its way, then initialize',
  unhomed: 'it restarted by itself and has to be homed; see its power supply, and what it held, then initialize',
  stopped: 'somebody stopped it at the arm; see why, then initialize',
}

function mustBeReady(state: Where['state']): void {
  const fault = faults[state]
  if (fault) throw new LabError('device_failed', fault)
}

/** Throws before a move for a transporter that moves, is not homed, or whose gripper cannot do it. */
function mustBeAble(verb: MoveName, { state, gripper }: Where): void {
  if (state === 'moving') throw new LabError('interlock', 'it is moving; wait, or stop it')
  mustBeReady(state)
  const wrong = verb === 'pick' ? 'full' : 'empty'
  if (gripper === wrong) throw new LabError('interlock', `it cannot ${verb}: its gripper is ${gripper}; see where the labware is`)
}

/** Throws unless it stands and is ready. `done` is what its program has said before, as a clause. */
function mustStandReady(state: Where['state'], done?: string): void {
  mustBeReady(state)
  if (state === 'idle') return
  if (!done) throw new LabError('interlock', 'it is moving; wait, or stop it')
  throw new LabError('device_failed', `it says that ${done}, and it still moves; see what it does, then initialize`)
}

/** Throws unless the transporter stands with a gripper that is full after a pick, and empty after a place. */
function mustHaveDone(verb: MoveName, { state, gripper }: Where): void {
  const wanted = verb === 'pick' ? 'full' : 'empty'
  if (state === 'idle' && gripper === wanted) return
  const found = state === 'idle' ? `its gripper is ${gripper ?? 'unknown'}` : `it is ${state}`
  throw new LabError('device_failed', `it says that ${verb} is done, and ${found}; see where the labware is, then initialize`)
}

/** Throws unless a transporter that has refused a move stands with the gripper as it was. */
function mustBeUnchanged(verb: MoveName, before: Where, { state, gripper }: Where): void {
  if (state === before.state && gripper === before.gripper) return
  const found = state === before.state ? `its gripper is ${gripper ?? 'unknown'}` : `it is ${state}`
  throw new LabError('device_failed', `it says that it refused ${verb}, and ${found}; see where the labware is, then initialize`)
}
