// A simulated arm: the time of a move depends on its length, and a stopped arm loses its position.

import type { Approach, Joints, Skill } from '../../src/devices/way.ts'
import type { InstrumentEnd, MechanicalFault, Simulate, Simulator } from '../transports/simulator.ts'
import { WithMount } from '../with_mount.ts'
import { type Asked, type AskedSpot, axes, errors, type Pose, readGateway, readMove, type State } from './protocol.ts'

const homePose: Pose = { x: 0, y: 200, z: 300, yaw: 0, pitch: 0, roll: 0 }
const home_ms = 6000
/** The time to move down to the plate, grip, and move up again. */
const approach_ms = 1500
const grip_ms = 500
/** The reach from its base, in mm. */
const reach = 1200
/** The most characters of a line; longer ones are noise. */
const longest = 256
const beyond = `beyond its reach of ${reach} mm`
/** The words that keep the gateways that were sent. */
const keepsWay = new Set(['via', 'where', 'can'])
/** The arm's default clearance, in mm. */
const usualClearance = 50
/** The two links of the arm, in mm. */
const link = 400

/** The arm is at `pose` after this time of the motion. */
type Waypoint = { pose: Pose; after_ms: number }
/** `grips_ms` is the time of the motion at which the fingers move; null if they do not. */
type Motion = { verb: string; path: Waypoint[]; began: number; grips_ms: number | null; cancel(): void }

type Settings = { speed: number; can: readonly Skill[] }

export const simulate: Simulate<Settings> = (at) => new SimulatedArm(at)

class SimulatedArm extends WithMount<InstrumentEnd<Settings>> implements Simulator {
  #input = ''
  #state: Exclude<State, 'moving'> = 'unhomed'
  #pose = homePose
  #gripper: 'empty' | 'full' = 'empty'
  /** Whether a person has freed the arm. They may have taken the plate out or put it back, so the next move finds what it needs. */
  #wasFreed = false
  #motion: Motion | undefined
  #jammed = false
  /** The gateways that were sent for the next move. */
  #via: AskedSpot[] = []

