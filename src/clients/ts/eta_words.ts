// Words when a run or a thread ends, for the shell and the page.

/** The forecast of an open run or thread, as the service tells it. Times are Unix time, s. */
export type Foretold = { eta?: number | null | undefined; eta_reason?: string | null | undefined; progress?: number | null | undefined }

/** Words a time that is left: `45 s`, `12 min`, `5 h 10 min`, `2 d 3 h`. */
export function timeLeft(seconds: number): string {
  if (seconds < 90) return `${Math.max(0, Math.round(seconds))} s`
  const minutes = Math.round(seconds / 60)
  if (minutes < 120) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  if (hours < 48) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`
  const days = Math.floor(hours / 24)
  return hours % 24 === 0 ? `${days} d` : `${days} d ${hours % 24} h`
}

/** Formats a time on the local clock: `14:32`, with the weekday if it is on another day. */
export function clockTime(at: number, now: number): string {
  const [then, today] = [new Date(at * 1000), new Date(now * 1000)]
  const time = `${String(then.getHours()).padStart(2, '0')}:${String(then.getMinutes()).padStart(2, '0')}`
  if (then.toDateString() === today.toDateString()) return time
  const days = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']
  const isNear = Math.abs(at - now) < 6 * 86_400
  const day = isNear
    ? days[then.getDay()]!
    : `${then.getFullYear()}-${String(then.getMonth() + 1).padStart(2, '0')}-${String(then.getDate()).padStart(2, '0')}`
  return `${day} ${time}`
}

/** Words the end of a run: `ends about 14:32, 12 min left`, or why it cannot be foretold; empty where nothing is said of it. */
export function etaWords({ eta, eta_reason }: Foretold, now: number): string {
  if (typeof eta === 'number') return eta <= now ? 'should end now' : `ends about ${clockTime(eta, now)}, ${timeLeft(eta - now)} left`
  return eta_reason ? `its end cannot be foretold: ${eta_reason}` : ''
}

/** Returns the share that has passed by now, from 0 to 1: by the clock while an end is foretold, else what the service said last; null if unknown. */
export function progressAt({ eta, progress, started_at }: Foretold & { started_at: number }, now: number): number | null {
  if (typeof eta !== 'number') return progress ?? null
  if (eta <= started_at) return 1
  return Math.min(1, Math.max(0, (now - started_at) / (eta - started_at)))
}
