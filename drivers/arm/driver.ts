// A robot arm that carries plates: home, pick and place, over a line protocol of our own (see the README).

import * as v from 'valibot'
import { jogged } from '../../src/devices/axes.ts'
import type { Device, EndedEarly, Given, Gripper, Identity, Profile } from '../../src/devices/device.ts'
import type { Params } from '../../src/devices/operations.ts'
import { type MoveTarget, obstaclesOn, type Skill, type Spot, skills, type Way } from '../../src/devices/way.ts'
import { LabError } from '../../src/errors.ts'
import { described } from '../../src/kit/described.ts'
import { SerialQueue } from '../../src/kit/serial_queue.ts'
import type { Driver, SerialMount } from '../driver.ts'
import { OperationRunner, unlessAborted } from '../operation_runner.ts'
import { Exchange } from '../transports/exchange.ts'
import { WithMount } from '../with_mount.ts'
import {
  type ArmReply,
  axes,
  encode,
  errors,
  gatewaysTo,
  jogOf,
  type Motion,
  motions,
  moveTo,
  nextAnswer,
  type Pose,
  readMotions,
  readSkills,
  readWhere,
  signature,
  type Where,
} from './protocol.ts'
import { simulate } from './simulator.ts'

const allSkills = [...(Object.keys(skills) as Skill[]), ...Object.values(motions)]

