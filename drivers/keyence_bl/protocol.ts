// The commands of a Keyence BL barcode reader, and the lines that it sends.

import { barcodeText } from '../../src/kit/name.ts'

export const triggerOn = 'LON'
export const triggerOff = 'LOFF'
/** Asks whether the motor of the laser runs. */
export const askMotor = 'RMOTOR'

/** Matches the answer to `RMOTOR`. */
export const signature = /^MOTORO(N|FF)\r?$/m

/** `nothing`: it could not read a code. `off`: it is not able to read. */
export type Said = { kind: 'motor'; isOn: boolean } | { kind: 'nothing' } | { kind: 'off' } | { kind: 'error'; number: number } | Code
type Code = { kind: 'code'; barcode: string }

const answers: Record<string, Said> = {
  MOTORON: { kind: 'motor', isOn: true },
  MOTOROFF: { kind: 'motor', isOn: false },
  ERROR: { kind: 'nothing' },
  NG: { kind: 'off' },
}

/** Parses a line of the reader; undefined for one that is no text. The reader sends seven bits. */
export function parse(line: string): Said | undefined {
  const known = answers[line]
  if (known) return known
  const [, number] = /^ERR(\d\d)$/.exec(line) ?? []
  if (number) return { kind: 'error', number: Number(number) }
  const barcode = barcodeText(line)
  return /^[ -~]+$/.test(barcode.replaceAll(groupSeparator, '')) ? { kind: 'code', barcode } : undefined
}

/** Stands inside of GS1 codes. */
const groupSeparator = '\x1d'

export function isMotor(line: string): boolean {
  return parse(line)?.kind === 'motor'
}

/** Whether a line can be the outcome of a scan. */
export function isOutcome(line: string): boolean {
  const said = parse(line)
  return said !== undefined && said.kind !== 'motor'
}
