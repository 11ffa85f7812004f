// A simulated MicroSpin: it serves several clients, each with one command at a time, and a rotor that takes its time.

import { Timers } from '../simulated_parts.ts'
import { lineReader } from '../text_lines.ts'
import type { InstrumentEnd, MechanicalFault, Simulate, Simulator } from '../transports/simulator.ts'
import { WithMount } from '../with_mount.ts'
import type { Settings } from './settings.ts'

const answer_ms = 5
const longest = 200
const home_ms = 8000
const open_ms = 4000
const close_ms = 2000
const jammed_ms = 500
/** The time in which the rotor gains its highest speed, and in which an abort takes that away. */
const rampUp_ms = 12_000
const rampDown_ms = 17_000
const abort_ms = 40_000
const mostG = 3000
const mostErrors = 10
const badParameter = -12
/** The number of the error of a rotor that is held fast. */
const held = -40
const door = { closed: -258, open: 19_242 }

const aliases: Readonly<Record<string, string>> = {
  ...{ a: 'abort', cba: 'clearbuttonabort', e: 'errors', hss: 'homedstatus', s: 'status', sp: 'spin', v: 'version' },
}
/** The commands that `help` explains. */
const commands = ['clearbuttonabort', 'errors', 'help', 'version', 'whoami', 'abort', 'home', 'homedstatus', 'open', 'spin', 'status']

type Client = { read: (bytes: Uint8Array) => string[]; waiting: string[]; isBusy: boolean }
type Served = { connection: number; line: string; id: number }
/** A motion; `speed` is the part of the highest speed at which the rotor turns. */
type Motion = Served & { speed: number; ended(): void }
type Outcome = 'OK' | 'ERROR' | 'ABORTED'

/** Answers as a MicroSpin does, on the clock that it is given. */
class SimulatedMicroSpin extends WithMount<InstrumentEnd<Settings>> implements Simulator {
  readonly #clients = new Map<number, Client>()
  readonly #answers = new Timers(this.at.clock)
  readonly #motions = new Timers(this.at.clock)
  readonly #errors: string[] = []
  /** The questions that are answered when the rotor stands. */
  #asking: Served[] = []
  #motion: Motion | undefined
  #restsAt = 0
  #newest = 0
  #isHomed = false
  #isLatched = false
  #isPressed = false
  #isJammed = false
  #isOff = false
  #bucket: number | null = null
  #door: keyof typeof door = 'closed'

  receive(bytes: Uint8Array, connection = 0): void {
    if (this.#isOff) return
    const client = this.#clientOf(connection)
    for (const line of client.read(bytes)) {
      client.waiting.push(line)
      this.#answers.after(answer_ms, () => this.#serve(connection))
    }
  }

  setFault(fault: MechanicalFault, isPresent: boolean): boolean {
    if (fault === 'overtemperature') return false
    if (fault === 'jam') this.#isJammed = isPresent
    else this.#isPressed = isPresent
    if (!isPresent) return true
    if (fault === 'jam') this.#breakDown()
    else this.#abort()
    return true
  }

  powerOff(): void {
    this.#isOff = true
    this.#answers.clear()
    this.#motions.clear()
    this.#motion = undefined
    this.#restsAt = 0
  }

  get world(): Simulator['world'] {
    return {
      moving: this.#isMoving,
      heating: false,
      homed: this.#isHomed,
      latched: this.#isLatched,
      door: this.#door,
      bucket: this.#bucket,
    }
  }

  get #isMoving(): boolean {
    return this.#motion !== undefined || this.at.clock.now() < this.#restsAt
  }

