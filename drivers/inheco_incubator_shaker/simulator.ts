// An Inheco incubator shaker that is not there: frames in, blocks out, and behind them a drawer, a heater and a table.

import { Heater, Table, Timers } from '../simulated_parts.ts'
import type { MechanicalFault, Simulate, Simulator } from '../transports/simulator.ts'
import { modelOf, type Settings } from './models.ts'
import { checksum, errors } from './protocol.ts'

const answer_ms = 10
const drawer_ms = 4000
const rpmPerSecond = 500
const timeConstant_s = 600
/** Text of a reply goes in blocks of so many bytes. How long they really are is not known. */
const blockLength = 8
const mostBuffered = 256
const bad = { command: 2, operand: 3, protocol: 4, notNow: 8, drawer: 9 }

type Shaking = { amplitude: number; frequency: number; phase: number }

export const simulate: Simulate<Settings> = ({ send, clock, settings }): Simulator => {
  const { shakes, type } = modelOf(settings)
  const table = new Table(clock, rpmPerSecond)
  const heater = new Heater(clock, timeConstant_s)
  const answers = new Timers(clock)
  const motions = new Timers(clock)
  const present = new Set<MechanicalFault>()
  let buffer = Buffer.alloc(0)
  let initialized = false
  let drawer: 'open' | 'closed' | 'moving' = 'closed'
  let target = 37
  let wanted: Shaking = { amplitude: 20, frequency: 66, phase: 90 }
  /** What the table took over when it last started from rest. */
  let latched = wanted

  function say(error: number, text = ''): void {
    const header = 0xb0 + settings.dip
    const blocks: number[] = [header]
    for (let from = 0; from < text.length; from += blockLength)
      blocks.push(...Buffer.from(text.slice(from, from + blockLength), 'latin1'), header)
    const frame = text ? [...blocks.slice(0, -1), header] : blocks
    answers.after(answer_ms, () => send(Buffer.from([...frame, 0x20 + error, 0x60])))
  }

  /** A frame is as long as its first byte says, and the checksum. */
  function next(): Buffer | undefined {
    for (;;) {
      const length = buffer[0]
      if (length === undefined) return undefined
      const plausible =
        length >= 6 && length <= 64 && (buffer[1] ?? 0x30) >> 4 === 3 && (buffer[2] ?? 0xc0 + length - 3) === 0xc0 + length - 3
      if (plausible && buffer.length <= length) return undefined
      const frame = buffer.subarray(0, length + 1)
      buffer = buffer.subarray(plausible ? length + 1 : 1)
      if (plausible) return frame
    }
  }

  function take(frame: Buffer): void {
    if (frame[1] !== 0x30 + settings.dip) return
    const body = frame.subarray(0, -1)
    const text = body.toString('latin1', 3)
    if (checksum(body) !== frame.at(-1)) say(bad.protocol)
    else if (text.startsWith(`T0${settings.unit}`)) hear(text.slice(3))
  }

  function hear(command: string): void {
    const asked = readings()[command]
    if (asked !== undefined) say(0, asked)
    else if (command === 'AID') initialize()
    else if (!initialized && command.startsWith('A')) say(errors.notInitialized)
    else if (command === 'AOD') moveDrawer('open')
    else if (command === 'ACD') moveDrawer('closed')
    else if (shakes && command === 'ASEND') startShaking()
    else if (shakes && command === 'ASE0') done(() => table.goTo(0))
    else if (command === 'SHE0' || command === 'SHE1') done(() => heater.heatTo(command === 'SHE1' ? target : undefined))
    else if (command.startsWith('STT')) setTarget(command.slice(3))
    else if (shakes && command.startsWith('SSP')) setShaking(command.slice(3))
    else say(bad.command)
  }

  function readings(): Record<string, string | undefined> {
    const tenths = String(Math.round(heater.temperature * 10))
    return {
      RFV0: 'V0.0 simulated',
      RFV2: 'SIM-0001',
      RTS: type,
      'RDA0,0': '1',
      'RDA0,1': '1',
      RCM: '2020-01-01',
      RCD: '2020-01-01',
      RDM: '100',
      RDC1: '10',
      RDC2: '20',
      RPC1: '30',
      RPC2: '5',
      RMT: '850',
      RMT1: tenths,
      RDT: String(Math.round((target - heater.temperature) * 10)),
      ...(shakes && shaken()),
      REE: initialized ? '0' : '1',
      RDS: drawer === 'closed' ? '0' : '1',
      RLW: '1',
      RAT1: tenths,
      RAT2: tenths,
      RAT3: tenths,
      RTT: String(target * 10),
      RHE: heater.on ? '1' : '0',
      RSE: shakes ? shaking() : undefined,
    }
  }

  /** Frequencies and amplitudes that are set (0), that it has (1), and of the middle (2). */
  function shaken(): Record<string, string> {
    const now = table.moving ? latched : { amplitude: 0, frequency: 0 }
    const axes = ['X', 'Y'].map((axis) => ({
      [`RF${axis}0`]: String(wanted.frequency),
      [`RF${axis}1`]: String(now.frequency),
      [`RA${axis}0`]: String(wanted.amplitude),
      [`RA${axis}1`]: String(now.amplitude),
      [`RA${axis}2`]: '0',
    }))
    const phase = String(wanted.phase)
    return Object.assign({ RPS: phase, RPS0: phase, RPS1: phase }, ...axes)
  }

  function shaking(): string {
    if (table.target > 0) return '1'
    return table.speed > 0 ? '2' : '0'
  }

  function done(act: () => void): void {
    act()
    say(0)
  }

  function initialize(): void {
    table.goTo(0)
    heater.heatTo(undefined)
    initialized = true
    moveDrawer('closed')
  }

  /** It answers when the drawer has arrived. */
  function moveDrawer(to: 'open' | 'closed'): void {
    if (present.has('jam')) {
      say(bad.drawer)
      return
    }
    if (table.moving) {
      say(bad.notNow)
      return
    }
    motions.clear()
    if (drawer === to) {
      say(0)
      return
    }
    drawer = 'moving'
    motions.after(drawer_ms, () => {
      drawer = to
      say(0)
    })
  }

  function startShaking(): void {
    if (drawer !== 'closed') say(errors.drawerOpen)
    else {
      if (!table.moving) latched = wanted
      if (!present.has('jam')) table.goTo(latched.frequency * 6)
      say(0)
    }
  }

  function setTarget(digits: string): void {
    const tenths = Number(digits)
    if (!/^\d+$/.test(digits) || tenths > 850) {
      say(bad.operand)
      return
    }
    target = tenths / 10
    if (heater.on) heater.heatTo(target)
    say(0)
  }

  function setShaking(values: string): void {
    const [ax = -1, ay = -1, fx = -1, fy = -1, phase = -1] = values.split(',').map(Number)
    const good = within(ax, 0, 30) && within(ay, 0, 30) && within(fx, 66, 300) && within(fy, 66, 300) && within(phase, 0, 360)
    if (!good) {
      say(bad.operand)
      return
    }
    wanted = { amplitude: ax, frequency: fx, phase }
    say(0)
  }

  function breakDown(fault: MechanicalFault): void {
    if (fault === 'overtemperature') {
      heater.setTooHot(true)
      return
    }
    table.block()
    if (fault === 'interlock_open') {
      motions.clear()
      drawer = 'open'
    } else if (drawer === 'moving') {
      motions.clear()
      drawer = 'open'
      say(bad.drawer)
    }
  }

  return {
    receive(bytes) {
      buffer = Buffer.concat([buffer, bytes]).subarray(-mostBuffered)
      for (let frame = next(); frame; frame = next()) take(frame)
    },
    setFault(fault, isPresent) {
      if (isPresent) {
        present.add(fault)
        breakDown(fault)
      } else {
        present.delete(fault)
        if (fault === 'overtemperature') heater.setTooHot(false)
      }
      return true
    },
    powerOff() {
      answers.clear()
      motions.clear()
      if (drawer === 'moving') drawer = 'open'
      table.block()
      heater.heatTo(undefined)
    },
    get world() {
      return {
        moving: table.moving || drawer === 'moving',
        heating: heater.on,
        speed: table.speed,
        amplitude_mm: latched.amplitude / 10,
        temperature: heater.temperature,
        drawer,
        initialized,
      }
    },
  }
}

function within(value: number, least: number, most: number): boolean {
  return Number.isInteger(value) && value >= least && value <= most
}
