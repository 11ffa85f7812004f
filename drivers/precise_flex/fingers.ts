// The gripper of a PreciseFlex: its fingers open and close by commands of the PARobot module, or as axis 5 of the robot.

import type { CarriedLabware } from '../../src/devices/way.ts'
import { LabError } from '../../src/errors.ts'
import { fingerAxis, isFlag, moveOneAxis, numbersIn, written } from './protocol.ts'
import type { Settings } from './settings.ts'
import type { Talk } from './talk.ts'

/** The longest time that the fingers need. Meanwhile the controller hears nothing. */
const fingers_ms = 10_000
/** Fingers that stand at least so far from their goal are held apart by labware, in mm. */
const heldApart = 0.5

/** The most by which a goal that presses labware lies below where the labware keeps the fingers, in mm. */
const mostPressing = 15

/** Moves the finger axis to a goal, and returns where it stands then. */
type Glide = (question: string, signal: AbortSignal) => Promise<number>

export class Fingers {
  readonly #talk: Talk
  readonly #settings: Settings
  readonly #glide: Glide
  /** The goal that presses the fingers to the labware that they hold. */
  #pressing = Number.POSITIVE_INFINITY

  constructor(talk: Talk, settings: Settings, glide: Glide) {
    this.#talk = talk
    this.#settings = settings
    this.#glide = glide
  }

  /** Whether they have gripped something since `forget`. */
  get hold(): boolean {
    return this.#pressing < Number.POSITIVE_INFINITY
  }

  /** Forgets what they hold, since a person may have taken it out. */
  forget(): void {
    this.#pressing = Number.POSITIVE_INFINITY
  }

  /**
   * Returns where the fingers go while the arm moves: never further apart than they are, and while they hold labware on to the goal that presses
   * them. A motion to where they stand would end the force.
   */
  async goal(): Promise<number> {
    const here = (await this.#talk.where())[fingerAxis - 1]!
    const goal = (await this.#talk.goal())[fingerAxis - 1]!
    // After a restart of the service the goal of the last motion is all that is known of the force. A goal far away presses nothing.
    return Math.min(here, here - goal > mostPressing ? here : goal, this.#pressing)
  }

  /** Whether the fingers stand too far apart to hold the labware. Fingers that are closer prove nothing, since a grip that found nothing ends there, too. */
  async areTooFarApart(labware: CarriedLabware): Promise<boolean> {
    const apart = (await this.#talk.where())[fingerAxis - 1]! - this.#axisAt(this.#widthOf(labware))
    return apart > this.#settings.open_by / 2
  }

  /** Opens the empty fingers for the labware. */
  async open(labware: CarriedLabware, signal: AbortSignal): Promise<void> {
    if (this.#settings.gripper === 'axis') return this.#openAxis(labware, signal)
    await this.#talk.command({ question: `GripOpenPos ${written(this.#axisAt(this.#openWidth(labware)))}` }, signal)
    await this.#parking('gripper 1', signal)
  }

  /** Grips, and returns whether there is anything between the fingers. */
  async grip(labware: CarriedLabware, signal: AbortSignal): Promise<boolean> {
    const holds = await this.#close(labware, signal)
    if (holds) this.#pressing = await this.goal()
    return holds
  }

  async #close(labware: CarriedLabware, signal: AbortSignal): Promise<boolean> {
    const { gripper, grip_force, finger_speed, squeeze } = this.#settings
    const width = this.#widthOf(labware)
    if (gripper === 'axis') {
      const goal = this.#axisAt(width - squeeze)
      return (await this.#moveAxis(goal, signal)) - goal >= heldApart
    }
    const force = labware.grip?.force ?? grip_force
    const reply = await this.#parking(`GraspPlate ${written(width)} ${finger_speed} ${written(force)}`, signal, isFlag)
    return numbersIn(reply)[0] === -1
  }

  /** Opens the fingers around labware that they hold, and ends their force. */
  async release(labware: CarriedLabware, signal: AbortSignal): Promise<void> {
    this.forget()
    if (this.#settings.gripper === 'axis') return this.#openAxis(labware, signal)
    await this.#parking(`ReleasePlate ${written(this.#openWidth(labware))} ${this.#settings.finger_speed}`, signal)
  }

  async #openAxis(labware: CarriedLabware, signal: AbortSignal): Promise<void> {
    const goal = this.#axisAt(this.#openWidth(labware))
    if (Math.abs((await this.#moveAxis(goal, signal)) - goal) < heldApart) return
    throw new LabError('device_failed', 'its fingers did not open; see what holds them, then initialize')
  }

  async #moveAxis(goal: number, signal: AbortSignal): Promise<number> {
    return this.#glide(moveOneAxis(fingerAxis, goal, this.#settings.profile), signal)
  }

  async #parking(question: string, signal: AbortSignal, accepts?: Parameters<Talk['command']>[0]['accepts']) {
    const reply = await this.#talk.parkingCommand({ question, deadline_ms: fingers_ms, ...(accepts && { accepts }) }, signal)
    this.#talk.hasMoved = true
    return reply
  }

  #widthOf({ grip }: CarriedLabware): number {
    return grip?.width ?? this.#settings.grip_width
  }

  #openWidth(labware: CarriedLabware): number {
    return this.#widthOf(labware) + this.#settings.open_by
  }

  #axisAt(width: number): number {
    return width + this.#settings.finger_offset
  }
}