  #clientOf(connection: number): Client {
    const client = this.#clients.get(connection) ?? { read: lineReader(longest), waiting: [], isBusy: false }
    this.#clients.set(connection, client)
    return client
  }

  /** Serves the next command of a client, unless the one before has not ended. */
  #serve(connection: number): void {
    const client = this.#clientOf(connection)
    const line = client.isBusy ? undefined : client.waiting.shift()
    if (line === undefined) return
    client.isBusy = true
    const served = { connection, line, id: ++this.#newest }
    this.#say(connection, [`ACK! ${line} ${served.id}`])
    const [word = '', ...args] = line.split(/ +/)
    this.#obey(aliases[word] ?? word, args, served)
  }

  #obey(command: string, args: readonly string[], served: Served): void {
    const numbers = args.map(Number)
    if (command === 'version') this.#end(served, 'OK', report)
    else if (command === 'homedstatus') this.#end(served, 'OK', [this.#isHomed ? 'homed' : 'not homed'])
    else if (command === 'status') this.#answerAtRest(served)
    else if (command === 'whoami') this.#end(served, 'OK', [`${served.connection + 1}`])
    else if (command === 'errors') this.#end(served, 'OK', this.#errors.slice(-(numbers[0] ?? mostErrors)))
    else if (command === 'help' && commands.includes(aliases[args[0]!] ?? args[0]!)) this.#end(served, 'OK', [`${args[0]} - a command`, ''])
    else if (command === 'clearbuttonabort') this.#enable(served)
    else if (command === 'abort') this.#stop(served)
    else if (command === 'home') this.#begin(served, { mustBeHomed: false }, () => this.#goHome(served))
    else if (command === 'open' && [1, 2].includes(numbers[0]!)) this.#begin(served, {}, () => this.#present(served, numbers[0]!))
    else if (command === 'spin' && isSpin(numbers)) this.#begin(served, {}, () => this.#spin(served, numbers))
    else
      this.#refuse(served, commands.includes(command) ? `Bad parameters for command "${command}".` : `Command "${command}" not recognized!`)
  }

  #begin(served: Served, { mustBeHomed = true }, move: () => void): void {
    if (this.#isLatched || this.#isPressed) this.#end(served, 'ABORTED')
    else if (this.#isMoving) this.#refuse(served, 'machine is busy')
    else if (mustBeHomed && !this.#isHomed) this.#refuse(served, 'device is not homed')
    else move()
    if (this.#motion === undefined || !this.#isJammed) return
    this.#motions.clear()
    this.#motions.after(jammed_ms, () => this.#breakDown())
  }

  /** Moves for a while, turning at a part of the highest speed. */
  #go(served: Served, { ms, speed, ended }: { ms: number; speed: number; ended(): void }): void {
    this.#motion = { ...served, speed, ended }
    this.#motions.after(ms, () => {
      this.#motion = undefined
      ended()
      this.#end(served, 'OK')
      this.#rest()
    })
  }

  #goHome(served: Served): void {
    this.#isHomed = false
    const ended = () => {
      this.#isHomed = true
      this.#door = 'closed'
      this.#bucket = null
    }
    this.#go(served, { ms: home_ms, speed: 0, ended })
  }

  #present(served: Served, bucket: number): void {
    const ended = () => {
      this.#bucket = bucket
      this.#door = 'open'
    }
    this.#go(served, { ms: open_ms, speed: 0, ended })
  }

  #spin(served: Served, [g = 0, up = 0, down = 0, seconds = 0]: readonly number[]): void {
    const speed = Math.sqrt(g / mostG)
    const closing = this.#door === 'open' ? close_ms : 0
    const ms = closing + (rampUp_ms * speed * 100) / up + 1000 * seconds + rampDown_ms * speed * (100 / down) ** 2
    this.#door = 'closed'
    this.#bucket = null
    this.#go(served, { ms, speed, ended: () => undefined })
  }

  #stop(served: Served): void {
    this.#abort()
    this.#end(served, 'OK', ['Issue the "clearbuttonabort" (cba) command to re-enable the machine'])
  }

  #enable(served: Served): void {
    this.#isLatched = false
    this.#end(served, 'OK')
  }

  /** Ends the motion; the rotor slows down. */
  #abort(): void {
    this.#isLatched = true
    this.#interrupt('ABORTED')
  }

  /** Ends the motion with an error; the rotor has to find home again. */
  #breakDown(): void {
    if (!this.#motion) return
    this.#isHomed = false
    this.#push(held, 'Spindle following error')
    this.#interrupt('ERROR', this.#dump())
  }

  #interrupt(outcome: Outcome, lines: readonly string[] = []): void {
    const motion = this.#motion
    if (!motion) return
    this.#motions.clear()
    this.#motion = undefined
    this.#restsAt = this.at.clock.now() + abort_ms * motion.speed
    this.#motions.after(abort_ms * motion.speed, () => this.#rest())
    this.#end(motion, outcome, lines)
  }

  #answerAtRest(served: Served): void {
    this.#asking.push(served)
    if (!this.#isMoving) this.#rest()
  }

  #rest(): void {
    for (const served of this.#asking.splice(0)) this.#end(served, 'OK', ['Spindle Position: 1958', `Door Position: ${door[this.#door]}`])
  }

  #refuse(served: Served, text: string): void {
    this.#push(badParameter, text)
    this.#end(served, 'ERROR', this.#dump())
  }

  #push(code: number, text: string): void {
    const time = new Date(this.at.clock.now()).toISOString().slice(11, 19)
    this.#errors.push(`Error ${this.#errors.length + 1}: (${time}) ${code}: ${text}`)
  }

  #dump(): string[] {
    return this.#errors.slice(-mostErrors)
  }

  #end({ connection, line, id }: Served, outcome: Outcome, lines: readonly string[] = []): void {
    this.#say(connection, [...lines, `${outcome}! ${line} ${id}`])
    this.#clientOf(connection).isBusy = false
    this.#answers.after(answer_ms, () => this.#serve(connection))
  }

  #say(connection: number, lines: readonly string[]): void {
    this.at.send(Buffer.from(lines.map((line) => `${line}\r\n`).join(''), 'latin1'), connection)
  }
}

const report = [
  'Product Name: MicroSpin simulated',
  'Serial Number: SIM-0001',
  'Firmware Revision:     4290',
  'Version:               MS-1.3.3-simulated',
]

function isSpin(numbers: readonly number[]): boolean {
  const [g = 0, up = 0, down = 0, seconds = 0] = numbers
  const isWhole = numbers.length === 4 && numbers.every(Number.isInteger)
  return isWhole && g >= 1 && g <= mostG && up >= 1 && up <= 100 && down >= 1 && down <= 100 && seconds >= 1
}

export const simulate: Simulate<Settings> = (at) => new SimulatedMicroSpin(at)
