// The protocol of New Era syringe pumps in basic mode: a command and CR; an answer between STX and ETX that begins with the address and the status.

import type { Found } from 'benchd/driver'

export const signature = /\d\d(?:[IWSPTUX]|A\?[RSTEO])NE\d+V/
export const askState = ''
export const askVersion = 'VER'
export const askDispensed = 'DIS'
/** Asked in a halt alone, so that no late answer is taken for its answer. */
export const askDiameter = 'DIA'
export const stop = 'STP'

/** Finds the next answer between STX and ETX. */
export function framer(buffer: Uint8Array): Found<string> | undefined {
  const begin = buffer.indexOf(2)
  if (begin < 0) return { used: buffer.length }
  if (begin > 0) return { used: begin }
  const end = buffer.indexOf(3)
  if (end < 0) return undefined
  return { used: end + 1, frame: String.fromCharCode(...buffer.subarray(1, end)) }
}

export type Answer = { status: string; alarm: string; data: string }

export function readAnswer(frame: string): Answer | undefined {
  const [, status, alarm = '', data = ''] = /^\d\d(A\?([RSTEO])|[IWSPTUX])(.*)$/.exec(frame) ?? []
  return status === undefined ? undefined : { status: status[0]!, alarm, data }
}

export function readVersion(frame: string): { model: string; firmware_version: string } | undefined {
  const [, model, firmware_version] = /NE(\d+)V([\d.]+)$/.exec(frame) ?? []
  return model === undefined ? undefined : { model: `NE-${model}`, firmware_version: firmware_version! }
}

/** Reads the infused volume in mL. */
export function readDispensed(frame: string): number | undefined {
  const [, infused, unit] = /I([\d.]+)W[\d.]+(ML|UL)$/.exec(frame) ?? []
  return infused === undefined ? undefined : Number(infused) / (unit === 'UL' ? 1000 : 1)
}
