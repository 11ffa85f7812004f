// Events at a steady rate.

import { type Sample, sample } from './sample.ts'

export type Flow = { rate: number; seconds: number; every_ms?: number }

/** Fires what is due about every millisecond, unless said otherwise, and answers how many that were. */
export function flow({ rate, seconds, every_ms = 1 }: Flow, fire: (sample: Sample) => void): Promise<number> {
  const began = performance.now()
  let sent = 0
  return new Promise((resolve) => {
    const tick = () => {
      const gone = Math.min(seconds, (performance.now() - began) / 1000)
      for (const due = Math.floor(rate * gone); sent < due; sent++) fire(sample(sent))
      if (gone < seconds) setTimeout(tick, every_ms)
      else resolve(sent)
    }
    tick()
  })
}
