// Formats spans of time.

/** Formats seconds as `0.6 s`, without rounding noise. */
export function inSeconds(seconds: number): string {
  return `${Number(seconds.toFixed(3))} s`
}
