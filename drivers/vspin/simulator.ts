// A simulated VSpin: a bus with a servo that drives a rotor, and an I/O module that drives a door.

import type { Clock } from '../../src/kit/clock.ts'
import type { InstrumentEnd, MechanicalFault, Simulate, Simulator } from '../transports/simulator.ts'
import { WithMount } from '../with_mount.ts'
import { aux, checksum, command, decode, divisors, type Packet, servoItems, status, trajectory, u32 } from './nmc.ts'
import type { Settings } from './settings.ts'
import { Door } from './simulated_door.ts'
import { Rotor } from './simulated_rotor.ts'
import * as words from './words.ts'

/** The time for which modules are deaf after a reset. */
const deaf_ms = 300
const servoId = [0, 10]
const ioId = [2, 1]
/** Bits of a stop command, and of a homing command. */
const stop = { amplifier: 0x01, motorOff: 0x02, abrupt: 0x04, smooth: 0x08 }
const homing = { onIndex: 0x08 }
/** The speed in counts/s below which it counts as at rest. */
const visible = 1

type Module = {
  address: number
  items: number
  /** Carries out a command. */
  obey(packet: Packet): void
  reset(): void
  statusByte(): number
  /** Returns the status items that the bits of `items` select. */
  report(items: number): number[]
}

/** Answers as a VSpin does, on the clock that it is given. */
class SimulatedVSpin extends WithMount<InstrumentEnd<Settings>> implements Simulator {
  #jammed = false
  #deafUntil = this.at.clock.now()
  #speed = words.coldBaud
  #buffer = Buffer.alloc(0)
  readonly #door = new Door(this.at.clock)
  readonly #servo = servoModule(
    this.at.clock,
    () => this.#jammed || this.#door.bucketLocked,
    () => this.#door.locked,
  )
  readonly #modules: Module[] = [this.#servo, ioModule(this.#door)]

  receive(bytes: Uint8Array): void {
    // At another baud rate it receives garbage.
    if (this.at.clock.now() < this.#deafUntil || (this.at.baud && this.at.baud() !== this.#speed)) {
      this.#buffer = Buffer.alloc(0)
      return
    }
    this.#buffer = Buffer.concat([this.#buffer, bytes])
    for (let found = decode(this.#buffer); found; found = decode(this.#buffer)) {
      this.#buffer = this.#buffer.subarray(found.used)
      if (found.packet) this.#take(found.packet)
    }
  }

  setFault(fault: MechanicalFault, present: boolean): boolean {
    if (fault === 'jam') this.#jammed = present
    else if (fault === 'interlock_open') this.#door.switchesOpen = present
    else return false
    return true
  }

  powerOff(): void {
    this.#resetAll()
    this.#deafUntil = Number.POSITIVE_INFINITY
    this.#door.powerOff()
  }

  get world(): Simulator['world'] {
    const { rotor } = this.#servo
    return {
      moving: Math.abs(rotor.velocity) > visible,
      heating: false,
      rpm: (Math.abs(rotor.velocity) / words.countsPerTurn) * 60,
      door: this.#door.state,
      door_locked: this.#door.locked,
      bucket_locked: this.#door.bucketLocked,
      bucket: bucketAtDoor(rotor.angle, this.at.settings.remainder),
      baud: this.#speed,
    }
  }

  #resetAll(): void {
    for (const module of this.#modules) {
      Object.assign(module, { address: 0, items: 0 })
      module.reset()
    }
    this.#speed = words.coldBaud
    this.#deafUntil = this.at.clock.now() + deaf_ms
    this.#buffer = Buffer.alloc(0)
  }

  #take(packet: Packet): void {
    const module = this.#modules.find(({ address }) => address === packet.address)
    if (module) this.#answer(module, packet)
    else if (packet.address >= 0x80 && packet.sound) this.#toAll(packet)
  }

  #answer(module: Module, packet: Packet): void {
    if (packet.sound) obey(module, packet)
    const items = packet.sound && packet.command === command.readStatus ? packet.data[0]! : module.items
    const body = [module.statusByte() | (packet.sound ? 0 : status.checksumError), ...module.report(items)]
    this.at.send(Uint8Array.from([...body, checksum(body)]))
  }

  #toAll(packet: Packet): void {
    if (packet.command === command.hardReset) this.#resetAll()
    else if (packet.command === command.setBaud) this.#speed = speedOf(packet.data[0]!) ?? this.#speed
    else for (const module of this.#modules) if (module.address !== 0) obey(module, packet)
  }
}

export const simulate: Simulate<Settings> = (at) => new SimulatedVSpin(at)

function obey(module: Module, packet: Packet): void {
  if (packet.command === command.setAddress) module.address = packet.data[0]!
  else if (packet.command === command.defineStatus) module.items = packet.data[0]!
  else module.obey(packet)
}

function speedOf(divisor: number): number | undefined {
  const found = Object.entries(divisors).find(([, known]) => known === divisor)
  return found && Number(found[0])
}

