// A simulated BioShake: it obeys one command after the other, and simulates faults.

import { Timers } from '../simulated_parts.ts'
import type { InstrumentEnd, MechanicalFault, Simulate, Simulator } from '../transports/simulator.ts'
import { WithMount } from '../with_mount.ts'
import { commandTable, type Instrument, type Respond, shortNames } from './commands.ts'
import { Heater, Motor, PlateLock } from './mechanism.ts'
import { type Model, modelOf, type Settings } from './models.ts'

/** The delay of each answer. */
const answer_ms = 15
/** The most commands that wait. */
const mostWaiting = 16
const longestCommand = 80

/** The error number of each simulated fault. That of a plate lock that is forced open is not known; 303 is similar. */
const faultErrors: Record<MechanicalFault, number> = { jam: 102, overtemperature: 210, interlock_open: 303 }

/** Answers as a BioShake does, on the clock that it is given. */
class SimulatedBioShake extends WithMount<InstrumentEnd<Settings>> implements Simulator {
  readonly #model = modelOf(this.at.settings)
  readonly #motor = new Motor(this.at.clock)
  readonly #lock = new PlateLock(this.at.clock)
  readonly #heater = new Heater(this.at.clock, this.#model.cooling === true)
  readonly #timers = new Timers(this.at.clock)
  readonly #errors = new Set<number>()
  readonly #stored = new Map<string, number>()
  readonly #present = new Set<MechanicalFault>()
  readonly #waiting: string[] = []
  #received = ''
  #answering: Respond | undefined
  #booting = false
  #off = false
  readonly #instrument: Instrument = {
    model: this.#model,
    settings: this.at.settings,
    motor: this.#motor,
    lock: this.#lock,
    heater: this.#heater,
    errors: this.#errors,
    stored: this.#stored,
    canMove: () => !this.#present.has('jam') && !this.#present.has('interlock_open'),
    canHeat: () => !this.#present.has('overtemperature'),
    // Whether a real instrument clears an error by itself is not known.
    recovered: () => {
      this.#errors.clear()
      for (const fault of this.#present) this.#errors.add(faultErrors[fault])
    },
    title: () => [
      'Quantifoil Instruments GmbH',
      `Device:  Q.MTP-BioShake ${this.at.settings.model} (simulated)`,
      'Version: v0.0.0-simulated',
      'Serial:  SIM-0001',
    ],
    restartSoon: () => this.#timers.after(2 * answer_ms, () => this.#restart()),
  }
  readonly #commands = commandTable(this.#instrument)

