// A BigBear shaker that is not there: it does what single letters say, and answers one of them.

import { Table, Timers } from '../simulated_parts.ts'
import { lineReader } from '../text_lines.ts'
import type { Simulate, Simulator } from '../transports/simulator.ts'
import { findHome, ask as question, type State, start, stop } from './protocol.ts'

const answer_ms = 10
const longest = 40
const rpmPerSecond = 700
const homing_ms = 2000

export const simulate: Simulate<unknown> = ({ send, clock }): Simulator => {
  const table = new Table(clock, rpmPerSecond)
  const answers = new Timers(clock)
  const motions = new Timers(clock)
  const read = lineReader(longest)
  let speed = 60
  let acceleration = 5
  let homing = false
  let home = false
  let jammed = false

  function say(text: string): void {
    answers.after(answer_ms, () => send(Buffer.from(`${text}\r`, 'latin1')))
  }

  function hear(line: string): void {
    const [, letter = '', digits] = /^([A-Z])(\d+)?$/.exec(line) ?? []
    const number = digits === undefined ? undefined : Number(digits)
    if (letter === 'V' && within(number, 60, 3570)) turnAt(number)
    else if (letter === 'A' && within(number, 0, 10)) acceleration = number
    else if (line === question) say(state())
    else if (line === start) begin()
    else if (line === stop) end()
    else if (line === findHome) goHome()
    else say('?:')
  }

  function state(): State {
    if (homing) return 'RAMP-'
    if (!table.moving) return 'STOP'
    if (table.target === 0) return 'RAMP-'
    return table.speed < table.target ? 'RAMP+' : 'RUN'
  }

  function turnAt(rpm: number): void {
    speed = rpm
    if (table.target > 0) table.goTo(rpm)
  }

  function begin(): void {
    if (jammed) return
    leaveHome()
    table.goTo(speed)
  }

  function end(): void {
    if (homing) leaveHome()
    table.goTo(0)
  }

  function goHome(): void {
    if (jammed || table.moving) {
      say('?:')
      return
    }
    leaveHome()
    homing = true
    motions.after(homing_ms, () => {
      homing = false
      home = true
    })
  }

  function leaveHome(): void {
    motions.clear()
    homing = false
    home = false
  }

  return {
    receive(bytes) {
      for (const line of read(bytes)) hear(line)
    },
    setFault(fault, isPresent) {
      if (fault !== 'jam') return false
      jammed = isPresent
      if (!isPresent) return true
      leaveHome()
      table.block()
      return true
    },
    powerOff() {
      answers.clear()
      leaveHome()
      table.block()
    },
    get world() {
      return { moving: table.moving || homing, heating: false, speed: table.speed, acceleration, home }
    },
  }
}

function within(value: number | undefined, least: number, most: number): value is number {
  return value !== undefined && value >= least && value <= most
}
