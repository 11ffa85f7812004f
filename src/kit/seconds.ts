// Spans of time in sentences.

/** Formats seconds as `0.6 s`: sums of fractions have a tail of digits that nobody measured. */
export function inSeconds(seconds: number): string {
  return `${Number(seconds.toFixed(3))} s`
}
