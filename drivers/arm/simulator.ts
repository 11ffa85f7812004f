// A simulated arm: a move takes as long as its way is, and a stopped arm forgets where it is.

import { Mounted } from '../mounted.ts'
import type { InstrumentEnd, MechanicalFault, Simulate, Simulator } from '../transports/simulator.ts'
import { axes, errors, type Pose, type State } from './protocol.ts'

const homePose: Pose = { x: 0, y: 200, z: 300, yaw: 0, pitch: 0, roll: 0 }
const home_ms = 6000
/** Down to the plate, the gripper's own time, and up again. */
const approach_ms = 1500
const grip_ms = 500
/** How far from its foot it can reach, in mm. */
const reach = 1200
/** A line that is longer is noise. */
const longest = 256

type Motion = { verb: string; from: Pose; to: Pose; began: number; travel_ms: number; cancel(): void }

export const simulate: Simulate<{ speed: number }> = (at) => new SimulatedArm(at)

class SimulatedArm extends Mounted<InstrumentEnd<{ speed: number }>> implements Simulator {
  #input = ''
  #state: Exclude<State, 'moving'> = 'unhomed'
  #pose = homePose
  #gripper: 'empty' | 'full' = 'empty'
  /** Somebody has freed it, and may have taken the plate out, or put it back: the next move finds what it needs. */
  #wasFreed = false
  #motion: Motion | undefined
  #jammed = false

  get world() {
    return {
      moving: this.#motion !== undefined,
      heating: false,
      homed: this.#state === 'idle',
      pose: this.#where(),
      gripper: this.#gripper,
    }
  }

  receive(bytes: Uint8Array): void {
    const lines = (this.#input + Buffer.from(bytes).toString('latin1')).split('\n')
    this.#input = lines.pop()!.slice(0, longest)
    for (const line of lines) this.#obey(line.trim())
  }

  setFault(fault: MechanicalFault, present: boolean): boolean {
    if (fault !== 'jam') return false
    this.#jammed = present
    if (present) this.#break(errors.jam, 'something is in its way', 'error')
    return true
  }

  powerOff(): void {
    this.#motion?.cancel()
    this.#motion = undefined
    this.#state = 'unhomed'
  }

  #obey(line: string): void {
    const [verb = '', ...words] = line.split(/\s+/)
    if (verb === 'who') this.#say('ok who simulated-arm SIM-0001 1.0')
    else if (verb === 'where') this.#say(`ok where ${this.#motion ? 'moving' : this.#state} ${inWords(this.#where())} ${this.#gripper}`)
    else if (verb === 'stop') this.#stop()
    else if (verb === 'home') this.#home()
    else if (verb === 'pick' || verb === 'place') this.#move(verb, words.map(Number))
    else if (verb) this.#refuse(errors.unknown, /^\w+$/.test(verb) ? verb : 'unknown', 'no such command')
  }

  #stop(): void {
    this.#break(errors.stopped, 'stopped', 'stopped')
    this.#state = 'stopped'
    this.#say('ok stop')
  }

  #home(): void {
    if (this.#motion) this.#refuse(errors.busy, 'home', 'it is moving')
    else {
      this.#wasFreed ||= this.#state === 'stopped' || this.#state === 'error'
      this.#state = 'unhomed'
      this.#begin('home', homePose, home_ms, home_ms, () => {
        this.#state = 'idle'
      })
    }
  }

  #move(verb: 'pick' | 'place', numbers: number[]): void {
    const refused = this.#cannot(verb, numbers)
    if (refused) {
      this.#refuse(refused[0], verb, refused[1])
      return
    }
    const [x, y, z, yaw, pitch, roll] = numbers as [number, number, number, number, number, number]
    const to = { x, y, z, yaw, pitch, roll }
    const travel_ms = (distance(this.#pose, to) / this.at.settings.speed) * 1000
    this.#begin(verb, to, travel_ms, travel_ms + 2 * approach_ms + grip_ms, () => {
      this.#gripper = verb === 'pick' ? 'full' : 'empty'
      this.#wasFreed = false
    })
  }

  #cannot(verb: 'pick' | 'place', numbers: number[]): [number, string] | undefined {
    if (this.#motion) return [errors.busy, 'it is moving']
    if (numbers.length !== axes.length || numbers.some((number) => !Number.isFinite(number)))
      return [errors.parameter, 'six numbers are needed']
    if (Math.hypot(numbers[0]!, numbers[1]!, numbers[2]!) > reach) return [errors.parameter, `beyond its reach of ${reach} mm`]
    if (this.#state !== 'idle') return [errors.unhomed, 'it does not know where it is']
    if (this.#wasFreed) return undefined
    if (verb === 'pick' && this.#gripper === 'full') return [errors.gripper, 'it holds something already']
    if (verb === 'place' && this.#gripper === 'empty') return [errors.gripper, 'it holds nothing']
    return undefined
  }

  #begin(verb: string, to: Pose, travel_ms: number, ms: number, arrived: () => void): void {
    const cancel = this.at.clock.after(ms, () => {
      this.#motion = undefined
      this.#pose = to
      arrived()
      this.#say(`ok ${verb}`)
    })
    this.#motion = { verb, from: this.#pose, to, began: this.at.clock.now(), travel_ms, cancel }
    if (this.#jammed) this.#break(errors.jam, 'something is in its way', 'error')
  }

  /** Ends a motion wherever it is; from then on it does not know where that is. */
  #break(number: number, text: string, state: 'stopped' | 'error'): void {
    const motion = this.#motion
    if (!motion) return
    motion.cancel()
    this.#pose = this.#where()
    this.#motion = undefined
    this.#state = state
    this.#refuse(number, motion.verb, text)
  }

  #where(): Pose {
    if (!this.#motion) return this.#pose
    const { from, to, began, travel_ms } = this.#motion
    const part = Math.min(1, travel_ms === 0 ? 1 : (this.at.clock.now() - began) / travel_ms)
    const at = (axis: keyof Pose) => from[axis] + (to[axis] - from[axis]) * part
    return { x: at('x'), y: at('y'), z: at('z'), yaw: at('yaw'), pitch: at('pitch'), roll: at('roll') }
  }

  #refuse(number: number, verb: string, text: string): void {
    this.#say(`err ${number} ${verb}: ${text}`)
  }

  #say(text: string): void {
    this.at.send(Buffer.from(`${text}\n`, 'latin1'))
  }
}

function distance(from: Pose, to: Pose): number {
  return Math.hypot(to.x - from.x, to.y - from.y, to.z - from.z)
}

function inWords(pose: Pose): string {
  return axes.map((axis) => pose[axis].toFixed(3)).join(' ')
}