  get world() {
    return {
      moving: this.#motion !== undefined,
      heating: false,
      homed: this.#state === 'idle',
      pose: this.#where(),
      gripper: this.#holding,
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
    this.#settle()
    this.#state = 'unhomed'
  }

  #obey(line: string): void {
    const [verb = '', ...words] = line.split(/\s+/)
    const via = this.#via
    if (verb && !keepsWay.has(verb)) this.#via = []
    if (verb === 'who') this.#say('ok who simulated-arm SIM-0001 1.0')
    else if (verb === 'can') this.#say(`ok can ${this.at.settings.can.join(' ')}`.trim())
    else if (verb === 'where') this.#say(`ok where ${this.#motion ? 'moving' : this.#state} ${inWords(this.#where())} ${this.#holding}`)
    else if (verb === 'stop') this.#stop()
    else if (verb === 'home') this.#home()
    else if (verb === 'pick' || verb === 'place') this.#move(verb, readMove(words), via)
    else if (verb === 'via') this.#pass(words)
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
      this.#begin('home', [{ pose: homePose, after_ms: home_ms }], null, () => {
        this.#state = 'idle'
      })
    }
  }

  #pass(words: readonly string[]): void {
    const gateway = readGateway(words)
    const isNext = gateway && gateway.number >= 1 && gateway.number <= this.#via.length + 1
    if (!isNext) this.#refuse(errors.parameter, 'via', 'the number of a gateway and a point are needed')
    else if (isFar(gateway.spot)) this.#refuse(errors.parameter, 'via', beyond)
    else {
      this.#via = [...this.#via.slice(0, gateway.number - 1), gateway.spot]
      this.#say('ok via')
    }
  }

  #move(verb: 'pick' | 'place', asked: Asked | undefined, via: readonly AskedSpot[]): void {
    const refused = this.#cannot(verb, asked, via)
    if (refused) {
      this.#refuse(refused[0], verb, refused[1])
      return
    }
    const { path, grips_ms } = this.#pathOf(asked!, via)
    this.#begin(verb, path, grips_ms, () => {})
  }

  /** Computes the path over the gateways to the nest, down, up, and back by the same way. */
  #pathOf({ to, access }: Asked, via: readonly AskedSpot[]): { path: Waypoint[]; grips_ms: number } {
    const gateways = via.map(poseOf)
    const nest = lifted(poseOf(to), access?.gripper_offset ?? 0)
    const before = access ? [approachTo(nest, access)] : []
    const path: Waypoint[] = [{ pose: this.#pose, after_ms: 0 }]
    const stay = (ms: number) => {
      const { pose, after_ms } = path.at(-1)!
      path.push({ pose, after_ms: after_ms + ms })
    }
    const travel = (pose: Pose) => {
      const last = path.at(-1)!
      path.push({ pose, after_ms: last.after_ms + (distance(last.pose, pose) / this.at.settings.speed) * 1000 })
    }
    for (const pose of [...gateways, ...before, nest]) travel(pose)
    // Without an access pattern the vertical approach only takes time.
    if (!access) stay(approach_ms)
    stay(grip_ms)
    const grips_ms = path.at(-1)!.after_ms
    if (!access) stay(approach_ms)
    for (const pose of [...before, ...gateways.reverse()]) travel(pose)
    return { path, grips_ms }
  }

  #cannot(verb: 'pick' | 'place', asked: Asked | undefined, via: readonly AskedSpot[]): [number, string] | undefined {
    if (this.#motion) return [errors.busy, 'it is moving']
    if (!asked) return [errors.parameter, 'six numbers are needed, and after them words that it knows']
    if (asked.via !== via.length) return [errors.parameter, `${via.length} gateways were said before it, and not ${asked.via}`]
    if (isFar(asked.to)) return [errors.parameter, beyond]
    if (this.#state !== 'idle') return [errors.unhomed, 'it does not know where it is']
    if (this.#wasFreed) return undefined
    if (verb === 'pick' && this.#gripper === 'full') return [errors.gripper, 'it holds something already']
    if (verb === 'place' && this.#gripper === 'empty') return [errors.gripper, 'it holds nothing']
    return undefined
  }

  #begin(verb: string, path: Waypoint[], grips_ms: number | null, arrived: () => void): void {
    const began = this.at.clock.now()
    const cancel = this.at.clock.after(path.at(-1)!.after_ms, () => {
      this.#settle()
      arrived()
      this.#say(`ok ${verb}`)
    })
    this.#motion = { verb, path, began, grips_ms, cancel }
    if (this.#jammed) this.#break(errors.jam, 'something is in its way', 'error')
  }

  /** Ends the motion in place, with the present content of the gripper. */
  #settle(): Motion | undefined {
    const motion = this.#motion
    if (!motion) return undefined
    motion.cancel()
    if (this.#hasGripped(motion)) this.#wasFreed = false
    ;[this.#pose, this.#gripper] = [this.#where(), this.#holding]
    this.#motion = undefined
    return motion
  }

  /** Ends a motion in place; the arm then loses its position. */
  #break(number: number, text: string, state: 'stopped' | 'error'): void {
    const motion = this.#settle()
    if (!motion) return
    this.#state = state
    this.#refuse(number, motion.verb, text)
  }

  #hasGripped({ began, grips_ms }: Motion): boolean {
    return grips_ms !== null && this.at.clock.now() - began >= grips_ms
  }

  get #holding(): 'empty' | 'full' {
    const motion = this.#motion
    return motion && this.#hasGripped(motion) ? (motion.verb === 'pick' ? 'full' : 'empty') : this.#gripper
  }

  #where(): Pose {
    if (!this.#motion) return this.#pose
    const { path, began } = this.#motion
    const passed_ms = this.at.clock.now() - began
    let last: Waypoint = { pose: this.#pose, after_ms: 0 }
    for (const next of path) {
      if (passed_ms < next.after_ms) return between(last, next, passed_ms)
      last = next
    }
    return last.pose
  }

  #refuse(number: number, verb: string, text: string): void {
    this.#say(`err ${number} ${verb}: ${text}`)
  }

  #say(text: string): void {
    this.at.send(Buffer.from(`${text}\n`, 'latin1'))
  }
}

function between(last: Waypoint, next: Waypoint, passed_ms: number): Pose {
  const part = (passed_ms - last.after_ms) / (next.after_ms - last.after_ms)
  const at = (axis: keyof Pose) => last.pose[axis] + (next.pose[axis] - last.pose[axis]) * part
  return { x: at('x'), y: at('y'), z: at('z'), yaw: at('yaw'), pitch: at('pitch'), roll: at('roll') }
}

function poseOf(spot: AskedSpot): Pose {
  return 'joints' in spot ? reached(spot.joints) : spot.pose
}

/** Computes the pose of the gripper from the joints: the base turns a shoulder and an elbow in one plane, on a rail along x. */
function reached({ base, shoulder, elbow, wrist, rail }: Joints): Pose {
  const radians = (degrees: number) => (degrees * Math.PI) / 180
  const out = link * (Math.cos(radians(shoulder)) + Math.cos(radians(shoulder + elbow)))
  const z = link * (Math.sin(radians(shoulder)) + Math.sin(radians(shoulder + elbow)))
  const [x, y] = [rail + out * Math.cos(radians(base)), out * Math.sin(radians(base))]
  return { x, y, z, yaw: base + wrist, pitch: 0, roll: 0 }
}

/** Computes the point above the nest, or in front of it and lifted, from which the arm approaches. */
function approachTo(nest: Pose, { access_type, vertical_clearance, horizontal_clearance }: Approach): Pose {
  if (access_type === 'vertical') return lifted(nest, vertical_clearance ?? usualClearance)
  const [out, turn] = [horizontal_clearance ?? usualClearance, (nest.yaw * Math.PI) / 180]
  return lifted({ ...nest, x: nest.x - out * Math.cos(turn), y: nest.y - out * Math.sin(turn) }, vertical_clearance ?? 0)
}

function isFar(spot: AskedSpot): boolean {
  const { x, y, z } = poseOf(spot)
  return Math.hypot(x, y, z) > reach
}

function lifted(pose: Pose, mm: number): Pose {
  return { ...pose, z: pose.z + mm }
}

function distance(from: Pose, to: Pose): number {
  return Math.hypot(to.x - from.x, to.y - from.y, to.z - from.z)
}

function inWords(pose: Pose): string {
  return axes.map((axis) => pose[axis].toFixed(3)).join(' ')
}
