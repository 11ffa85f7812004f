// The colours of threads, the same on the deck and in the chart of a run. A colour never stands alone: the name is beside it.

/** The colours in light and in dark: each is read under `--on-accent` and told from `--card` and `--paper` (`thread_colours.test.ts`). */
export const threadColours: readonly (readonly [light: string, dark: string])[] = [
  ['#0b6e99', '#5cb8e4'],
  ['#a8560a', '#f2a65a'],
  ['#6d3fa9', '#bd9bf0'],
  ['#2b7a3f', '#74c98a'],
  ['#a82f7c', '#f08ac6'],
  ['#7d6200', '#e3cf52'],
  ['#3a4fb8', '#8ea6ff'],
  ['#0f766e', '#4fd1c2'],
]

/**
 * Returns the colour of a thread as a CSS colour of both schemes, for `fill` or `background`. `key` is the `thread_name`: equal names have equal
 * colours in every run, and names that count up (plate-1, plate-2) have different ones.
 */
export function threadColour(key: string): string {
  let hash = 0
  for (let i = 0; i < key.length; i++) hash = (hash * 5 + key.charCodeAt(i)) % threadColours.length
  return `light-dark(${threadColours[hash]!.join(', ')})`
}
