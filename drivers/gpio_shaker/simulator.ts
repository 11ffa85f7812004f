// A simulated motor, its relay and converter, a plate lock, a lid and a tachometer.

import { simulatedThermometer, simulatedThrottle } from '../parts/simulated_parts.ts'
import { Table, Timers } from '../simulated_parts.ts'
import type { SimulateBoard } from '../transports/simulated_board.ts'
import type { MechanicalFault } from '../transports/simulator.ts'
import type { Settings } from './settings.ts'

const rpmPerSecond = 500
const room_c = 22
/** The interval of updates while the motor is too slow for pulses. */
const idle_ms = 50

export const simulate: SimulateBoard<Settings> = ({ wires, clock, settings }) => {
  const { i2c, full_scale_rpm, pulses_per_turn } = settings
  const table = new Table(clock, rpmPerSecond)
  const timers = new Timers(clock)
  const present = new Set<MechanicalFault>()
  const converter = simulatedThrottle(i2c.speed.part, i2c.speed.channel, follow)
  let ticking = false
  let seenAt = 0
  let phase = 0
  let level = false

  wires.put('speed', converter)
  if (i2c.sensor)
    wires.put(
      'sensor',
      simulatedThermometer(i2c.sensor.part, () => room_c),
    )
  if (wires.has('lid')) wires.setActive('lid', true)
  if (wires.has('estop')) wires.setActive('estop', true)
  if (wires.has('tach')) wires.setActive('tach', false)
  wires.onChange('enable', follow)

  function follow(): void {
    const wanted = wires.isActive('enable') && !present.has('jam') ? converter.fraction * full_scale_rpm : 0
    if (wanted !== table.target) table.goTo(wanted)
    if (!wires.has('tach') || !table.moving || ticking) return
    ticking = true
    seenAt = clock.now()
    phase = 0
    tick()
  }

  /** Toggles the wire every half pulse; a late timer makes up for missed ones. */
  function tick(): void {
    const now = clock.now()
    const half_ms = 30_000 / (Math.max(table.speed, 1) * pulses_per_turn)
    for (phase += (now - seenAt) / half_ms; phase >= 1; phase--) turnHalf()
    seenAt = now
    ticking = table.moving
    if (ticking) timers.after(Math.min(half_ms, idle_ms), tick)
  }

  function turnHalf(): void {
    level = !level
    wires.setActive('tach', level)
  }

  return {
    setFault(fault, isPresent) {
      if (fault === 'overtemperature' || (fault === 'interlock_open' && !wires.has('lid'))) return false
      if (isPresent) present.add(fault)
      else present.delete(fault)
      if (fault === 'interlock_open') wires.setActive('lid', !isPresent)
      else if (isPresent) table.block()
      return true
    },
    powerOff() {
      timers.clear()
      table.block()
      present.add('jam')
    },
    get world() {
      return {
        moving: table.moving,
        heating: false,
        speed: table.speed,
        enabled: wires.isActive('enable'),
        counter_clockwise: wires.has('direction') && wires.isActive('direction'),
        plate_locked: !(wires.has('solenoid') && wires.isActive('solenoid')),
      }
    },
  }
}
