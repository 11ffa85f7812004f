// A robot arm that carries plates: home, pick and place, over a line protocol of our own (see the README).

import * as v from 'valibot'
import type { Device, Gripper, Identity, Profile } from '../../src/devices/device.ts'
import { type MoveTarget, obstaclesOn, type Skill, type Spot, skills, type Way } from '../../src/devices/way.ts'
import { LabError } from '../../src/errors.ts'
import { sleep } from '../../src/kit/clock.ts'
import { described } from '../../src/kit/described.ts'
import { SerialQueue } from '../../src/kit/serial_queue.ts'
import type { Driver, SerialMount } from '../driver.ts'
import { OperationRunner, unlessAborted } from '../operation_runner.ts'
import { Exchange } from '../transports/exchange.ts'
import { WithMount } from '../with_mount.ts'
import {
  type ArmReply,
  encode,
  errors,
  gatewaysTo,
  moveTo,
  nextAnswer,
  type Pose,
  readSkills,
  readWhere,
  signature,
  type Where,
} from './protocol.ts'
import { simulate } from './simulator.ts'

/** `speed` and `can` are for the simulator; a real arm has its own speed and reports its skills. `move_timeout_s` is the limit of one move. */
const settings = v.strictObject({
  speed: v.optional(
    described(v.pipe(v.number(), v.minValue(1), v.maxValue(2000)), 'Speed of the simulated arm; a real one has its own', 'mm/s'),
    250,
  ),
  can: v.optional(
    described(v.array(v.picklist(Object.keys(skills) as Skill[])), 'The skills of the simulated arm; a real arm names its own'),
    Object.keys(skills) as Skill[],
  ),
  move_timeout_s: v.optional(described(v.pipe(v.number(), v.minValue(1), v.maxValue(600)), 'How long a move may take', 's'), 60),
})
type Settings = v.InferOutput<typeof settings>

/**
 * An arm has moves besides the operations. A move resolves when the plate is gripped or released and the arm has left by the way that it came;
 * it rejects as an operation does.
 */
export type Arm = Device & {
  pick(target: MoveTarget, signal: AbortSignal): Promise<void>
  place(target: MoveTarget, signal: AbortSignal): Promise<void>
}

export const driver = {
  type: 'transporter',
  about: { instrument: 'simulated robot arm, and whatever speaks its line protocol' },
  typical: { initialize_s: 6 },
  settings,
  serial: { baud: 115_200 },
  signature,
  profile,
  open: (at: Omit<SerialMount<Settings>, 'clock'>) => new LineArm(at),
  simulate,
} satisfies Driver<Settings>

export function isArm(device: Device): device is Arm {
  return 'pick' in device && 'place' in device
}

const short_ms = 1000
/** The interval and time limit of the position query during a move. After two missing answers the line counts as lost. */
const look_ms = 500
const mostWaiting = 16

function profile(): Profile {
  return { model: 'arm', limits: {}, features: {} }
}

