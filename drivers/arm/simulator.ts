// A simulated arm: the time of a move depends on its length, and a stopped arm loses its position.

import type { Approach, Skill } from '../../src/devices/way.ts'
import type { InstrumentEnd, MechanicalFault, Simulate, Simulator } from '../transports/simulator.ts'
import { WithMount } from '../with_mount.ts'
import { type Asked, type AskedSpot, axes, errors, motions, type Pose, readGateway, readJog, readMove, type State } from './protocol.ts'
import { isFar, jogAxes, jogPath, lifted, poseOf, reach, type Waypoint } from './simulated_geometry.ts'

const homePose: Pose = { x: 0, y: 200, z: 300, yaw: 0, pitch: 0, roll: 0 }
const home_ms = 6000
/** The time to move down to the plate, grip, and move up again. */
const approach_ms = 1500
const grip_ms = 500
/** The most characters of a line; longer ones are noise. */
const longest = 256
const beyond = `beyond its reach of ${reach} mm`
/** The words that keep the gateways that were sent. */
const keepsWay = new Set(['via', 'where', 'can'])
/** The arm's default clearance, in mm. */
const usualClearance = 50
/** The part of the full speed at which it goes to a point without labware. */
const slowly = 0.2
/** A jog and a free drive end when no line has come for so long. */
const silence_ms = 250
/** The time in which the slow arm brakes. */
const brake_ms = 20
/** A free drive without an end; the host ends it long before. */
const endless_ms = 24 * 3_600_000

/** `grips_ms` is the time of the motion at which the fingers move; null if they do not. */
type Motion = { verb: string; path: Waypoint[]; began: number; grips_ms: number | null; cancel(): void }

