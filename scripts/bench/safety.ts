import type { Configuration } from '../../src/workflow/scheduler/safety_problem.ts'
import { isSafe } from '../../src/workflow/scheduler/safety_search.ts'
import { bench, median, row, rowOfRounds } from './bench.ts'

const labware = 12
const rounds = 9

/** Labware in a ring of devices with one place to wait, each of which then goes to any slot of a storage. */
function ring(slots: number): Configuration {
  const devices = Array.from({ length: labware }, (_, place) => place)
  const storage = Array.from({ length: slots }, (_, slot) => labware + 1 + slot)
  const travellers = devices.map((place) => ({
    ...{ at: [place], stops: [[(place + 1) % labware], [(place + 2) % labware], storage], stays: true },
    ...{ canPark: true, isIdle: false, home: -1 },
  }))
  const conflicts = Array.from({ length: labware + 1 + slots }, (): number[] => [])
  return { kinds: conflicts.map(() => 0), kindCount: 1, ways: [[[]]], conflicts, blocked: [], parking: [labware], travellers }
}

/** The configurations that the safe-state check looks at, and its time, with a large storage beside a small one with room for all labware. */
export const safety = bench({
  name: 'safety',
  summary: 'the safe-state check with a storage of 1,000 slots, beside one of 12',
  limit: '12 slots',
  options: { slots: 1000, times: 200 },
  async run({ slots, times }) {
    const [small, large] = [ring(labware), ring(slots)]
    const us = (configuration: Configuration) => {
      const began = performance.now()
      for (let i = 0; i < times; i++) isSafe(configuration, 10_000)
      return ((performance.now() - began) / times) * 1000
    }
    us(small)
    const pairs = Array.from({ length: rounds }, () => ({ value: us(large), limit: us(small) }))
    return [
      row('configurations that are looked at', '', isSafe(large, 10_000).looked, {
        limit: isSafe(small, 10_000).looked,
        target: { of: 'ratio', most: 1 },
      }),
      rowOfRounds('a check', 'µs', pairs, { of: 'ratio', most: 3, wall: true }),
      row(
        'a further slot',
        'ns',
        ((median(pairs.map(({ value }) => value)) - median(pairs.map(({ limit }) => limit))) / (slots - labware)) * 1000,
      ),
    ]
  },
})
