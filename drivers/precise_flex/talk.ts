// Questions and commands to the controller of a PreciseFlex, and what their replies mean.

import type { Identity } from '../../src/devices/device.ts'
import type { Pose } from '../../src/devices/reading_table.ts'
import type { Side } from '../../src/devices/way.ts'
import { refused, reports } from '../reported.ts'
import { Exchange } from '../transports/exchange.ts'
import type { Line } from '../transports/line.ts'
import { errors, unreachable } from './errors.ts'
import {
  type Axes,
  encode,
  halt,
  has,
  isDone,
  isError,
  isFlag,
  isState,
  isText,
  nextReply,
  numbersIn,
  type Reply,
  sideOf,
  signature,
} from './protocol.ts'
import type { Settings } from './settings.ts'

const short_ms = 1000
/** Does nothing, and is refused with the error that the robot has met. */
const noOperation = 'nop'
/** The numbers of the parameters that are read. */
const parameters = { name: 2002, homed: 2800, serialNumber: 16000 }

type Command = { question: string; deadline_ms?: number; accepts?(reply: Reply): boolean }

/** Speaks with the controller. One command is under way at a time: no motion is ever queued behind another. */
export class Talk {
  /** Whether the operation under way has moved anything. What is refused before that has done nothing. */
  hasMoved = false
  /** Whether the controller works on a command that keeps it from hearing anything else. */
  isParked = false
  readonly #settings: Settings
  /** The answer to `version`; null until this connection answers in PC mode, for the robot of the settings. */
  #version: string | null = null
  readonly #exchange: Exchange<Reply, string>

  constructor(line: Line, settings: Settings) {
    this.#settings = settings
    // A reply does not name its command. The answer to `Speed` has a form that no other answer has, and begins with the number of the profile.
    this.#exchange = new Exchange<Reply, string>(line, {
      framer: nextReply,
      encode,
      gap_ms: 5,
      resync: {
        question: `Speed ${settings.approach_profile}`,
        recognises: (reply) => has(2)(reply) && numbersIn(reply)[0] === settings.approach_profile,
        deadline_ms: short_ms,
        second: { question: 'sysState', recognises: isState },
      },
    })
    line.onLost(() => {
      this.#version = null
      this.isParked = false
    })
  }

  /** Writes the stop at once. What waits for an answer rejects. */
  interrupt(): void {
    this.#exchange.interrupt(halt)
  }

  async where(): Promise<Axes> {
    return this.#numbers('wherej', this.#settings.rail ? 6 : 5)
  }

  /** Returns the goal of the last motion, in axes. */
  async goal(): Promise<Axes> {
    return this.#numbers('destJ 1', this.#settings.rail ? 6 : 5)
  }

  async pose(): Promise<Pose> {
    return (await this.spot()).pose
  }

  /** Returns where the hand is, and to which side the elbow bends. */
  async spot(): Promise<{ pose: Pose; elbow: Side }> {
    type Seven = [number, number, number, number, number, number, number]
    const [x, y, z, yaw, pitch, roll, config] = (await this.#numbers('wherec', 7)) as Seven
    return { pose: { x, y, z, yaw, pitch, roll }, elbow: sideOf(config) }
  }

  async state(): Promise<number> {
    return numbersIn(await this.#ask('sysState', isState))[0]!
  }

  async isAttached(): Promise<boolean> {
    return numbersIn(await this.#ask('attach', isFlag))[0] !== 0
  }

  async isHomed(): Promise<boolean> {
    return numbersIn(await this.#ask(`pd ${parameters.homed}`, isFlag))[0] === 1
  }

  /** Rejects with the error that the robot has met since the last command. */
  async mustBeWell(): Promise<void> {
    await this.#ask(noOperation, isDone)
  }

  async identity(): Promise<Identity> {
    this.#version = null
    const [firmware_version = null] = (await this.#greeted()).split(',')
    const model = await this.#parameter(parameters.name)
    return { model, serial_number: await this.#parameter(parameters.serialNumber), firmware_version }
  }

  /** Gives a command once. A command that moves the arm is replied to as soon as the motion begins. */
  async command({ question, deadline_ms = short_ms, accepts = isDone }: Command, signal: AbortSignal): Promise<Reply> {
    await this.#greeted()
    signal.throwIfAborted()
    return this.#accepted(question, await this.#exchange.command(question, { deadline_ms, accepts: orError(accepts) }))
  }

  /** Gives a command that the controller replies to when it has ended. Until then it hears nothing else, and no stop. */
  async parkingCommand(command: Command, signal: AbortSignal): Promise<Reply> {
    this.isParked = true
    const reply = await this.command(command, signal)
    this.isParked = false
    return reply
  }

  async #numbers(question: string, count: number): Promise<number[]> {
    return numbersIn(await this.#ask(question, has(count)))
  }

  async #parameter(number: number): Promise<string | null> {
    const text = (await this.#ask(`pd ${number}`, isText)).text.replaceAll('"', '').trim()
    return text === '' ? null : text
  }

  async #ask(question: string, accepts: (reply: Reply) => boolean): Promise<Reply> {
    await this.#greeted()
    const reply = await this.#exchange.query(question, { deadline_ms: short_ms, accepts: orError(accepts) })
    this.isParked = false
    return this.#accepted(question, reply)
  }

  #accepted(question: string, reply: Reply): Reply {
    if (!isError(reply)) return reply
    if (question === noOperation) throw reports(errors, [reply.code!])
    const [verb = ''] = question.split(' ', 1)
    const isHarmless = !this.hasMoved && unreachable.has(reply.code!)
    throw refused(errors, verb, [reply.code!], isHarmless ? 'invalid' : 'device_failed')
  }

  /** Begins the connection, and returns the version. `version` is first, since no instrument of another kind answers it so. */
  async #greeted(): Promise<string> {
    if (this.#version !== null) return this.#version
    const { text } = await this.#exchange.query('version', { deadline_ms: short_ms, accepts: ({ text }) => signature.test(text) })
    for (const question of ['mode 0', `selectRobot ${this.#settings.robot}`]) {
      this.#accepted(question, await this.#exchange.query(question, { deadline_ms: short_ms, accepts: orError(isDone) }))
    }
    this.#version = text
    return text
  }
}

function orError(accepts: (reply: Reply) => boolean): (reply: Reply) => boolean {
  return (reply) => isError(reply) || accepts(reply)
}
