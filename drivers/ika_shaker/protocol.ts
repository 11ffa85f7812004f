// The words of an IKA shaker, as NAMUR has them: commands in capitals, readings as a number and the channel that it is of.

/** Channels of readings and set points. */
export const plate = 2
export const motor = 4

/** A reading of the motor. */
export const signature = /^-?\d{1,5}(\.\d{1,3})? +4 *$/m

/** A command as it goes onto the line. */
export function encode(command: string): Uint8Array {
  return Buffer.from(`${command}\r\n`, 'latin1')
}

/** `500.0 4` for channel 4 is 500; undefined where the line is anything else. */
export function readValue(line: string, channel: number): number | undefined {
  const found = /^(-?\d{1,5}(?:\.\d{1,3})?) +(\d+)$/.exec(line)
  return found && Number(found[2]) === channel ? Number(found[1]) : undefined
}

/** Whether a line is a name or a version: neither a reading nor a command that comes back as an echo. */
export function isText(line: string): boolean {
  return /^[\x20-\x7e]{2,80}$/.test(line) && !/^-?[\d.]+( +\d+)?$/.test(line) && !isCommand(line)
}

/** Whether a line repeats the value that a command with `@` set. How it is written is not known for sure. */
export function echoes(line: string, value: number): boolean {
  const [, digits] = /^(?:OUT_\w+@ *)?(\d+(?:\.0*)?)$/.exec(line) ?? []
  return digits !== undefined && Number(digits) === value
}

/** Some instruments of this family send each command back. */
function isCommand(line: string): boolean {
  return /^(IN|OUT|START|STOP|SET|STATUS)_|^RESET$/.test(line)
}
