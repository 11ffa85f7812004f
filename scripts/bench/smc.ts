import { bench, type Row } from './bench.ts'
import { startChild } from './child.ts'
import type { Asked, Done } from './workflow/assay.ts'

/** Hops that each group needs: plate_1 36, sample_plate 11, neut_plate 15, two racks of tips_96 9 each, tips_384 11. */
const hopsOfGroup = 91
/** The final plate's, which all groups share. */
const hopsOfAll = 10
/** plate_1 28, sample_plate 11, two racks of tips_96 9 each, four of tips_384 7 each, final_plate 10. */
const legacyHops = 95
/** Shaking and spinning 11,790 s, protocols 3,000 s, and 44 hops of 12 s with whichever plate is worked at. */
const criticalPath_s = 11_790 + 3000 + 44 * 12

/** Nothing is recorded: this is the scheduler and the engine. The process is fresh, so that it begins before V8 has compiled anything. */
export const smc = bench({
  name: 'smc',
  summary: 'the bead assay of eleven hours on virtual time, and its older arrangement',
  limit: 'the least',
  options: { groups: '1,4,8', profile: '' },
  async run({ groups, profile }) {
    const rows: Row[] = []
    for (const count of groups.split(',').map(Number)) {
      const done = await once({ legacy: false, groups: count }, profile)
      const name = `${count} group${count > 1 ? 's' : ''}`
      rows.push(
        ...rowsOf(name, done, { hops: count * hopsOfGroup + hopsOfAll, over: 1.15, ...(count === 1 && { makespan: criticalPath_s }) }),
      )
    }
    rows.push(...rowsOf('legacy', await once({ legacy: true, groups: 0 }, profile), { hops: legacyHops, over: 1 }))
    return rows
  },
})

async function once(asked: Asked, profile: string): Promise<Done> {
  const child = await startChild('./workflow/assay.js', { profile })
  try {
    return await child.ask<Done>(asked)
  } finally {
    await child.end()
  }
}

/** `over` is how many times the least hops it may take. */
function rowsOf(name: string, done: Done, least: { hops: number; over: number; makespan?: number }): Row[] {
  const { hops, parks, grants, events, incidents, makespan_s, seconds, dry_seconds, cpu_us, rss_mib, phase } = done
  if (phase !== 'completed') throw new Error(`${name}: the run is ${phase}`)
  const { makespan } = least
  return [
    {
      what: `${name}, hops`,
      unit: '',
      value: hops,
      limit: least.hops,
      ratio: hops / least.hops,
      target: { of: 'ratio', most: least.over },
    },
    { what: 'makespan', unit: 's', value: makespan_s, ...(makespan && { limit: makespan, ratio: makespan_s / makespan }) },
    { what: 'parked out of the way', unit: '', value: parks },
    { what: 'incidents', unit: '', value: incidents, target: { of: 'value', most: 0 } },
    { what: 'took', unit: 'ms', value: seconds * 1000, target: { of: 'value', most: 1000, wall: true } },
    // The limit is the run itself, which tells what it does.
    {
      what: 'dry run took',
      unit: 'ms',
      value: dry_seconds * 1000,
      limit: seconds * 1000,
      ratio: dry_seconds / seconds,
      target: { of: 'ratio', most: 2 },
    },
    { what: 'CPU', unit: 'us/event', value: cpu_us / events },
    { what: 'events a second', unit: '1/s', value: events / seconds },
    { what: 'grants a second', unit: '1/s', value: grants / seconds },
    { what: 'RSS at most', unit: 'MiB', value: rss_mib },
  ]
}
