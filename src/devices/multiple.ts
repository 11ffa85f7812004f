// Tells whether a number is a multiple of another within floating-point precision.

export function isMultiple(value: number, step: number): boolean {
  const times = value / step
  return Math.abs(times - Math.round(times)) < 1e-6
}
