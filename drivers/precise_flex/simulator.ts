// A simulated PreciseFlex with its command server: one interpreter, which hears nothing while it works on a command that parks it.

import type { Pose } from '../../src/devices/reading_table.ts'
import { Timers } from '../simulated_parts.ts'
import { TextPort } from '../simulated_port.ts'
import type { InstrumentEnd, MechanicalFault, Simulate, Simulator } from '../transports/simulator.ts'
import { WithMount } from '../with_mount.ts'
import { attached, errors, hardStop, ready } from './errors.ts'
import type { Axes } from './protocol.ts'
import type { Settings } from './settings.ts'
import { axesAt, between, configAt, homed, isInRange, links, poseAt, ranges, timeFor } from './simulated_geometry.ts'

/** The times that commands take, in ms. */
const powers_ms = 3000
const homes_ms = 4000
const fingers_ms = 400
/** The power states besides those of `errors.ts`. */
const off = 7
const failed = 5
const homing = 28
/** The force of a grip keeps the goal of the fingers so much below the width of the plate, in mm. */
const pressing = 3
const finger = 4
/** The most lines that wait while the interpreter is parked; more are lost. */
const mostWaiting = 64

type Motion = { from: Axes; to: Axes; began: number; ms: number }
type Commands = Readonly<Record<string, (words: readonly number[], line: string) => void>>

export const simulate: Simulate<Settings> = (at) => new SimulatedPreciseFlex(at)

class SimulatedPreciseFlex extends WithMount<InstrumentEnd<Settings>> implements Simulator {
  readonly #port = new TextPort({ ...this.at, longest: 256, answer_ms: 2, ending: '\r\n', hear: (line) => this.#hear(line) })
  readonly #timers = new Timers(this.at.clock)
  #power = off
  #isAttached = false
  #isHomed = false
  /** The error that the robot has met; 0 if none. */
  #fault = 0
  #isJammed = false
  #isStopPressed = false
  #axes: Axes = this.#fitted(homed)
  /** The goal of the last motion. */
  #goal: Axes = this.#axes
  #motion: Motion | undefined
  #holds = false
  readonly #profiles = new Map<number, number[]>()
  #station: Axes = this.#axes
  readonly #grip = { open: 110, close: 80, width: 85.5 }
  /** Whether the interpreter is parked, and the lines that wait for it. */
  #isParked = false
  #waiting: string[] = []
  /** The axes whose motors are free, by their numbers. */
  readonly #free = new Set<number>()
  /** Called when the motion has ended, by itself or not. */
  #stands: (() => void) | undefined

