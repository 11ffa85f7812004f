/** Formats a Unix time, s, to the minute, for people who read it at the bench, on the page or at a shell: `2026-11-20 17:15 UTC`. */
export function utc(at: number): string {
  const time = new Date(at * 1000)
  return Number.isNaN(time.getTime()) ? `${at} s` : `${time.toISOString().slice(0, 16).replace('T', ' ')} UTC`
}
