// The frames of an Inheco incubator shaker: requests with a checksum, replies in blocks, and what stands in both.

import type { Found } from '../transports/exchange.ts'

/** The end of a reply, from a unit with any number on its DIP switch. */
export const signature = /[\xb0-\xbf][\x20-\x2f]\x60/

/** `data` is the text of all blocks together; `error` is 0 when the unit took the command. */
export type Reply = { error: number; data: string }

const requestAddress = 0x30
const replyAddress = 0xb0
const textLength = 0xc0
const errorBase = 0x20
const tail = 0x60
/** No reply is longer; a header that begins more is none. */
const longest = 96

/** A command for one unit of a stack, the lowest being 0, behind the DIP switch's number. */
export function request(command: string, { dip, unit }: { dip: number; unit: number }): Uint8Array {
  const text = Buffer.from(`T0${unit}${command}`, 'latin1')
  const body = Buffer.from([text.length + 3, requestAddress + dip, textLength + text.length, ...text])
  return Buffer.concat([body, Buffer.from([checksum(body)])])
}

/** A CRC of eight bits, the lowest bit of each byte first. */
export function checksum(bytes: Uint8Array): number {
  let crc = 0xa1
  for (const byte of bytes) {
    for (let bit = 0; bit < 8; bit++) {
      const differs = ((byte >> bit) ^ crc) & 1
      crc = differs ? ((crc ^ 0x18) >> 1) | 0x80 : crc >> 1
    }
  }
  return crc
}

/** Finds the next reply: from the first header to the header, the error and the 0x60 that end it. */
export function framer(dip: number): (buffer: Buffer) => Found<Reply> | undefined {
  const header = replyAddress + dip
  return (buffer) => {
    const begin = buffer.indexOf(header)
    if (begin !== 0) return { used: begin < 0 ? buffer.length : begin }
    for (let i = 0; i + 2 < Math.min(buffer.length, longest); i++) {
      const error = buffer[i + 1]! - errorBase
      if (buffer[i] !== header || buffer[i + 2] !== tail || error < 0 || error > 15) continue
      const data = [...buffer.subarray(0, i)].filter((byte) => byte !== header && byte !== 0)
      return { used: i + 3, frame: { error, data: Buffer.from(data).toString('latin1').trim() } }
    }
    return buffer.length < longest ? undefined : { used: 1 }
  }
}

/** A state of one digit, such as 0 for a closed drawer. */
export function isDigit({ data }: Reply): boolean {
  return /^\d$/.test(data)
}

/** Tenths of °C. Of two digits and more, so that no state is one. */
export function isTenths({ data }: Reply): boolean {
  return /^-?\d{2,4}$/.test(data)
}

/** A version or a serial number; not what a state or a temperature looks like. */
export function isText({ data }: Reply): boolean {
  return /^[\x20-\x7e]{2,60}$/.test(data) && !/^-?\d{0,4}$/.test(data)
}

/** Orders are answered without data. */
export function isDone({ data }: Reply): boolean {
  return data === ''
}

export const errors = { restarted: 1, notInitialized: 7, drawerOpen: 13 }
