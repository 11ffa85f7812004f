// Formats spans of time.

/** Formats seconds as `0.6 s`, without rounding noise. */
export function inSeconds(seconds: number): string {
  return `${Number(seconds.toFixed(3))} s`
}

/** Formats seconds as `6:40`, and from an hour on as `1:06:40`. */
export function clock(seconds: number): string {
  const whole = Math.round(seconds)
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60), whole % 60]
  const two = (value: number) => String(value).padStart(2, '0')
  return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`
}
