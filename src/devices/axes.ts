// The axes along which an arm can be jogged: those of its frame, and its joints.

/** Keyed by name; the unit of a movement along it. */
export const axes = {
  ...{ x: 'mm', y: 'mm', z: 'mm', yaw: '°', pitch: '°', roll: '°' },
  ...{ base: '°', shoulder: '°', elbow: '°', wrist: '°', rail: 'mm' },
} as const
export type Axis = keyof typeof axes

export const axisNames = Object.keys(axes) as [Axis, ...Axis[]]

export function isAxis(word: string): word is Axis {
  return Object.hasOwn(axes, word)
}

/**
 * Returns the words for the end of a jog, as `jogged x by +12.4 mm`. `by` is null for an arm that cannot tell how far it moved. `unit` is for an arm whose
 * axis has another one than usual.
 */
export function jogged(axis: Axis, by: number | null, unit: string = axes[axis]): string {
  if (by === null) return `jogged ${axis}`
  return `jogged ${axis} by ${by < 0 ? '' : '+'}${Number(by.toFixed(1))} ${unit}`
}
