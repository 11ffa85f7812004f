// An IKA shaker that is not there: it talks when it is asked, keeps silent when it is told, and stops when its host has gone.

import { Heater, Table, Timers } from '../simulated_parts.ts'
import { lineReader } from '../text_lines.ts'
import type { MechanicalFault, Simulate, Simulator } from '../transports/simulator.ts'
import { modelOf, type Settings } from './models.ts'

const answer_ms = 10
const longest = 80
const rpmPerSecond = 600
const timeConstant_s = 300
const watchdog = { least_s: 20, most_s: 1500 }

export const simulate: Simulate<Settings> = ({ send, clock, settings }): Simulator => {
  const { rpm, temperature, version } = modelOf(settings)
  const table = new Table(clock, rpmPerSecond)
  const heater = new Heater(clock, timeConstant_s)
  const answers = new Timers(clock)
  const dog = new Timers(clock)
  const read = lineReader(longest)
  const present = new Set<MechanicalFault>()
  const set: Record<number, number> = { 2: temperature?.min ?? 0, 4: rpm.min }
  let watchdog_s = 0
  let tripped = false
  let direction: 'CW' | 'CCW' = 'CW'

  function say(text: string): void {
    answers.after(answer_ms, () => send(Buffer.from(`${text} \r\n`, 'latin1')))
  }

  /** The manuals disagree on what feeds it; this one wants to be armed again, which is the least that all of them take. */
  function feed(): void {
    dog.clear()
    if (watchdog_s) dog.after(watchdog_s * 1000, trip)
  }

  function trip(): void {
    tripped = true
    disarm()
    rest()
  }

  function rest(): void {
    table.goTo(0)
    heater.heatTo(undefined)
  }

  function disarm(): void {
    watchdog_s = 0
    dog.clear()
  }

  function reset(): void {
    tripped = false
    disarm()
    direction = 'CW'
    rest()
  }

  function hear(line: string): void {
    const [command = '', digits = ''] = line.split(/[@ ]+/)
    if (command.startsWith('IN_')) ask(line)
    else if (line === 'RESET') reset()
    else if (line === 'OUT_MODE_1') direction = 'CCW'
    else if (command === 'OUT_SP_2' || command === 'OUT_SP_4') take(command === 'OUT_SP_2' ? 2 : 4, Number(digits))
    else if (command === 'OUT_WD1' || command === 'OUT_WD2') arm(Number(digits))
    else turnOrHeat(line)
  }

  function ask(line: string): void {
    const values: Record<string, string | undefined> = {
      IN_NAME: settings.model,
      IN_TYPE: settings.model,
      [version]: 'V0.0 simulated',
      IN_SOFTWARE_ID: 'ID 0 simulated',
      IN_PV_4: `${table.speed.toFixed(1)} 4`,
      IN_SP_4: `${set[4]!.toFixed(1)} 4`,
      IN_PV_2: temperature && `${heater.temperature.toFixed(1)} 2`,
      IN_SP_2: temperature && `${set[2]!.toFixed(1)} 2`,
    }
    const value = values[line]
    if (value !== undefined) say(value)
  }

  function take(channel: number, value: number): void {
    const range = channel === 4 ? rpm : temperature
    if (!range || !(value >= range.min && value <= range.max)) return
    set[channel] = value
    if (channel === 4 && table.target > 0) table.goTo(value)
    if (channel === 2 && heater.on) heater.heatTo(value)
  }

  /** What it does after its watchdog has tripped is not known; it is made to want RESET. */
  function turnOrHeat(line: string): void {
    if (line === 'STOP_4') table.goTo(0)
    else if (line === 'STOP_2') heater.heatTo(undefined)
    else if (tripped) return
    else if (line === 'START_4' && !present.has('jam')) table.goTo(set[4]!)
    else if (line === 'START_2' && temperature) heater.heatTo(set[2])
  }

  function arm(seconds: number): void {
    if (seconds !== 0 && !(seconds >= watchdog.least_s && seconds <= watchdog.most_s)) return
    watchdog_s = seconds
    feed()
    say(`${seconds}`)
  }

  return {
    receive(bytes) {
      for (const line of read(bytes)) hear(line)
    },
    setFault(fault, isPresent) {
      if (fault === 'interlock_open' || (fault === 'overtemperature' && !temperature)) return false
      if (isPresent) present.add(fault)
      else present.delete(fault)
      if (fault === 'overtemperature') heater.setTooHot(isPresent)
      else if (isPresent) table.block()
      return true
    },
    powerOff() {
      answers.clear()
      dog.clear()
      table.block()
      heater.heatTo(undefined)
      watchdog_s = 0
    },
    get world() {
      return {
        moving: table.moving,
        heating: heater.on,
        speed: table.speed,
        temperature: heater.temperature,
        set_speed: set[4],
        direction,
        watchdog_s,
        tripped,
      }
    },
  }
}