type Settings = { speed: number; can: readonly (Skill | (typeof motions)[keyof typeof motions])[] }

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
  /** The way by which it leaves the point to which it last went, in order. */
  #leave: readonly Pose[] = []
  #cancelSilence = () => {}

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
    for (const line of lines) {
      if (this.#isHeld) this.#listen()
      this.#obey(line.trim())
    }
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
    else if (verb === 'can') this.#say(`ok can ${this.at.settings.can.map(asSkill).join(' ')}`.trim())
    else if (verb === 'where') this.#say(`ok where ${this.#motion ? 'moving' : this.#state} ${inWords(this.#where())} ${this.#holding}`)
    else if (verb === 'stop') this.#stop()
    else if (verb === 'end') this.#end()
    else if (verb === 'home') this.#home()
    else if (verb === motions.jog) this.#jog(words)
    else if (verb === motions.free_drive) this.#free()
    else if (verb === motions.go_to) this.#go(readMove(words), via)
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

  get #isHeld(): boolean {
    return this.#motion?.verb === motions.jog || this.#motion?.verb === motions.free_drive
  }

  /** Ends a held motion when nothing comes from now on. */
  #listen(): void {
    this.#cancelSilence()
    this.#cancelSilence = this.at.clock.after(silence_ms, () => this.#brake())
  }

  #end(): void {
    this.#brake()
    this.#say('ok end')
  }

  /** Ends a held motion gently; the arm keeps its position. */
  #brake(): void {
    const { verb } = this.#motion ?? {}
    if (!this.#isHeld) return
    this.#motion!.cancel()
    this.#motion!.cancel = this.at.clock.after(brake_ms, () => {
      this.#settle()
      this.#say(`ok ${verb}`)
    })
  }

  #jog(words: readonly string[]): void {
    const asked = readJog(words)
    const refused = this.#isBusy() ?? (asked ? undefined : ([errors.parameter, 'an axis, + or - and 1 to 20 % are needed'] as const))
    const path = asked && jogPath(this.#pose, { ...asked, speed: this.at.settings.speed })
    if (refused) this.#refuse(refused[0], motions.jog, refused[1])
    else if (!path) this.#refuse(errors.parameter, motions.jog, beyond)
    else this.#hold(motions.jog, path)
  }

  #free(): void {
    const refused = this.#isBusy()
    if (refused) this.#refuse(refused[0], motions.free_drive, refused[1])
    else this.#hold(motions.free_drive, [{ pose: this.#pose, after_ms: endless_ms }])
  }

  #hold(verb: string, path: Waypoint[]): void {
    this.#leave = []
    this.#begin(verb, path, null, () => {})
    if (this.#isHeld) this.#listen()
  }

  #isBusy(): readonly [number, string] | undefined {
    if (this.#motion) return [errors.busy, 'it is moving']
    return this.#state === 'idle' ? undefined : [errors.unhomed, 'it does not know where it is']
  }

  /** Goes over the gateways to the point, or above it, and stays there. */
  #go(asked: Asked | undefined, via: readonly AskedSpot[]): void {
    const refused = this.#cannot(motions.go_to, asked, via)
    if (refused) {
      this.#refuse(refused[0], motions.go_to, refused[1])
      return
    }
    const { to, access, above } = asked!
    const nest = poseOf(to)
    const on = [...via.map(poseOf), ...(access ? [approachTo(nest, access)] : [])]
    const path: Waypoint[] = [{ pose: this.#pose, after_ms: 0 }]
    for (const pose of [...this.#leave, ...on, lifted(nest, above)]) this.#travel(path, pose, slowly)
    this.#leave = on.reverse()
    this.#begin(motions.go_to, path, null, () => {})
  }

  #travel(path: Waypoint[], pose: Pose, part = 1): void {
    const last = path.at(-1)!
    path.push({ pose, after_ms: last.after_ms + (distance(last.pose, pose) / (part * this.at.settings.speed)) * 1000 })
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
    for (const pose of [...this.#leave, ...gateways, ...before, nest]) this.#travel(path, pose)
    this.#leave = []
    // Without an access pattern the vertical approach only takes time.
    if (!access) stay(approach_ms)
    stay(grip_ms)
    const grips_ms = path.at(-1)!.after_ms
    if (!access) stay(approach_ms)
    for (const pose of [...before, ...gateways.reverse()]) this.#travel(path, pose)
    return { path, grips_ms }
  }

  #cannot(verb: string, asked: Asked | undefined, via: readonly AskedSpot[]): [number, string] | undefined {
    if (this.#motion) return [errors.busy, 'it is moving']
    if (!asked) return [errors.parameter, 'six numbers are needed, and after them words that it knows']
    if (asked.via !== via.length) return [errors.parameter, `${via.length} gateways were said before it, and not ${asked.via}`]
    if (isFar({ pose: lifted(poseOf(asked.to), asked.above), elbow: null })) return [errors.parameter, beyond]
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
    this.#cancelSilence()
    if (this.#hasGripped(motion)) this.#wasFreed = false
    ;[this.#pose, this.#gripper] = [this.#where(), this.#holding]
    this.#motion = undefined
    return motion
  }

  /** Ends a motion in place; the arm then loses its position. */
  #break(number: number, text: string, state: 'stopped' | 'error'): void {
    const motion = this.#settle()
    if (!motion) return
    this.#leave = []
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

/** Computes the point above the nest, or in front of it and lifted, from which the arm approaches. */
function approachTo(nest: Pose, { access_type, vertical_clearance, horizontal_clearance }: Approach): Pose {
  if (access_type === 'vertical') return lifted(nest, vertical_clearance ?? usualClearance)
  const [out, turn] = [horizontal_clearance ?? usualClearance, (nest.yaw * Math.PI) / 180]
  return lifted({ ...nest, x: nest.x - out * Math.cos(turn), y: nest.y - out * Math.sin(turn) }, vertical_clearance ?? 0)
}

function distance(from: Pose, to: Pose): number {
  return Math.hypot(to.x - from.x, to.y - from.y, to.z - from.z)
}

/** The word for a skill in the answer to `can`. */
function asSkill(skill: Settings['can'][number]): string {
  return skill === motions.jog ? `${skill}=${jogAxes.join(',')}` : skill
}

function inWords(pose: Pose): string {
  return axes.map((axis) => pose[axis].toFixed(3)).join(' ')
}
