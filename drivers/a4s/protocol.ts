// The protocol of the a4S: frames from `*` to `!` with a checksum of two letters.

import type { Found } from '../transports/exchange.ts'

/** Matches a status or an answer. */
export const signature = /\*T\d+:\d+:\d+=[\w,]+!|\*[YNX]\d\d[A-P]{2}!/

/** A status frame. The instrument sends one about every second; it cannot be requested. */
export type Status = {
  /** °C */
  temperature: number
  system: (typeof systems)[number]
  heater: (typeof heaters)[number]
  /** `00` is no error; the meaning of the others is not known. */
  error: string
  sensors: { open: boolean; closed: boolean; door_closed: boolean; roll: boolean }
}

export const systems = ['idle', 'single cycle', 'repeat', 'error', 'finish'] as const
export const heaters = ['off', 'ready', 'heating', 'cooling', 'converging'] as const
export const sensorBits = {
  middle: 1,
  open: 2,
  closed: 4,
  door_closed: 8,
  roll: 16,
  motor_up: 32,
  motor_down: 64,
  not_connected: 128,
} as const

export const reset = command('SR=')
export const go = command('GS=')
export const openShuttle = command('MO=')
export const closeShuttle = command('MC=')
/** Without `=` and without `!`, as all observed hosts send it. */
export const heaterOff = '*00H0ZZ'

/** Makes the command for a set point in whole °C, with which heating starts. */
export function heatTo(temperature: number): string {
  return command(`DH=${digits(temperature)}`)
}

/** Makes the command for a seal of `duration` seconds, in tenths. */
export function sealFor(duration: number): string {
  return command(`DT=${digits(Math.round(duration * 10))}`)
}

/** Finds the next frame, without its checksum. A frame with a wrong one is skipped. */
export function nextFrame(buffer: Buffer): Found<string> | undefined {
  const text = buffer.toString('latin1')
  const begin = text.search(/[^\r]/)
  if (begin < 0) return undefined
  if (text[begin] !== '*') return { used: until(text, '*', begin) }
  const end = text.indexOf('!', begin)
  if (end < 0) return undefined
  const start = text.lastIndexOf('*', end)
  if (start > begin) return { used: start }
  const body = text.slice(start + 1, Math.max(start + 1, end - 2))
  const good = text.slice(end - 2, end) === checksum(body)
  return good ? { used: end + 1, frame: body } : { used: end + 1 }
}

/** Computes the value with which `*`, the body, the value and `!` add up to 0 mod 256, as two letters from A to P. */
export function checksum(body: string): string {
  let sum = 0
  for (const byte of Buffer.from(`*${body}!`, 'latin1')) sum += byte
  const value = -sum & 0xff
  return String.fromCharCode(0x41 + (value >> 4), 0x41 + (value & 15))
}

/** Parses a status; undefined for other frames. */
export function readStatus(body: string): Status | undefined {
  const found = /^T\d+:\d+:\d+=(\d+),(\d),(\d),(\w+),\w+,(\d+),\d+$/.exec(body)
  if (!found) return undefined
  const [, tenths, system, heater, error, sensors] = found as unknown as [string, string, string, string, string, string]
  const known = { system: systems[Number(system)], heater: heaters[Number(heater)] }
  if (known.system === undefined || known.heater === undefined) return undefined
  return { temperature: Number(tenths) / 10, system: known.system, heater: known.heater, error, sensors: readSensors(Number(sensors)) }
}

/** Reads the firmware's tag from the line after a reset, such as `515A`; undefined for other frames. */
export function readTag(body: string): string | undefined {
  return /^D(\w+)=/.exec(body)?.[1]
}

export function isAnswer(body: string): boolean {
  return /^[YNX]\d*$/.test(body)
}

function readSensors(bits: number): Status['sensors'] {
  const has = (bit: number) => (bits & bit) !== 0
  return {
    open: has(sensorBits.open),
    closed: has(sensorBits.closed),
    door_closed: has(sensorBits.door_closed),
    roll: has(sensorBits.roll),
  }
}

/** Ends a command with `zz` instead of a checksum, as observed hosts do and real instruments accept. */
function command(body: string): string {
  return `*00${body}zz!`
}

function digits(value: number): string {
  return String(value).padStart(4, '0')
}

function until(text: string, mark: string, from: number): number {
  const at = text.indexOf(mark, from)
  return at < 0 ? text.length : at
}
