// The protocol of an OHAUS Endeavor 5000, with the line that holds its whole state.

/** Matches the state line. */
export const signature = /^\d{1,2}:\d\d:\d\d *,( *\d+ *,){4}/m

/** Asks for the state line. */
export const askState = 'PARAM 0'

const modes: Record<string, Mode> = { 0: 'idle', 1: 'shaking', 2: 'paused', 99: 'error' }

type Mode = 'idle' | 'shaking' | 'paused' | 'error' | 'unknown'

/** `timer_s` is the reading of the timer; speeds are in rpm; `error` is the raw code. */
export type State = { timer_s: number; id: number; mode: Mode; target: number; measured: number; error: string }

const line = /^(\d{1,2}):(\d\d):(\d\d)\s*,\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*,\s*([\w-]*)\s*,?$/

/** Parses the state line; undefined for other lines. */
export function parseState(text: string): State | undefined {
  const found = line.exec(text)
  if (!found) return undefined
  const [, hours, minutes, seconds, id, mode, target, measured, error] = found
  return {
    timer_s: Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds),
    id: Number(id),
    mode: modes[Number(mode)] ?? 'unknown',
    target: Number(target),
    measured: Number(measured),
    error: error!,
  }
}

/** Formats whole seconds as hh:mm:ss. */
export function clockFace(seconds: number): string {
  return [seconds / 3600, (seconds / 60) % 60, seconds % 60].map((part) => String(Math.floor(part)).padStart(2, '0')).join(':')
}
