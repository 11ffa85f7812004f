// An ELISA: each plate goes through dispenser, incubators, washer and reader, most of them several times.

import type { Shop, Step } from './shops.ts'

const devices = ['dispenser', 'incubator', 'washer', 'reader'] as const

const steps: readonly (readonly [device: (typeof devices)[number], seconds: number])[] = [
  ['dispenser', 90],
  ['incubator', 1200],
  ['washer', 180],
  ['dispenser', 60],
  ['incubator', 1200],
  ['washer', 180],
  ['dispenser', 60],
  ['incubator', 600],
  ['dispenser', 45],
  ['reader', 120],
]

/** Returns the assay of six plates, which are groups of one thread, with a window after each step. */
export function elisa({ incubators, window_s }: { incubators: number; window_s: number }): Shop {
  const journey = steps.map(([device, seconds], i): Step => {
    return { device: devices.indexOf(device), seconds, varied_s: seconds, window_s: i < steps.length - 1 ? window_s : null }
  })
  const units = devices.map((device) => (device === 'incubator' ? incubators : 1))
  const bench = { units, parks: 2, carriers: 1, people: 0, hop_s: 12 }
  return { name: 'elisa', kind: 'flow', plates: Array.from({ length: 6 }, () => journey), ...bench, alike: true }
}
