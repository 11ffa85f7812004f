// The frames of a GenoGrinder: a number between stars, and an answer that names the state that was reached.

export const askState = '*01*'
export const initialize = '*03*'
export const start = '*04*'
export const clearError = '*05*'
export const stop = '*06*'
export const openClamp = '*11*'
export const closeClamp = '*12*'
export const askClamp = '*15*'

/** The parameters of a run: three digits for the seconds, four for the speed in rpm. */
export function parametersOf({ speed, duration }: { speed: number; duration: number }): string {
  return `*02,${String(duration).padStart(3, '0')},${String(speed).padStart(4, '0')}*`
}

/** At rest, in a run before its end, at the end of one, or busy with something else. */
type Phase = 'rest' | 'run' | 'ending' | 'busy'

const phases: Readonly<Record<string, Phase>> = {
  Standby: 'rest',
  'Run Complete': 'rest',
  'Running Sample': 'run',
  Locking: 'run',
  Mixing: 'run',
  Unlocking: 'ending',
  Initializing: 'busy',
}

/** Matches the answer to the question for its state. */
export const signature = /^(Standby|Run Complete|Running Sample|Locking|Mixing|Unlocking)\r?$/m

/** A state; `error` for words that are none of the known ones. */
export type State = { phase: Phase | 'error'; words: string }

/** Parses the answer to the question for its state; undefined for the answer to another command. */
export function parseState(line: string): State | undefined {
  const phase = Object.hasOwn(phases, line) ? phases[line] : isError(line) ? 'error' : undefined
  return phase && { phase, words: line }
}

export function isState(line: string): boolean {
  return parseState(line) !== undefined
}

/** The answers of commands that are no states. */
export const done = {
  initialized: /^Initialize(d| Complete)$/,
  parametersSet: /^Parameters Set$/,
  running: /^Running Sample$/,
  clampOpen: /^Clamp Open$/,
  clampClosed: /^Clamp Closed$/,
}

export function isClamp(line: string): boolean {
  return /^Clamp \w+$/.test(line)
}

/** Whether a line is text that no answer known to us has: the words of an error. An echo begins with a star. */
export function isError(line: string): boolean {
  const isKnown =
    Object.hasOwn(phases, line) || isClamp(line) || line === 'Home Complete' || Object.values(done).some((one) => one.test(line))
  return !isKnown && /^[A-Za-z][ -~]*$/.test(line)
}