/** Turns the operations of an arm into lines of its protocol. */
class LineArm extends WithMount<Omit<SerialMount<Settings>, 'clock'>> implements Arm {
  readonly #exchange = new Exchange<ArmReply, string>(this.at.line, {
    framer: nextAnswer,
    encode,
    gap_ms: 5,
    resync: { question: 'where', recognises: ({ verb }) => verb === 'where', deadline_ms: short_ms },
    unsolicited: (answer) => {
      if (!isMove(answer.verb)) return false
      this.#arrived(answer)
      return true
    },
  })
  readonly #runner = new OperationRunner(this.at.line)
  readonly #queue = new SerialQueue(mostWaiting)
  /** Whether the service has homed it, and not stopped it since. An arm that is no longer homed then has a fault. */
  #isHomed = false
  /** Receives the answers to moves. */
  #arrived: (answer: ArmReply) => void = () => {}
  #skills: ReadonlySet<Skill> | null = null
  readonly pick = this.#runner.operation(async (target: MoveTarget, signal) => this.#go('pick', this.#checked(target), signal))
  readonly place = this.#runner.operation(async (target: MoveTarget, signal) => this.#go('place', this.#checked(target), signal))

  get skills(): ReadonlySet<Skill> | null {
    return this.#skills
  }

  /** Throws if the way needs a skill that the arm lacks: an adapter might ignore an unknown word, and move through what the word avoids. */
  #checked({ way, position }: MoveTarget): Way {
    if (!way) throw new LabError('not_found', `it has no teachpoint ${position}; teach it that place`)
    for (const spot of [way, ...(way.via ?? [])]) mustBeNumbers(spot)
    const obstacles = obstaclesOn([way], 'it', this.#skills ?? new Set())
    if (obstacles.length > 0) throw new LabError('invalid', obstacles.join('; '))
    return way
  }

  async #ask(question: string): Promise<ArmReply> {
    const verb = question.split(' ', 1)[0]!
    const answer = await this.#exchange.query(question, { deadline_ms: short_ms, accepts: (frame) => frame.verb === verb })
    if (!answer.ok) throw refusal(verb, answer)
    return answer
  }

  async #where(): Promise<Where> {
    const answer = await this.#ask('where')
    const found = readWhere(answer)
    if (!found)
      throw new LabError('device_failed', `it answered where with ${JSON.stringify(answer.text)}; see that its adapter is the right one`)
    return found
  }

  async identify(): Promise<Identity> {
    const [model = null, serial_number = null, firmware_version = null] = (await this.#ask('who')).text.split(' ').filter(Boolean)
    this.#skills = await this.#askSkills()
    return { model, serial_number, firmware_version }
  }

  /** Asks for the skills. An older adapter refuses the word or is silent, and supports cartesian coordinates only. */
  async #askSkills(): Promise<ReadonlySet<Skill>> {
    const accepts = ({ verb, number }: ArmReply) => verb === 'can' || number === errors.unknown
    const answer = await this.#exchange.probe('can', { deadline_ms: short_ms, accepts })
    if (answer) return readSkills(answer)
    // A silent line must not be taken for an older adapter, because a move may come next.
    await this.#where()
    return new Set()
  }

  async pose(): Promise<Pose> {
    const { state, pose } = await this.#where()
    if (state === 'moving') throw new LabError('interlock', 'it is moving; ask again when it stands')
    return pose
  }

  /** Returns null for an arm that was stopped, has an error or has restarted, since it may have lost its labware. */
  async gripper(): Promise<Gripper | null> {
    const { state, gripper } = await this.#where()
    if (state === 'moving') throw new LabError('interlock', 'it is moving; wait until it stands, and try again')
    return state === 'idle' ? gripper : null
  }

  /** Moves to a point after the present motion has ended. */
  #go(verb: 'pick' | 'place', way: Way, signal: AbortSignal): Promise<void> {
    const gone = this.#queue.run(async () => {
      signal.throwIfAborted()
      await this.#mustStand('wait, or stop it')
      for (const gateway of gatewaysTo(way)) {
        await this.#ask(gateway)
        signal.throwIfAborted()
      }
      await this.#walk(moveTo(verb, way), signal)
    })
    return unlessAborted(gone, signal)
  }

  async #mustStand(remedy: string): Promise<void> {
    if ((await this.#where()).state === 'moving') throw new LabError('interlock', `it is moving; ${remedy}`)
  }

  async #walk(question: string, signal: AbortSignal): Promise<void> {
    const verb = question.split(' ', 1)[0]!
    const latest = this.at.line.clock.now() + this.at.settings.move_timeout_s * 1000
    const ear = this.#listen(verb)
    try {
      signal.throwIfAborted()
      await this.#exchange.tell(question)
      while (!(await this.#hasArrived(verb, await ear.next(signal)))) {
        signal.throwIfAborted()
        if (this.at.line.clock.now() > latest)
          throw new LabError('no_reply', `it did not arrive within ${this.at.settings.move_timeout_s} s; see what it does`)
      }
    } finally {
      this.#arrived = () => {}
    }
  }

  /** Whether the move has ended. An answer during the motion belongs to an earlier move. */
  async #hasArrived(verb: string, answer: ArmReply | undefined): Promise<boolean> {
    if (answer?.ok) return hasDone(verb, await this.#where())
    if (answer) throw refusal(verb, answer)
    await this.#mustSpeak(verb)
    return false
  }

  /** Waits for the answers to a move; undefined if none came within `look_ms`. */
  #listen(verb: string) {
    let said: ArmReply | undefined
    let wake = () => {}
    this.#arrived = (answer) => {
      if (answer.verb === verb) said = answer
      wake()
    }
    return {
      next: async (signal: AbortSignal): Promise<ArmReply | undefined> => {
        signal.throwIfAborted()
        const awake = new AbortController()
        const stir = () => awake.abort()
        wake = stir
        signal.addEventListener('abort', stir)
        if (!said) await sleep(this.at.line.clock, look_ms, awake.signal).catch(() => undefined)
        signal.removeEventListener('abort', stir)
        signal.throwIfAborted()
        const answer = said
        said = undefined
        return answer
      },
    }
  }

  async #mustSpeak(verb: string): Promise<void> {
    const look = { deadline_ms: look_ms, accepts: ({ verb }: ArmReply) => verb === 'where' }
    const answer = (await this.#exchange.probe('where', look)) ?? (await this.#exchange.probe('where', look))
    if (!answer) throw new LabError('no_reply', 'it does not answer while it moves; see its cable and its power, then initialize')
    // After a restart, the arm never answers the move.
    if (verb !== 'home' && readWhere(answer)?.state === 'unhomed') throw restarted()
  }

  readonly initialize = this.#runner.operation(async (_params: object, signal) => {
    await this.#mustStand('wait, or stop it, then initialize')
    this.#isHomed = false
    const identity = await this.identify()
    await unlessAborted(
      this.#queue.run(() => this.#walk('home', signal)),
      signal,
    )
    this.#isHomed = true
    return { identity }
  })

  async check(): Promise<void> {
    const { state } = await this.#where()
    if (state === 'error') throw new LabError('device_failed', 'it reports an error; see what is in its way, then initialize')
    if (this.#isHomed && state === 'unhomed') throw restarted()
    if (this.#isHomed && state === 'stopped')
      throw new LabError('device_failed', 'somebody stopped it at the arm; see why, then initialize')
  }

  async halt(): Promise<void> {
    this.#isHomed = false
    this.#runner.stop()
    this.#exchange.interrupt('stop')
    const { state } = await this.#where()
    if (state === 'moving') throw new LabError('device_failed', 'it still moves after a stop; use its red button')
  }
}

function restarted(): LabError {
  return new LabError(
    'device_failed',
    'it restarted by itself and has to be homed; see its power supply, and what it held, then initialize',
  )
}

/** Whether a move that the arm reports as done has ended. Throws `device_failed` if the state of the arm contradicts the report. */
function hasDone(verb: string, { state, gripper }: Where): boolean {
  if (state === 'moving') return false
  const wanted = verb === 'pick' ? 'full' : verb === 'place' ? 'empty' : gripper
  if (state === 'idle' && gripper === wanted) return true
  const found = state === 'idle' ? `its gripper is ${gripper}` : `it is ${state}`
  throw new LabError('device_failed', `it says that ${verb} is done, and ${found}; see where the labware is, then initialize`)
}

function isMove(verb: string): boolean {
  return verb === 'home' || verb === 'pick' || verb === 'place'
}

function mustBeNumbers(spot: Spot): void {
  const [what, numbers] = 'joints' in spot ? ['joint coordinates', spot.joints] : ['a pose', spot.pose]
  for (const [member, number] of Object.entries(numbers)) {
    if (!Number.isFinite(number)) throw new LabError('invalid', `${member} of ${what} must be a number, not ${number}`)
  }
}

/** Makes the error for an `err`, with a code that says whether anything was done. */
function refusal(verb: string, { number, text }: ArmReply): LabError {
  const sentence = `it refused ${verb}: ${text}`
  switch (number) {
    case errors.parameter:
      return new LabError('invalid', `${sentence}; see the teachpoint`)
    case errors.unhomed:
      return new LabError('not_initialized', `${sentence}; initialize it`)
    case errors.busy:
    case errors.gripper:
      return new LabError('interlock', sentence)
    default:
      return new LabError('device_failed', `${verb} failed: ${text}; see to it, then initialize`)
  }
}
