// A simulated hot plate, its relay, a clamp and a guard.

import { simulatedThermometer } from '../parts/simulated_parts.ts'
import { Timers } from '../simulated_parts.ts'
import type { SimulateBoard } from '../transports/simulated_board.ts'
import type { MechanicalFault } from '../transports/simulator.ts'
import { hottest, type Settings } from './settings.ts'

const room_c = 22
/** The final temperature above the room with the heater on; its time constant is below. */
const gain_c = 500
const timeConstant_s = 200
const tooHot_c = 5
const stroke_ms = 300

export const simulate: SimulateBoard<Settings> = ({ wires, clock, settings }) => {
  const timers = new Timers(clock)
  const present = new Set<MechanicalFault>()
  let from = { temperature: room_c, at: clock.now() }
  let goal = room_c
  let down = false
  let powered = true

  wires.put('sensor', simulatedThermometer(settings.i2c.sensor.part, sensed))
  if (wires.has('clamped')) wires.setActive('clamped', false)
  if (wires.has('guard')) wires.setActive('guard', true)
  if (wires.has('estop')) wires.setActive('estop', true)
  wires.onChange('heater', () => {
    from = { temperature: temperature(), at: clock.now() }
    goal = powered && wires.isActive('heater') ? room_c + gain_c : room_c
  })
  wires.onChange('clamp', () => timers.after(stroke_ms, arrive))

  function temperature(): number {
    return goal + (from.temperature - goal) * Math.exp(-(clock.now() - from.at) / 1000 / timeConstant_s)
  }

  /** Returns the sensor's reading. A plate that is too hot is still within the range of the sensor. */
  function sensed(): number {
    return present.has('overtemperature') ? hottest(settings) + tooHot_c : temperature()
  }

  function arrive(): void {
    if (present.has('jam')) return
    down = wires.isActive('clamp')
    if (wires.has('clamped')) wires.setActive('clamped', down)
  }

  return {
    setFault(fault, isPresent) {
      if (fault === 'interlock_open' && !wires.has('guard')) return false
      if (isPresent) present.add(fault)
      else present.delete(fault)
      if (fault === 'interlock_open') wires.setActive('guard', !isPresent)
      if (fault === 'jam' && !isPresent) arrive()
      return true
    },
    powerOff() {
      timers.clear()
      powered = false
      from = { temperature: temperature(), at: clock.now() }
      goal = room_c
    },
    get world() {
      return {
        moving: down !== wires.isActive('clamp') && !present.has('jam'),
        heating: wires.isActive('heater'),
        temperature: temperature(),
        clamp_down: down,
        guard_closed: !present.has('interlock_open'),
      }
    },
  }
}