  get world() {
    return {
      moving: this.#motion !== undefined || this.#power === homing,
      heating: false,
      homed: this.#isHomed,
      powered: this.#power === attached || this.#power === ready,
      gripper: this.#holds ? 'full' : 'empty',
      free: [...this.#free],
      axes: this.#where(),
      pose: poseAt(this.#where()),
    }
  }

  receive(bytes: Uint8Array): void {
    this.#port.receive(bytes)
  }

  setFault(fault: MechanicalFault, present: boolean): boolean {
    if (fault === 'jam') {
      this.#isJammed = present
      if (present && (this.#motion || this.#power === homing)) this.#fail(-3100, failed)
      return true
    }
    if (fault !== 'interlock_open') return false
    this.#isStopPressed = present
    if (present) this.#fail(-1028, hardStop)
    else if (this.#power === hardStop) this.#power = off
    return true
  }

  powerOff(): void {
    this.#settle()
    this.#timers.clear()
    this.#port.powerOff()
    this.#power = off
  }

  #hear(line: string): void {
    if (!this.#isParked) this.#obey(line)
    else if (this.#waiting.length < mostWaiting) this.#waiting.push(line)
  }

  #obey(line: string): void {
    const [verb = '', ...words] = line.split(/\s+/)
    const command = this.#commands[verb.toLowerCase()]
    if (command) command(words.map(Number), line)
    else this.#refuse(-2805)
  }

  /** Hears nothing until the work is done, and then what has come meanwhile. */
  #park(ms: number, done: () => void): void {
    this.#isParked = true
    this.#timers.after(ms, () => this.#unpark(done))
  }

  #unpark(done: () => void): void {
    this.#isParked = false
    done()
    while (!this.#isParked && this.#waiting.length > 0) this.#obey(this.#waiting.shift()!)
  }

  /** Parks until the motion has ended. */
  #parkWhileMoving(done: () => void): void {
    if (!this.#motion) done()
    else {
      this.#isParked = true
      this.#stands = () => this.#unpark(done)
    }
  }

  readonly #commands: Commands = {
    version: () => this.#say('TCP Command Server 3.0D4 simulated, PARobot Module 3.0D4, SSGrip Module 3.0D4'),
    mode: () => this.#say(),
    nop: () => (this.#fault ? this.#refuse(this.#fault) : this.#say()),
    selectrobot: () => this.#say(),
    mspeed: ([speed]) => this.#say(speed === undefined ? '100' : ''),
    freemode: ([axis = 0]) => this.#freeMode(axis),
    exit: () => {},
    sysstate: () => this.#say(`${this.#power}`),
    hp: ([on]) => this.#switch(on),
    attach: ([on]) => this.#attach(on),
    home: () => this.#home(),
    halt: () => {
      this.#settle()
      this.#say()
    },
    wherej: () => this.#say(inWords(this.#where())),
    destj: () => this.#say(inWords(this.#goal)),
    wherec: () => this.#say(`${inWords(Object.values(poseAt(this.#where())))} ${configAt(this.#where())}`),
    waitforeom: () => this.#parkWhileMoving(() => this.#say()),
    profile: ([number = 1, ...values]) => this.#profile(number, values),
    speed: ([number = 1, speed]) => this.#speed(number, speed),
    movej: ([profile, ...axes]) => this.#move(profile, () => axes),
    movec: ([profile, x = 0, y = 0, z = 0, yaw = 0, pitch = 0, roll = 0, config = 0]) =>
      this.#move(profile, (now) => axesAt({ x, y, z, yaw, pitch, roll } as Pose, config & 3 || configAt(now), now) ?? -1040),
    moveoneaxis: ([axis = 0, goal = 0, profile]) => this.#move(profile, (now) => now.map((value, i) => (i === axis - 1 ? goal : value))),
    locangles: ([, ...axes]) => {
      this.#station = axes.length > 5 ? [...axes.slice(1), axes[0]!] : axes
      this.#say()
    },
    stationtype: () => this.#say(),
    pickplate: () => this.#carry(true),
    placeplate: () => this.#carry(false),
    graspdata: ([width = 0]) => {
      this.#grip.width = width
      this.#say()
    },
    gripopenpos: ([axis]) => this.#setting('open', axis),
    gripclosepos: ([axis]) => this.#setting('close', axis),
    gripper: ([how]) => this.#fingersTo(how === 1 ? this.#grip.open : this.#grip.close, how === 2),
    graspplate: ([width = 0]) => this.#fingersTo(this.#axisAt(width), true, '-1'),
    releaseplate: ([width = 0]) => this.#fingersTo(this.#axisAt(width), false),
    isfullyclosed: () => this.#say(this.#axes[finger]! <= ranges[finger]![0] + 2 ? '-1' : '0'),
    pd: ([number = 0]) => this.#parameter(number),
  }

  #switch(on: number | undefined): void {
    if (on === undefined) this.#say(this.#power === ready || this.#power === attached ? '1' : '0')
    else if (on === 0) {
      this.#settle()
      this.#losePower(off)
      this.#say()
    } else if (this.#isStopPressed) this.#refuse(-1028)
    else if (this.#power === ready || this.#power === attached) this.#say()
    else
      this.#park(powers_ms, () => {
        if (!this.#isStopPressed) [this.#fault, this.#power] = [0, ready]
        this.#answer(this.#isStopPressed ? -1028 : 0)
      })
  }

  #attach(on: number | undefined): void {
    const isPowered = this.#power === ready || this.#power === attached
    if (on === undefined) this.#say(this.#isAttached ? '-1' : '0')
    else if (on === 1 && !isPowered) this.#refuse(-1046)
    else {
      this.#isAttached = on === 1
      if (isPowered) this.#power = this.#isAttached ? attached : ready
      this.#say()
    }
  }

  /** Frees an axis, or all for 0; -1 ends that. */
  #freeMode(axis: number): void {
    const isThere = axis >= -1 && axis <= this.#axes.length
    const refusal = axis === -1 ? 0 : !isThere ? -2800 : this.#power === attached ? 0 : -1009
    if (axis === -1) this.#free.clear()
    else if (!refusal) for (const one of axis === 0 ? this.#axes.keys() : [axis - 1]) this.#free.add(one + 1)
    this.#answer(refusal)
  }

  #home(): void {
    const refusal = this.#whyNot()
    if (refusal && refusal !== -1021) this.#refuse(refusal)
    else {
      this.#power = homing
      if (this.#isJammed) this.#fail(-3100, failed)
      this.#park(homes_ms, () => this.#homed())
    }
  }

  #homed(): void {
    if (this.#power === homing) {
      this.#axes = this.#fitted(homed)
      this.#goal = this.#axes
      this.#isHomed = true
      this.#power = attached
      this.#say()
    } else this.#refuse(this.#fault || -1046)
  }

  /** The error for a motion that cannot begin; 0 if it can. */
  #whyNot(): number {
    if (this.#isStopPressed) return -1028
    if (this.#fault) return this.#fault
    if (this.#power !== attached) return this.#power === ready ? -1009 : -1046
    if (this.#free.size > 0) return -1017
    return this.#isHomed ? 0 : -1021
  }

  /** Begins a motion. A second one waits, and parks the interpreter, until the first has ended. */
  #move(profile = 1, goalFrom: (now: Axes) => Axes | number): void {
    this.#parkWhileMoving(() => {
      const goal = goalFrom(this.#axes)
      const refusal = this.#whyNot() || (typeof goal === 'number' ? goal : isInRange(goal) ? 0 : -1012)
      this.#answer(refusal)
      if (!refusal) this.#begin(goal as Axes, profile)
    })
  }

  #begin(goal: Axes, profile: number): void {
    const to = this.#heldApart(goal)
    const ms = timeFor(this.#axes, to, this.#profiles.get(profile)?.[0] ?? 50)
    this.#goal = goal
    this.#motion = { from: this.#axes, to, began: this.at.clock.now(), ms }
    const its = this.#motion
    this.#timers.after(ms, () => {
      if (this.#motion === its) this.#settle()
    })
    if (this.#isJammed) this.#fail(-3100, failed)
  }

  /** Returns the axes at the end of a motion: labware keeps the fingers apart, and falls when they open. */
  #heldApart(goal: Axes): Axes {
    const [now, wanted] = [this.#axes[finger]!, goal[finger]!]
    const plate = this.#axisAt(this.at.settings.grip_width)
    if (this.#holds) this.#holds = wanted <= now + 0.01
    else this.#holds = this.at.settings.gripper === 'axis' && now > plate && wanted < plate
    const apart = this.#holds ? Math.min(now, Math.max(plate, wanted)) : wanted
    return goal.map((value, i) => (i === finger ? apart : value))
  }

  /** Ends the motion in place. */
  #settle(): void {
    const stands = this.#stands
    this.#axes = this.#where()
    this.#motion = undefined
    this.#stands = undefined
    stands?.()
  }

  #where(): Axes {
    if (!this.#motion) return this.#axes
    const { from, to, began, ms } = this.#motion
    return between(from, to, Math.min(1, (this.at.clock.now() - began) / ms))
  }

  /** Ends all motion, and switches the motor power off. */
  #fail(fault: number, power: number): void {
    if (fault !== -1028) this.#fault = fault
    this.#losePower(power)
    this.#settle()
  }

  #losePower(power: number): void {
    this.#power = power
    this.#isAttached = false
    this.#free.clear()
  }

  #profile(number: number, values: number[]): void {
    const known = this.#profiles.get(number) ?? [50, 0, 100, 100, 0.1, 0.1, 0, 0]
    if (values.length > 0) this.#profiles.set(number, values)
    this.#say(values.length > 0 ? '' : [number, ...known].join(' '))
  }