/** `speed` and `can` are for the simulator; a real arm has its own speed and reports its skills. `move_timeout_s` is the limit of one move. */
const settings = v.strictObject({
  speed: v.optional(
    described(v.pipe(v.number(), v.minValue(1), v.maxValue(2000)), 'Speed of the simulated arm; a real one has its own', 'mm/s'),
    250,
  ),
  can: v.optional(described(v.array(v.picklist(allSkills)), 'The skills of the simulated arm; a real arm names its own'), [...allSkills]),
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
  // A short operation would be over before a test looks.
  trial: { pace: 5 },
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
/** The interval of the position query while it is jogged or led by hand. An adapter ends that when it has heard nothing for 250 ms. */
const hold_ms = 80
const mostWaiting = 16
/** A `go` is at least so much slower than a move with labware, which may take `move_timeout_s`. */
const slower = 5
const mostSeconds = 600

function profile(): Profile {
  return { model: 'arm', limits: {}, features: {}, ends_early: ['jog', 'free_drive'] }
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
  #motions: ReadonlyMap<Motion, readonly string[]> | null = null
  /** Whether it is jogged or led by hand. */
  #isHeld = false
  readonly #jog = this.#runner.operation(async (params: Params<'jog'>, signal) => this.#jogged(params, signal))
  readonly #freeDrive = this.#runner.operation(async (_params: object, signal) => this.#led(signal))
  readonly #goTo = this.#runner.operation(async (params: Given<'go_to'>, signal) => this.#wentTo(params, signal))
  readonly pick = this.#runner.operation(async (target: MoveTarget, signal) => this.#go('pick', this.#checked(target), signal))
  readonly place = this.#runner.operation(async (target: MoveTarget, signal) => this.#go('place', this.#checked(target), signal))

  get skills(): ReadonlySet<Skill> | null {
    return this.#skills
  }

  get jog() {
    return this.#motions?.has('jog') ? this.#jog : undefined
  }

  get free_drive() {
    return this.#motions?.has('free_drive') ? this.#freeDrive : undefined
  }

  get go_to() {
    return this.#motions?.has('go_to') ? this.#goTo : undefined
  }

  get choices() {
    return { axis: this.#motions?.get('jog') ?? [] }
  }

  lacks(operation: string): string | undefined {
    if (!Object.hasOwn(motions, operation)) return undefined
    if (!this.#motions) return 'it has not been connected, so that nobody knows what its adapter can do; connect it'
    return `its adapter has no skill ${motions[operation as Motion]}; extend it (drivers/arm/README.md says how)`
  }

  /** Throws if the way needs a skill that the arm lacks: an adapter might ignore an unknown word, and move through what the word avoids. */
  #checked({ way, position }: Pick<MoveTarget, 'way' | 'position'>): Way {
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
    await this.#askSkills()
    return { model, serial_number, firmware_version }
  }

  /** Asks for the skills. An older adapter refuses the word or is silent, and supports cartesian coordinates only. */
  async #askSkills(): Promise<void> {
    const accepts = ({ verb, number }: ArmReply) => verb === 'can' || number === errors.unknown
    const answer = await this.#exchange.probe('can', { deadline_ms: short_ms, accepts })
    // A silent line must not be taken for an older adapter, because a move may come next.
    if (!answer) await this.#where()
    this.#skills = answer ? readSkills(answer) : new Set()
    this.#motions = answer ? readMotions(answer) : new Map()
  }

  /** Is told also while a person jogs it or leads it by hand. */
  async pose(): Promise<Pose> {
    const { state, pose } = await this.#where()
    if (state === 'moving' && !this.#isHeld) throw new LabError('interlock', 'it is moving; ask again when it stands')
    return pose
  }

  /** Returns null for an arm that was stopped, has an error or has restarted, since it may have lost its labware. */
  async gripper(): Promise<Gripper | null> {
    const { state, gripper } = await this.#where()
    if (state === 'moving') throw new LabError('interlock', 'it is moving; wait until it stands, and try again')
    return state === 'idle' ? gripper : null
  }

  async #jogged(params: Params<'jog'>, signal: AbortSignal): Promise<string> {
    const { axis } = params
    const before = await this.#mustStand('wait, or stop it')
    const { pose } = await this.#hold(jogOf(params), signal)
    const along = axes.find((one) => one === axis)
    return jogged(axis, along ? pose[along] - before.pose[along] : null)
  }

  async #led(signal: AbortSignal): Promise<undefined> {
    await this.#mustStand('wait, or stop it')
    await this.#hold(motions.free_drive, signal)
  }

  async #wentTo({ teachpoint, offset_z = 0, way }: Given<'go_to'>, signal: AbortSignal): Promise<void> {
    await this.#go(motions.go_to, this.#checked({ way, position: teachpoint }), signal, offset_z)
  }

  /** Begins a motion that lasts until `end`, until the adapter ends it, or until the adapter has heard nothing. Returns where the arm stands then. */
  async #hold(question: string, signal: AbortSignal): Promise<Where> {
    const verb = question.split(' ', 1)[0]!
    const { early } = this.#runner
    const ear = this.#listen(verb)
    try {
      signal.throwIfAborted()
      if (await early.carriedOut({ seconds_left: 0, going: signal }, async () => {})) return await this.#where()
      this.#isHeld = true
      await this.#exchange.tell(question)
      for (;;) {
        const answer = await ear.next(signal, hold_ms)
        if (answer && !answer.ok) throw refusal(verb, answer)
        if (!answer && early.isAsked) await early.carriedOut({ seconds_left: 0, going: signal }, () => this.#ask('end'))
        const where = await this.#where()
        signal.throwIfAborted()
        if (where.state === 'idle') return where
        if (where.state !== 'moving') throw new LabError('device_failed', `it is ${where.state} after ${verb}; see to it, then initialize`)
      }
    } finally {
      this.#isHeld = false
      this.#arrived = () => {}
    }
  }

  /** Ends a jog or a free drive without a stop. */
  end(): Promise<EndedEarly> {
    return this.#runner.early.ask()
  }

  /** Moves to a point after the present motion has ended. */
  #go(verb: 'pick' | 'place' | 'go', way: Way, signal: AbortSignal, above = 0): Promise<void> {
    const move = above > 0 ? `${moveTo(verb, way)} above ${above.toFixed(3)}` : moveTo(verb, way)
    const gone = this.#queue.run(async () => {
      signal.throwIfAborted()
      await this.#mustStand('wait, or stop it')
      for (const gateway of gatewaysTo(way)) {
        await this.#ask(gateway)
        signal.throwIfAborted()
      }
      await this.#walk(move, signal)
    })
    return unlessAborted(gone, signal)
  }

  async #mustStand(remedy: string): Promise<Where> {
    const where = await this.#where()
    if (where.state === 'moving') throw new LabError('interlock', `it is moving; ${remedy}`)
    return where
  }

  async #walk(question: string, signal: AbortSignal): Promise<void> {
    const verb = question.split(' ', 1)[0]!
    const { move_timeout_s } = this.at.settings
    const longest_s = verb === motions.go_to ? Math.min(mostSeconds, slower * move_timeout_s) : move_timeout_s
    const latest = this.at.line.clock.now() + longest_s * 1000
    const ear = this.#listen(verb)
    try {
      signal.throwIfAborted()
      await this.#exchange.tell(question)
      while (!(await this.#hasArrived(verb, await ear.next(signal)))) {
        signal.throwIfAborted()
        if (this.at.line.clock.now() > latest) throw new LabError('no_reply', `it did not arrive within ${longest_s} s; see what it does`)
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

  /** Waits for the answers to a move; undefined if none came within `ms`, or somebody asks to end it. */
  #listen(verb: string) {
    let said: ArmReply | undefined
    let wake = () => {}
    this.#arrived = (answer) => {
      if (answer.verb === verb) said = answer
      wake()
    }
    return {
      next: async (signal: AbortSignal, ms = look_ms): Promise<ArmReply | undefined> => {
        signal.throwIfAborted()
        const awake = new AbortController()
        const stir = () => awake.abort()
        wake = stir
        signal.addEventListener('abort', stir)
        if (!said) await this.#runner.early.sleep(this.at.line.clock, ms, awake.signal).catch(() => undefined)
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
  return ['home', 'pick', 'place', ...Object.values(motions)].includes(verb)
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
      return new LabError('invalid', `${sentence}; ${verb === motions.jog ? 'jog another way' : 'see the teachpoint'}`)
    case errors.unhomed:
      return new LabError('not_initialized', `${sentence}; initialize it`)
    case errors.busy:
    case errors.gripper:
      return new LabError('interlock', sentence)
    default:
      return new LabError('device_failed', `${verb} failed: ${text}; see to it, then initialize`)
  }
}
