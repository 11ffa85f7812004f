// A BioShake that is not there: hears what its host says, one command after the other, and can be broken.

import { Timers } from '../simulated_parts.ts'
import type { MechanicalFault, Simulate, Simulator } from '../transports/simulator.ts'
import { type Answer, commandTable, type Instrument, shortNames } from './commands.ts'
import { Heater, Motor, PlateLock } from './mechanism.ts'
import { type Model, modelOf, type Settings } from './models.ts'

/** Thinks this long before each answer. */
const answer_ms = 15
/** A serial buffer, not a memory. */
const mostWaiting = 16
const longestCommand = 80

/** The error that a fault becomes. What a real one reports when its plate lock is forced open is not known; 303 is near. */
const faultErrors: Record<MechanicalFault, number> = { jam: 102, overtemperature: 210, interlock_open: 303 }

export const simulate: Simulate<Settings> = ({ send, clock, settings, baud = () => 9600 }): Simulator => {
  const model = modelOf(settings)
  const motor = new Motor(clock)
  const lock = new PlateLock(clock)
  const heater = new Heater(clock, model.cooling === true)
  const title = `Q.MTP-BioShake ${settings.model} (simulated)`
  const errors = new Set<number>()
  const kept = new Map<string, number>()
  const timers = new Timers(clock)
  const present = new Set<MechanicalFault>()
  const waiting: string[] = []
  let received = ''
  let answering: Answer | undefined
  let booting = false
  let off = false

  const instrument: Instrument = {
    model,
    settings,
    motor,
    lock,
    heater,
    errors,
    kept,
    canMove: () => !present.has('jam') && !present.has('interlock_open'),
    canHeat: () => !present.has('overtemperature'),
    // Whether the real one forgets an error by itself is not known.
    recovered() {
      errors.clear()
      for (const fault of present) errors.add(faultErrors[fault])
    },
    title: () => ['Quantifoil Instruments GmbH', `Device:  ${title}`, 'Version: v0.0.0-simulated', 'Serial:  SIM-0001'],
    restartSoon: () => timers.after(2 * answer_ms, restart),
  }
  const commands = commandTable(instrument)

  function say(text: string): void {
    if (!off) send(Buffer.from(`${text}\r\n`, 'latin1'))
  }

  function hear(text: string): void {
    // While it starts it tells that it does, and nothing else.
    if (booting && !parse(text).name.startsWith('getShakeState')) return
    if (parse(text).name === 'shakeEmergencyOff') hearEmergency(text)
    else if (waiting.length < mostWaiting) waiting.push(text)
    next()
  }

  /** Goes before all else; a motion that is under way is cut short, and whoever waits for its end is told `e`. */
  function hearEmergency(text: string): void {
    waiting.unshift(text)
    if (model.rpm) answering?.('e')
  }

  function next(): void {
    if (answering) return
    const text = waiting.shift()
    if (text === undefined) return
    const answer = (reply: string) => {
      if (answering !== answer) return
      timers.after(answer_ms, () => {
        if (answering !== answer) return
        answering = undefined
        say(reply)
        next()
      })
    }
    answering = answer
    obey(text, answer)
  }

  function obey(text: string, answer: Answer): void {
    const { name, argument } = parse(text)
    const reply = refusal(text, name, argument) ?? commands[name]?.run(argument ?? 0, answer)
    if (reply !== undefined) answer(reply)
  }

  function refusal(text: string, name: string, argument: number | undefined): string | undefined {
    const command = commands[name]
    if (!command || (argument !== undefined && !command.takes)) return `u -> ${text}`
    if (motor.phase === 'eco' && name !== 'leaveEcoMode') return 'e'
    if (command.takes && !within(argument, command.takes)) return 'e'
    return undefined
  }

  function restart(): void {
    timers.clear()
    waiting.length = 0
    answering = undefined
    booting = true
    motor.target = 0
    motor.direction = kept.get('ShakeDefaultDirection') ?? 0
    motor.halt('booting')
    heater.set({ on: false })
    const boot_ms = model.boot_s * 1000
    if (kept.get('BootScreen') !== 0) tellStart(boot_ms)
    timers.after(boot_ms, started)
  }

  /** Line by line, as its self test goes on; a Q1 was recorded so. */
  function tellStart(boot_ms: number): void {
    for (const text of ['', ...instrument.title(), '', 'Start device self test:', '']) say(text)
    const checks = selfTest(model, heater.temperature)
    for (const [i, text] of checks.entries()) timers.after(((i + 1) / (checks.length + 1)) * boot_ms, () => say(text))
    timers.after(boot_ms, () => {
      say(model.bootEnd)
      say('')
    })
  }

  function started(): void {
    booting = false
    motor.halt('home')
    lock.halt(kept.get('ElmStartupPosition') === 0 ? 'locked' : 'unlocked')
    instrument.recovered()
  }

  function breakDown(fault: MechanicalFault): void {
    present.add(fault)
    errors.add(faultErrors[fault])
    if (fault === 'overtemperature') {
      heater.set({ on: false })
      return
    }
    const interrupted = motor.moving || (fault === 'interlock_open' && lock.state === 'moving')
    if (motor.moving) motor.halt('loose')
    if (fault === 'interlock_open') lock.halt('error')
    if (interrupted) answering?.('e')
  }

  function mend(fault: MechanicalFault): void {
    present.delete(fault)
    if (fault === 'overtemperature') errors.delete(faultErrors[fault])
    if (fault === 'interlock_open') lock.halt('nowhere')
  }

  return {
    receive(bytes) {
      if (off || baud() !== 9600) return
      received += Buffer.from(bytes).toString('latin1')
      const lines = received.split(/[\r\n]+/)
      received = lines.pop()!.slice(-longestCommand)
      for (const text of lines) if (text) hear(text)
    },
    setFault(fault, isPresent) {
      const can = { jam: model.rpm, overtemperature: model.heating, interlock_open: model.locking }
      if (!can[fault]) return false
      if (isPresent) breakDown(fault)
      else mend(fault)
      return true
    },
    powerOff() {
      off = true
      timers.clear()
      motor.halt('loose')
      lock.halt('nowhere')
      heater.set({ on: false })
    },
    get world() {
      return {
        moving: motor.moving || lock.state === 'moving',
        heating: heater.on,
        speed: motor.speed,
        shaker: motor.phase,
        lock: lock.state,
        temperature: heater.temperature,
        errors: [...errors],
      }
    },
  }
}

/** The lines of the self test. Those of a Q1 were recorded; those of the other models are made up. Lines follow each other within two seconds. */
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

/** Cuts off the number that is glued to a command. */
function parse(text: string): { name: string; argument?: number } {
  const [, word = '', digits] = /^(.*?)(-?\d+)?$/.exec(text) ?? []
  const name = shortNames[word] ?? word
  return digits === undefined ? { name } : { name, argument: Number(digits) }
}

function within(value: number | undefined, [least, most]: readonly [number, number]): boolean {
  return value !== undefined && value >= least && value <= most
}
