// Simulated faults of a line, which change the instrument's bytes on the way to the host.

import type { Clock } from '../../src/kit/clock.ts'

type Deliver = (bytes: Uint8Array) => void

/** The delay of a late reply, longer than any driver waits for a short answer. */
const late_ms = 6000

const faults = {
  no_reply() {},
  garbage(bytes: Uint8Array, _wire: Clock, deliver: Deliver) {
    deliver(bytes.map((byte, i) => (byte ^ 0x55 ^ (i * 37)) | 0x80))
  },
  half_reply(bytes: Uint8Array, _wire: Clock, deliver: Deliver) {
    deliver(bytes.subarray(0, bytes.length >> 1))
  },
  late_reply(bytes: Uint8Array, wire: Clock, deliver: Deliver) {
    wire.after(late_ms, () => deliver(bytes))
  },
}

export type LineFault = keyof typeof faults

export const lineFaults = Object.keys(faults) as LineFault[]

export function isLineFault(fault: string): fault is LineFault {
  return fault in faults
}

/** Passes an instrument's bytes on, changed by the present faults. */
export function passThrough(present: ReadonlySet<string>, bytes: Uint8Array, wire: Clock, deliver: Deliver): void {
  const fault = lineFaults.find((name) => present.has(name))
  if (fault) faults[fault](bytes, wire, deliver)
  else deliver(bytes)
}

/** Splits bytes as a real port might, reproducibly. */
export function* pieces(bytes: Uint8Array): Generator<Uint8Array> {
  for (let from = 0, size = 1; from < bytes.length; from += size, size = (size % 5) + 1) yield bytes.subarray(from, from + size)
}
