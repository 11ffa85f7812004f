import { bench, none, type Row, row } from './bench.ts'
import { startChild } from './child.ts'
import type { Done } from './workflow/assay.ts'

/** Hops that each group needs: plate_1 36, sample_plate 11, neut_plate 15, two racks of tips_96 9 each, tips_384 11. */
const hopsOfGroup = 91
/** The final plate's, which all groups share. */
const hopsOfAll = 10
/** The shortest time of one group: shaking and spinning 11,790 s, protocols 3,000 s, and 44 hops of 12 s with whichever plate is worked at. */
const criticalPath_s = 11_790 + 3000 + 44 * 12

/** Nothing is recorded: this is the scheduler and the engine. The process is fresh, so that it begins before V8 has compiled anything. */
export const smc = bench({
  name: 'smc',
  summary: 'the bead assay of eleven hours on virtual time',
  limit: 'the least',
  options: { groups: '1,4,8' },
  async run({ groups }) {
    const rows: Row[] = []
    for (const count of groups.split(',').map(Number)) {
      const child = await startChild('./workflow/assay.js')
      try {
        rows.push(...rowsOf(count, await child.ask<Done>({ groups: count })))
      } finally {
        await child.end()
      }
    }
    return rows
  },
})

function rowsOf(groups: number, done: Done): Row[] {
  const { hops, grants, events, incidents, makespan_s, seconds, dry_seconds, cpu_us, rss_mib, phase } = done
  const name = `${groups} group${groups > 1 ? 's' : ''}`
  if (phase !== 'completed') throw new Error(`${name}: the run is ${phase}`)
  return [
    row(`${name}, hops`, '', hops, { limit: groups * hopsOfGroup + hopsOfAll, target: { of: 'ratio', most: 1.15 } }),
    row(`${name}, makespan`, 's', makespan_s, groups === 1 ? { limit: criticalPath_s } : {}),
    row(`${name}, incidents`, '', incidents, none),
    row(`${name}, took`, 'ms', seconds * 1000, { target: { of: 'value', most: 1000, wall: true } }),
    // The limit is the run itself, which tells what it does.
    row(`${name}, dry run took`, 'ms', dry_seconds * 1000, { limit: seconds * 1000, target: { of: 'ratio', most: 2 } }),
    row(`${name}, CPU`, 'us/event', cpu_us / events),
    row(`${name}, grants a second`, '1/s', grants / seconds),
    row(`${name}, RSS at most`, 'MiB', rss_mib),
  ]
}
