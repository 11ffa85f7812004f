// The protocol of a BigBear orbital shaker: one letter, a number if the command takes one, and a carriage return.

/** Matches a refusal and the states. */
export const signature = /^(\?:|STOP|RAMP\+|RUN|RAMP-)$/m

export function encode(command: string): Uint8Array {
  return Buffer.from(`${command}\r`, 'latin1')
}

export const ask = 'Q'
export const start = 'G'
export const stop = 'S'
export const findHome = 'F'

const states = ['STOP', 'RAMP+', 'RUN', 'RAMP-'] as const
export type State = (typeof states)[number]

export function readState(line: string): State | undefined {
  return states.find((state) => state === line)
}

/** Whether a line is the refusal of a command. */
export function isRefusal(line: string): boolean {
  return line.startsWith('?:')
}
