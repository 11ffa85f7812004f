// The protocol of Hettich robotic centrifuges: telegrams with an address that ask for a parameter or set one, and a check character.

import type { Found } from '../transports/exchange.ts'

const control = { stx: 0x02, etx: 0x03, eot: 0x04, enq: 0x05, ack: 0x06, nak: 0x15 } as const
const equals = 0x3d

/** A parameter to ask for; with a value, to set. */
export type Question = { code: string; value?: number }

/** The acknowledgement of a setting, or the value of a parameter. */
export type Reply = { acknowledged: boolean } | { code: string; value: number }

/** The parameters by their numbers. */
export const codes = {
  start: '00521',
  activate: '00522',
  target: '00524',
  position: '00526',
  hatch: '00528',
  type: '00537',
  generation: '00600',
  run_time: '00601',
  elapsed: '00602',
  speed: '00603',
  actual_speed: '00604',
  highest_speed: '00605',
  longest_run_up: '00614',
  state: '00634',
  rotor: '00635',
  version: '00636',
  faults: '00685',
} as const

/** The commands of the parameters that take some. */
export const commands = {
  spin: { code: codes.start, value: 2 },
  stop: { code: codes.start, value: 1 },
  activate: { code: codes.activate, value: 1 },
  positionSlowly: { code: codes.position, value: 0x01 },
  openHatch: { code: codes.position, value: 0x60 },
  closeHatch: { code: codes.position, value: 0x70 },
  endPositioning: { code: codes.position, value: 0x80 },
} as const

/** Matches the number of the second generation, in the answer to the first question. */
export const signature = /[A-Z[\\\]].00600=1234/
export const secondGeneration = 0x1234

/** Computes the check character over the bytes after STX up to ETX. */
export function checkCharacter(bytes: Uint8Array): number {
  return bytes.reduce((check, byte) => check ^ byte, 0)
}

export function encode({ code, value }: Question, address: string): Uint8Array {
  if (value === undefined) return Buffer.from([control.eot, ...Buffer.from(`${address}${code}`, 'latin1'), control.enq])
  const body = Buffer.from([...Buffer.from(`${code}=${hex(value)}`, 'latin1'), control.etx])
  return Buffer.from([control.eot, address.charCodeAt(0), control.stx, ...body, checkCharacter(body)])
}

function hex(value: number): string {
  return value.toString(16).toUpperCase().padStart(4, '0')
}

/** The bytes of a value on the wire: address, STX, code, equals sign, four digits, ETX, check character. */
const valueLength = 14

/** Makes the function that finds the next reply of the centrifuge with this address. */
export function framer(address: string): (buffer: Buffer) => Found<Reply> | undefined {
  return (buffer) => {
    const begin = buffer.indexOf(address, 0, 'latin1')
    if (begin !== 0) return { used: begin < 0 ? buffer.length : begin }
    if (buffer.length < 2) return undefined
    const kind = buffer[1]
    if (kind === control.ack || kind === control.nak) return { used: 2, frame: { acknowledged: kind === control.ack } }
    if (kind !== control.stx) return { used: 1 }
    // A reply that was cut off, before the next one.
    const next = nextReply(buffer, address)
    if (next < valueLength) return { used: next }
    if (buffer.length < valueLength) return undefined
    const value = valueIn(buffer.subarray(2, valueLength))
    return value ? { used: valueLength, frame: value } : { used: 1 }
  }
}

/** Returns the place of the next reply behind the first; infinite without one. */
function nextReply(buffer: Buffer, address: string): number {
  for (let i = buffer.indexOf(address, 1, 'latin1'); i > 0; i = buffer.indexOf(address, i + 1, 'latin1')) {
    const kind = buffer[i + 1]
    if (kind === control.ack || kind === control.nak || kind === control.stx) return i
  }
  return Number.POSITIVE_INFINITY
}

function valueIn(bytes: Buffer): Reply | undefined {
  const body = bytes.subarray(0, 11)
  if (body[10] !== control.etx || body[5] !== equals || checkCharacter(body) !== bytes[11]) return undefined
  const [, code, value] = /^(\d{5})=([0-9A-F]{4})/.exec(body.toString('latin1')) ?? []
  return code && value ? { code, value: Number.parseInt(value, 16) } : undefined
}

export type Phase = 'standstill' | 'accelerating' | 'centrifuging' | 'braking' | 'unknown'

/** Reads the state: the phase of a run, whether one cannot be started, and the number of an error. */
export function stateOf(value: number): { phase: Phase; mayNotStart: boolean; error: number | null } {
  const low = value & 0xff
  const high = value >> 8
  const phase = low & 0x10 ? 'braking' : low & 0x08 ? 'centrifuging' : low & 0x04 ? 'accelerating' : low & 0x02 ? 'standstill' : 'unknown'
  return { phase, mayNotStart: (low & 0x01) !== 0, error: high & 0x80 ? high & 0x7f : null }
}

/** Reads the second state: the key switch, the lid and the rotor. */
export function rotorOf(value: number): { isRemote: boolean; lidClosed: boolean; hasRotor: boolean; isWornOut: boolean; number: number } {
  const key = value & 0x07
  const high = value >> 8
  return {
    isRemote: key === 2 || key === 4 || key === 5,
    lidClosed: (high & 0x02) !== 0,
    hasRotor: (high & 0x04) === 0,
    isWornOut: (high & 0x40) !== 0,
    number: (value >> 4) & 0x0f,
  }
}

/** Reads the state of the hatch, and of the rotor under it. */
export function hatchOf(value: number) {
  const high = value >> 8
  const low = value & 0xff
  return {
    isOpen: (high & 0x20) !== 0 && (high & 0x07) === 0,
    isClosed: (high & 0x18) === 0x18 && (high & 0x07) === 0,
    isMoving: (high & 0x07) !== 0,
    rotorMoves: (low & 0x01) !== 0,
    isPositioning: (low & 0x02) !== 0,
    isInPosition: (low & 0x04) !== 0,
    hasFailed: (high & 0x40) !== 0 || (low & 0x18) !== 0,
  }
}

/** The meanings of the bits of the fault register, the lowest first. */
const faultWords = [
  'it was switched on, or its power failed',
  'a byte had the wrong parity',
  'the rotor has done all its cycles',
  'the check character was wrong',
  'a telegram was damaged',
  'it does not know the parameter',
  'the parameter cannot be set',
  'it does not take that value now',
]

/** Whether the fault register says that the centrifuge was switched on since it was read last. */
export function wasSwitchedOn(faults: number): boolean {
  return (faults & 0x01) !== 0
}

export function inWords(faults: number): string {
  const words = faultWords.filter((_, bit) => faults & (1 << bit))
  return words.join(', and ') || 'it gives no reason'
}

/** The types of centrifuges by their numbers. */
export const types: Readonly<Record<number, string>> = {
  59392: 'MIKRO 220 POS',
  59393: 'MIKRO 220 R POS',
  51200: 'ROTANTA 460 POS',
  51457: 'ROTANTA 460 R POS',
  34816: 'ROTINA 380 POS',
  35073: 'ROTINA 380 R POS',
}

const perRpm2AndMm = 1.118e-6

/** Returns the speed for a force, for a rotor with this radius in mm. */
export function rpmOf(g: number, radius: number): number {
  return Math.round(Math.sqrt(g / (perRpm2AndMm * radius)))
}

export function forceOf(rpm: number, radius: number): number {
  return perRpm2AndMm * radius * rpm ** 2
}