/** A loaded trajectory, which is begun by a separate command. */
type Trajectory = { bits: number; position: number; velocity: number; acceleration: number }

function servoModule(clock: Clock, held: () => boolean, doorLocked: () => boolean): Module & { rotor: Rotor } {
  let amplifier = false
  let loaded: Trajectory = { bits: 0, position: 0, velocity: 0, acceleration: 0 }
  const rotor = new Rotor({ clock, held, powered: () => amplifier && doorLocked() })

  function start(): void {
    const direction = (loaded.bits & trajectory.reverse) !== 0 ? -1 : 1
    const velocity = words.velocityOfWord(loaded.velocity)
    if ((loaded.bits & trajectory.servoOn) === 0 || !amplifier) return
    if ((loaded.bits & trajectory.velocityMode) !== 0) rotor.goAt(direction * velocity, loaded.acceleration)
    else rotor.goTo(loaded.position, velocity, loaded.acceleration)
  }

  const orders: Partial<Record<number, (data: Buffer) => void>> = {
    [command.resetPosition]: () => rotor.positionIsZero(),
    [command.loadTrajectory](data) {
      loaded = trajectoryOf(data, loaded)
      if ((loaded.bits & trajectory.startNow) !== 0) start()
    },
    [command.start]: start,
    [command.stop]([bits = 0]) {
      if ((bits & stop.motorOff) !== 0) rotor.letGo()
      else if ((bits & stop.smooth) !== 0) rotor.stopSmoothly()
      else if ((bits & stop.abrupt) !== 0) rotor.stopAbruptly()
      amplifier = (bits & stop.amplifier) !== 0 || (amplifier && (bits & (stop.abrupt | stop.smooth)) !== 0)
    },
    [command.homing]([bits = 0]) {
      if ((bits & homing.onIndex) !== 0) rotor.seekIndex()
    },
    [command.clearBits]() {
      rotor.positionError = false
    },
  }

  return {
    address: 0,
    items: 0,
    rotor,
    obey: (packet) => orders[packet.command]?.(packet.data),
    reset() {
      amplifier = false
      rotor.letGo()
      rotor.positionIsZero()
      rotor.positionError = true
    },
    statusByte() {
      return (
        (rotor.done ? status.moveDone : 0) |
        (amplifier ? status.power : 0) |
        (rotor.positionError ? status.positionError : 0) |
        (rotor.seeking ? status.homing : 0)
      )
    },
    report(items) {
      const values: Record<keyof typeof servoItems, number[]> = {
        position: u32(rotor.position),
        analog: [0],
        velocity: u32(words.tachometerOf(rotor.velocity)).slice(0, 2),
        aux: [(rotor.driven ? aux.servoOn : 0) | (rotor.done ? aux.accelerationDone | aux.slewDone : 0)],
        home: u32(rotor.home),
        id: servoId,
        positionError: [0, 0],
        points: [0],
      }
      const names = Object.keys(servoItems) as (keyof typeof servoItems)[]
      return names.filter((name) => (items & servoItems[name].bit) !== 0).flatMap((name) => values[name])
    },
  }
}

/** Parses a trajectory. Values that the frame leaves out keep their last loaded value. */
function trajectoryOf(data: Buffer, before: Trajectory): Trajectory {
  const bits = data[0] ?? 0
  let at = 1
  const next = (bit: number, otherwise: number) => {
    if ((bits & bit) === 0 || data.length < at + 4) return otherwise
    at += 4
    return data.readUInt32LE(at - 4)
  }
  return {
    bits,
    position: next(trajectory.position, before.position),
    velocity: next(trajectory.velocity, before.velocity),
    acceleration: next(trajectory.acceleration, before.acceleration),
  }
}

function ioModule(door: Door): Module {
  let inputs = [0xff, 0x0f]
  let levels = [0, 0]
  const drive = () => door.drive(levels[0]! & ~inputs[0]!, levels[1]! & ~inputs[1]!)
  return {
    address: 0,
    items: 0,
    obey({ command: asked, data }) {
      if (asked === command.direction) inputs = [...data]
      if (asked === command.outputs) levels = [...data]
      drive()
    },
    reset() {
      inputs = [0xff, 0x0f]
      levels = [0, 0]
      drive()
    },
    statusByte: () => 0,
    report: (items) => [
      ...((items & 0x01) !== 0 ? door.inputs() : []),
      ...((items & 0x02) !== 0 ? [0] : []),
      ...((items & 0x20) !== 0 ? ioId : []),
    ],
  }
}

/** Returns the bucket at the door, if there is one. */
function bucketAtDoor(angle: number, remainder: number): 1 | 2 | null {
  const half = words.countsPerTurn / 2
  const away = angle + remainder
  if (Math.abs(away - Math.round(away / half) * half) > 50) return null
  return Math.round(away / half) % 2 === 0 ? 1 : 2
}
