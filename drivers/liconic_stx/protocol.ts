// The protocol of an STX: the words of its PLC, which sets, resets and reads flags and data memories.

/** Matches the answer that opens the communication. */
export const signature = /^CC$/m

/** Opens the communication; the controller answers nothing else before that. */
export const open = 'CR'
export const isOpened = (line: string) => line === 'CC'

/** The flags that are read. */
export const flags = { ready: 1915, error: 1814, shovel: 1812, station: 1813, shaking: 1913 } as const
export type Flag = keyof typeof flags

/** The flags that are set to begin something. */
export const starts = { reset: 1900, initialize: 1801, import: 1904, export: 1905, shake: 1913 } as const

/** The data memories. Temperatures are in 0.1 °C, humidity in 0.1 %, CO2 in 0.01 %. */
export const memories = {
  ...{ rack: 0, level: 5, pitch: 23, levels: 25, speed: 39, serial: 109, error: 200 },
  ...{ temperature_target: 890, humidity_target: 893, co2_target: 894, temperature: 982, humidity: 983, co2: 984 },
} as const
export type Memory = keyof typeof memories

/** Makes the question for a flag. */
export function readFlag(flag: Flag): string {
  return `RD ${flags[flag]}`
}

/** Makes the question for a data memory. */
export function readMemory(memory: Memory): string {
  return `RD DM${memories[memory]}`
}

/** Makes the command that writes a data memory. */
export function writeMemory(memory: Memory, value: number): string {
  return `WR DM${memories[memory]} ${String(value).padStart(5, '0')}`
}

/** Parses a flag; undefined for other lines. */
export function parseFlag(line: string): boolean | undefined {
  return /^[01]$/.test(line) ? line === '1' : undefined
}

/** Parses a data memory, which always has five digits; undefined for other lines. */
export function parseMemory(line: string): number | undefined {
  return /^[+-]?\d{5}$/.test(line) ? Number(line) : undefined
}

/** Whether the controller has taken a command. */
export function isTaken(line: string): boolean {
  return line === 'OK'
}

/** Parses the number of a refusal, `E0` to `E5`; undefined for other lines. */
export function refusalOf(line: string): number | undefined {
  return /^E[0-5]$/.test(line) ? Number(line[1]) : undefined
}
