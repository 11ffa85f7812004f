// The NAMUR protocol of an IKA shaker: commands in capitals, readings as a number and a channel.

/** Channels of readings and set points. */
export const plate = 2
export const motor = 4

/** Matches a reading of the motor. */
export const signature = /^-?\d{1,5}(\.\d{1,3})? +4 *$/m

/** Encodes a command for the line. */
export function encode(command: string): Uint8Array {
  return Buffer.from(`${command}\r\n`, 'latin1')
}

/** Parses a reading: `500.0 4` is 500 of channel 4; undefined for other lines. */
export function readValue(line: string, channel: number): number | undefined {
  const found = /^(-?\d{1,5}(?:\.\d{1,3})?) +(\d+)$/.exec(line)
  return found && Number(found[2]) === channel ? Number(found[1]) : undefined
}

/** Whether a line is a name or a version, not a reading or an echoed command. */
export function isText(line: string): boolean {
  return /^[\x20-\x7e]{2,80}$/.test(line) && !/^-?[\d.]+( +\d+)?$/.test(line) && !isCommand(line)
}

/** Whether a line repeats the value of a command with `@`, whose format is not known for certain. */
export function echoes(line: string, value: number): boolean {
  const [, digits] = /^(?:OUT_\w+@ *)?(\d+(?:\.0*)?)$/.exec(line) ?? []
  return digits !== undefined && Number(digits) === value
}

/** Whether a line is a command: some instruments of this family echo them. */
function isCommand(line: string): boolean {
  return /^(IN|OUT|START|STOP|SET|STATUS)_|^RESET$/.test(line)
}
