// Whether a number is a multiple of another, as far as floating-point numbers can be distinguished.

export function isMultiple(value: number, step: number): boolean {
  const times = value / step
  return Math.abs(times - Math.round(times)) < 1e-6
}