  receive(bytes: Uint8Array): void {
    if (this.#off || (this.at.baud?.() ?? 9600) !== 9600) return
    this.#received += Buffer.from(bytes).toString('latin1')
    const lines = this.#received.split(/[\r\n]+/)
    this.#received = lines.pop()!.slice(-longestCommand)
    for (const text of lines) if (text) this.#hear(text)
  }

  setFault(fault: MechanicalFault, isPresent: boolean): boolean {
    const can = { jam: this.#model.rpm, overtemperature: this.#model.heating, interlock_open: this.#model.locking }
    if (!can[fault]) return false
    if (isPresent) this.#breakDown(fault)
    else this.#mend(fault)
    return true
  }

  powerOff(): void {
    this.#off = true
    this.#timers.clear()
    this.#motor.halt('loose')
    this.#lock.halt('nowhere')
    this.#heater.set({ on: false })
  }

  get world(): Simulator['world'] {
    return {
      moving: this.#motor.moving || this.#lock.state === 'moving',
      heating: this.#heater.on,
      speed: this.#motor.speed,
      shaker: this.#motor.phase,
      lock: this.#lock.state,
      temperature: this.#heater.temperature,
      errors: [...this.#errors],
    }
  }

  #say(text: string): void {
    if (!this.#off) this.at.send(Buffer.from(`${text}\r\n`, 'latin1'))
  }

  #hear(text: string): void {
    // During the start it answers only the question for its state.
    if (this.#booting && !parse(text).name.startsWith('getShakeState')) return
    if (parse(text).name === 'shakeEmergencyOff') this.#hearEmergency(text)
    else if (this.#waiting.length < mostWaiting) this.#waiting.push(text)
    this.#next()
  }

  /** Obeys an emergency command before all others. It ends the motion, and the command that started the motion is answered `e`. */
  #hearEmergency(text: string): void {
    this.#waiting.unshift(text)
    if (this.#model.rpm) this.#answering?.('e')
  }

  #next(): void {
    if (this.#answering) return
    const text = this.#waiting.shift()
    if (text === undefined) return
    const answer = (reply: string) => {
      if (this.#answering !== answer) return
      this.#timers.after(answer_ms, () => {
        if (this.#answering !== answer) return
        this.#answering = undefined
        this.#say(reply)
        this.#next()
      })
    }
    this.#answering = answer
    this.#obey(text, answer)
  }

  #obey(text: string, answer: Respond): void {
    const { name, argument } = parse(text)
    const reply = this.#refusal(text, name, argument) ?? this.#commands[name]?.run(argument ?? 0, answer)
    if (reply !== undefined) answer(reply)
  }

  #refusal(text: string, name: string, argument: number | undefined): string | undefined {
    const command = this.#commands[name]
    if (!command || (argument !== undefined && !command.takes)) return `u -> ${text}`
    if (this.#motor.phase === 'eco' && name !== 'leaveEcoMode') return 'e'
    if (command.takes && !within(argument, command.takes)) return 'e'
    return undefined
  }

  #restart(): void {
    this.#timers.clear()
    this.#waiting.length = 0
    this.#answering = undefined
    this.#booting = true
    this.#motor.target = 0
    this.#motor.direction = this.#stored.get('ShakeDefaultDirection') ?? 0
    this.#motor.halt('booting')
    this.#heater.set({ on: false })
    const boot_ms = this.#model.boot_s * 1000
    if (this.#stored.get('BootScreen') !== 0) this.#tellStart(boot_ms)
    this.#timers.after(boot_ms, () => this.#started())
  }

  /** Sends the lines of the self test one by one, as recorded from a Q1. */
  #tellStart(boot_ms: number): void {
    for (const text of ['', ...this.#instrument.title(), '', 'Start device self test:', '']) this.#say(text)
    const checks = selfTest(this.#model, this.#heater.temperature)
    for (const [i, text] of checks.entries()) this.#timers.after(((i + 1) / (checks.length + 1)) * boot_ms, () => this.#say(text))
    this.#timers.after(boot_ms, () => {
      this.#say(this.#model.bootEnd)
      this.#say('')
    })
  }

  #started(): void {
    this.#booting = false
    this.#motor.halt('home')
    this.#lock.halt(this.#stored.get('ElmStartupPosition') === 0 ? 'locked' : 'unlocked')
    this.#instrument.recovered()
  }

  #breakDown(fault: MechanicalFault): void {
    this.#present.add(fault)
    this.#errors.add(faultErrors[fault])
    if (fault === 'overtemperature') {
      this.#heater.set({ on: false })
      return
    }
    const interrupted = this.#motor.moving || (fault === 'interlock_open' && this.#lock.state === 'moving')
    if (this.#motor.moving) this.#motor.halt('loose')
    if (fault === 'interlock_open') this.#lock.halt('error')
    if (interrupted) this.#answering?.('e')
  }

  #mend(fault: MechanicalFault): void {
    this.#present.delete(fault)
    if (fault === 'overtemperature') this.#errors.delete(faultErrors[fault])
    if (fault === 'interlock_open') this.#lock.halt('nowhere')
  }
}

export const simulate: Simulate<Settings> = (at) => new SimulatedBioShake(at)

/** Returns the lines of the self test. Those of a Q1 were recorded; those of the other models are invented. */
function selfTest({ heating, cooling, locking, rpm }: Model, temperature: number): string[] {
  const line = (what: string, found = '') => `${`${what} `.padEnd(39, '.')} OK${found}`
  const degrees = ` (T=${temperature.toFixed(1)}\xb0C)`
  return [
    line('Check EEPROM'),
    ...(heating ? [1, 2, 3].map((sensor) => line(`Configure temperature sensor ${sensor}`, degrees)) : []),
    ...(heating ? [line('Check safety temperature sensor', degrees)] : []),
    ...(cooling ? [line('Check TEC power supply', ' (U=20.0V)')] : []),
    line('Check FAN1 speed'),
    line('Check FAN2 speed'),
    ...(rpm && !cooling
      ? ['Check motor', 'Check home position', 'Check speed', 'Check solenoid', 'Check balance'].map((what) => line(what))
      : []),
    ...(locking ? [line('Check ELM')] : []),
  ]
}

/** Splits a command from the number at its end. */
function parse(text: string): { name: string; argument?: number } {
  const [, word = '', digits] = /^(.*?)(-?\d+)?$/.exec(text) ?? []
  const name = shortNames[word] ?? word
  return digits === undefined ? { name } : { name, argument: Number(digits) }
}

function within(value: number | undefined, [least, most]: readonly [number, number]): boolean {
  return value !== undefined && value >= least && value <= most
}