  #speed(number: number, speed: number | undefined): void {
    const [now = 50, ...rest] = this.#profiles.get(number) ?? [50, 0, 100, 100, 0.1, 0.1, 0, 0]
    if (speed !== undefined) this.#profiles.set(number, [speed, ...rest])
    this.#say(speed === undefined ? `${number} ${now}` : '')
  }

  #setting(which: 'open' | 'close', axis: number | undefined): void {
    if (axis !== undefined) this.#grip[which] = axis
    this.#say(axis === undefined ? `${this.#grip[which]}` : '')
  }

  #fingersTo(axis: number, isGrip: boolean, answer = ''): void {
    const refusal = this.#whyNot()
    if (refusal) this.#refuse(refusal)
    else this.#park(fingers_ms, () => this.#fingersAt(axis, isGrip, answer))
  }

  #fingersAt(axis: number, isGrip: boolean, answer: string): void {
    const refusal = this.#whyNot()
    if (!refusal) {
      this.#axes = this.#axes.map((value, i) => (i === finger ? axis : value))
      this.#goal = this.#axes.map((value, i) => (i === finger && isGrip ? axis - pressing : value))
      this.#holds = isGrip
    }
    this.#answer(refusal, answer)
  }

  /** The whole pick or place of the command server, in which it hears nothing. */
  #carry(isPick: boolean): void {
    const refusal = this.#whyNot() || (isInRange(this.#station) ? 0 : -1012)
    if (refusal) this.#refuse(refusal)
    else {
      this.#begin(this.#station, 1)
      const axis = isPick ? this.#axisAt(this.#grip.width) : this.#grip.open
      this.#parkWhileMoving(() => this.#fingersTo(axis, isPick, isPick ? '-1' : ''))
    }
  }

  #parameter(number: number): void {
    const axes = (values: Axes) => this.#fitted(values).join(', ')
    const values: Record<number, string> = {
      ...{
        100: 'simulated',
        101: 'simulated',
        102: '1',
        103: 'GPL 5.1D4',
        110: 'SIM-C-1',
        116: '12, 0',
        2000: '5',
        2002: 'PF400 simulated',
      },
      ...{ 2003: '31', 2004: '0', 2701: '1000, 0', 2703: '5000, 0', 2704: '100', 2705: '100', 2706: '100', 16000: 'SIM-0001' },
      2700: axes([500, 360, 560, 990, 100, 750]),
      2702: axes([2500, 1800, 2800, 4950, 500, 3000]),
      2800: this.#isHomed ? '1' : '0',
      16050: axes([0, links.inner, links.outer, 0, 0, 0]),
      16051: `0, 0, ${links.hand}, 0, 0, 0`,
    }
    for (const [most, least] of [
      [16075, 16076],
      [16077, 16078],
    ]) {
      values[most!] = axes(ranges.map(([, max]) => max))
      values[least!] = axes(ranges.map(([min]) => min))
    }
    const value = values[number]
    if (value === undefined) this.#refuse(-1501)
    else this.#say(value)
  }

  #axisAt(width: number): number {
    return width + this.at.settings.finger_offset
  }

  /** Leaves the rail out of the axes where there is none. */
  #fitted(axes: Axes): Axes {
    return axes.slice(0, this.at.settings.rail ? 6 : 5)
  }

  #say(text = ''): void {
    this.#port.say(`0 ${text}`.trim())
  }

  /** Answers a command that has an error, or none. */
  #answer(code: number, text = ''): void {
    if (code) this.#refuse(code)
    else this.#say(text)
  }

  #refuse(code: number): void {
    this.#port.say(`${code} *${errors.codes[code]?.[0] ?? 'an error'}*`)
  }
}

function inWords(numbers: Axes): string {
  return numbers.map((number) => number.toFixed(3)).join(' ')
}
