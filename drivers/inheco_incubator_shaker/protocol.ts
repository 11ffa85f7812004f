// The protocol of an Inheco incubator shaker: requests with a checksum, and replies in blocks.

import type { Found } from '../transports/exchange.ts'

/** Matches the end of a reply, with any number of the DIP switch. */
export const signature = /[\xb0-\xbf][\x20-\x2f]\x60/

/** `data` is the text of all blocks; `error` is 0 if the unit accepted the command. */
export type Reply = { error: number; data: string }

const requestAddress = 0x30
const replyAddress = 0xb0
const textLength = 0xc0
const errorBase = 0x20
const tail = 0x60
/** The most bytes of a reply; a header of a longer one is noise. */
const longest = 96

/** Encodes a command for a unit of the stack, from 0 at the bottom, with the number of its DIP switch. */
export function request(command: string, { dip, unit }: { dip: number; unit: number }): Uint8Array {
  const text = Buffer.from(`T0${unit}${command}`, 'latin1')
  const body = Buffer.from([text.length + 3, requestAddress + dip, textLength + text.length, ...text])
  return Buffer.concat([body, Buffer.from([checksum(body)])])
}

/** Computes a CRC-8, the lowest bit of each byte first. */
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

/** Makes the function that finds the next reply, from the first header to the header, error and 0x60 at its end. */
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

/** Whether a reply is a state of one digit, such as 0 for a closed drawer. */
export function isDigit({ data }: Reply): boolean {
  return /^\d$/.test(data)
}

/** Whether a reply is a temperature in tenths of °C: two digits or more, unlike a state. */
export function isTenths({ data }: Reply): boolean {
  return /^-?\d{2,4}$/.test(data)
}

/** Whether a reply is a version or a serial number, unlike a state or a temperature. */
export function isText({ data }: Reply): boolean {
  return /^[\x20-\x7e]{2,60}$/.test(data) && !/^-?\d{0,4}$/.test(data)
}

/** Whether a reply is the acknowledgement of an order, which has no data. */
export function isDone({ data }: Reply): boolean {
  return data === ''
}

export const errors = { restarted: 1, notInitialized: 7, drawerOpen: 13 }
