// The protocol of a Cytomat: lines of text. A question about a register is answered with the name of the register, a command with `ok` or `er`.

/** Matches the overview register. */
export const signature = /^bs [0-9a-f]{2}$/im

/** Asks for the overview register, which shows the sensors and the state. */
export const askOverview = 'ch:bs'
/** Asks for the error register. */
export const askError = 'ch:be'

/** The overview register: what the sensors see, and what the instrument does. */
export type Overview = {
  /** Whether a plate is at the transfer station, and on the handler. */
  station: boolean
  handler: boolean
  /** The door of the chamber that people use, and the gate through which plates go. */
  doorOpen: boolean
  gateOpen: boolean
  error: boolean
  warning: boolean
  ready: boolean
  busy: boolean
}

/** Parses the overview register; undefined for other lines. */
export function parseOverview(line: string): Overview | undefined {
  const value = registerOf(line, 'bs')
  if (value === undefined) return undefined
  const bit = (mask: number) => (value & mask) !== 0
  return {
    station: bit(0x80),
    doorOpen: bit(0x40),
    gateOpen: bit(0x20),
    handler: bit(0x10),
    error: bit(0x08),
    warning: bit(0x04),
    ready: bit(0x02),
    busy: bit(0x01),
  }
}

/** Parses a register of one byte; undefined for other lines. */
export function registerOf(line: string, name: 'bs' | 'be'): number | undefined {
  const found = /^([a-z]{2}) ([0-9a-f]{2})$/i.exec(line)
  return found?.[1] === name ? Number.parseInt(found[2]!, 16) : undefined
}

/** Parses the set point and the reading of the climate; undefined for other lines. */
export function parseClimate(line: string, name: string): { target: number; actual: number } | undefined {
  const found = /^([a-z]{2}) +([+-]?\d+(?:\.\d+)?) +([+-]?\d+(?:\.\d+)?)$/.exec(line)
  return found?.[1] === name ? { target: Number(found[2]), actual: Number(found[3]) } : undefined
}

/** Parses the speed that is set for a shaker; undefined for other lines. */
export function parseSpeed(line: string): number | undefined {
  const found = /^pb (?:\d\d )?(\d{1,5})$/.exec(line)
  return found ? Number(found[1]) : undefined
}

/** Parses the answer to a command: null if it was taken, the number of the refusal if not; undefined for other lines. */
export function parseTaken(line: string): number | null | undefined {
  const found = /^(ok|er)(?: ([0-9a-f]{2}))?$/i.exec(line)
  if (!found) return undefined
  if (found[1] === 'ok') return null
  return found[2] === undefined ? undefined : Number.parseInt(found[2], 16)
}
