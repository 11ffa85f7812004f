// An Opentrons Heater-Shaker that is not there: motor, latch and heater, each with its rules, behind G-codes.

import { Heater, Table, Timers } from '../simulated_parts.ts'
import { lineReader } from '../text_lines.ts'
import type { MechanicalFault, Simulate, Simulator } from '../transports/simulator.ts'

const answer_ms = 3
const longest = 80
const rpmPerSecond = 1000
const homing_ms = 1500
/** It goes home slowly. */
const homing_rpm = 200
const latch_ms = 1200
const timeConstant_s = 240

const texts: Record<number, string> = {
  3: 'unhandled gcode',
  111: 'main motor:unable to move',
  120: 'main motor:illegal speed',
  121: 'main motor:illegal ramp rate',
  123: 'main motor:not home (required)',
  124: 'main motor:not stopped (required)',
  126: 'plate lock:not closed',
  127: 'main motor:homing',
  203: 'heater:thermistor a overtemp',
  213: 'heater:illegal target temperature',
}

type Latch = 'IDLE_OPEN' | 'IDLE_CLOSED' | 'IDLE_UNKNOWN' | 'OPENING' | 'CLOSING'

export const simulate: Simulate<unknown> = ({ send, clock }): Simulator => {
  const table = new Table(clock, rpmPerSecond)
  const heater = new Heater(clock, timeConstant_s)
  const answers = new Timers(clock)
  const motions = new Timers(clock)
  const read = lineReader(longest)
  const present = new Set<MechanicalFault>()
  let latch: Latch = 'IDLE_OPEN'
  let home = true
  let homing = false
  let target: number | undefined
  /** The motor has failed, and says nothing else until it is switched off and on. */
  let motorError: number | undefined

  function say(text: string): void {
    answers.after(answer_ms, () => send(Buffer.from(`${text}\n`, 'latin1')))
  }

  function fail(error: number): void {
    say(`ERR${String(error).padStart(3, '0')}:${texts[error]} OK`)
  }

  /** Without being asked. */
  function tell(error: number): void {
    say(`async ERR${error}:${texts[error]} OK`)
  }

  function hear(line: string): void {
    const [code = '', argument = ''] = line.split(/\s+/)
    const number = /^S-?\d+(\.\d+)?$/.test(argument) ? Number(argument.slice(1)) : undefined
    const commands: Record<string, (() => void) | undefined> = {
      M115: () => say('M115 FW:v0.0.0-simulated HW:simulated SerialNo:SIM-0001 OK'),
      M123: () => unlessFailed(() => say(`M123 C:${Math.round(speed())} T:${Math.round(table.target)} OK`)),
      M105: () => say(`M105 C:${heater.temperature.toFixed(2)} T:${target?.toFixed(2) ?? 'None'} OK`),
      M241: () => say(`M241 STATUS:${latch} OK`),
      M3: number === undefined ? undefined : () => unlessFailed(() => spin(number)),
      M204: number === undefined ? undefined : () => say('M204 OK'),
      M104: number === undefined ? undefined : () => warm(number),
      M106: () => warm(undefined),
      M242: () => moveLatch('M242', 'OPENING', 'IDLE_OPEN'),
      M243: () => moveLatch('M243', 'CLOSING', 'IDLE_CLOSED'),
      G28: () => unlessFailed(goHome),
    }
    const obey = commands[code]
    if (obey) obey()
    else fail(3)
  }

  function unlessFailed(obey: () => void): void {
    if (motorError === undefined) obey()
    else fail(motorError)
  }

  function speed(): number {
    return homing ? Math.max(homing_rpm, table.speed) : table.speed
  }

  function spin(rpm: number): void {
    if (homing) fail(127)
    else if (rpm !== 0 && (rpm < 200 || rpm > 3000)) fail(120)
    else if (rpm !== 0 && latch !== 'IDLE_CLOSED') fail(126)
    else {
      if (rpm !== 0 || table.moving) home = false
      if (!present.has('jam')) table.goTo(rpm)
      say('M3 OK')
    }
  }

  function stopHoming(): void {
    motions.clear()
    homing = false
  }

  function goHome(): void {
    if (latch !== 'IDLE_CLOSED') {
      fail(126)
      return
    }
    if (present.has('jam')) {
      fail(111)
      return
    }
    stopHoming()
    table.goTo(0)
    homing = true
    motions.after(table.seconds * 1000 + homing_ms, () => {
      homing = false
      home = true
      say('G28 OK')
    })
  }

  function moveLatch(code: string, on: Latch, arrived: Latch): void {
    if (table.moving || homing) fail(124)
    else if (on === 'OPENING' && !home) fail(123)
    else {
      latch = on
      motions.clear()
      motions.after(latch_ms, () => {
        latch = arrived
        say(`${code} OK`)
      })
    }
  }

  function warm(to: number | undefined): void {
    if (to !== undefined && (to < 0 || to > 100)) {
      fail(213)
      return
    }
    target = to
    heater.heatTo(present.has('overtemperature') ? undefined : to)
    say(to === undefined ? 'M106 OK' : 'M104 OK')
  }

  /** What the real one does when its latch is forced open is not known; here it goes on, and tells where the latch is. */
  function breakDown(fault: MechanicalFault): void {
    if (fault === 'interlock_open') {
      latch = 'IDLE_UNKNOWN'
    } else if (fault === 'jam') {
      if (!table.moving && !homing) return
      stopHoming()
      table.block()
      motorError = 111
      tell(111)
    } else {
      heater.setTooHot(true)
      heater.heatTo(undefined)
      target = undefined
      tell(203)
    }
  }

  return {
    receive(bytes) {
      for (const line of read(bytes)) hear(line)
    },
    setFault(fault, isPresent) {
      if (isPresent) {
        present.add(fault)
        breakDown(fault)
      } else {
        present.delete(fault)
        if (fault === 'overtemperature') heater.setTooHot(false)
        // Whoever frees the motor switches it off and on.
        if (fault === 'jam') motorError = undefined
      }
      return true
    },
    powerOff() {
      answers.clear()
      motions.clear()
      homing = false
      table.block()
      heater.heatTo(undefined)
    },
    get world() {
      return {
        moving: table.moving || homing || latch === 'OPENING' || latch === 'CLOSING',
        heating: heater.on,
        speed: speed(),
        temperature: heater.temperature,
        latch,
        home,
      }
    },
  }
}
