// Measures how much the service writes: an SD card wears out by it.

import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { bench, type Row, row } from './bench.ts'
import { startChild } from './child.ts'
import { clientOf } from './demo_client.ts'
import { unitFlags } from './events/unit.ts'
import { writtenBy } from './process.ts'
import type { Demo } from './servers/demo.ts'

/**
 * The bytes that the kernel counts as given to the disks (`write_bytes` of proc(5): whole pages, without the file system's own journal), beside how
 * much the data folder grew. A run is the demo's workflow; `scale` is how much faster than a real one it goes by, and 1 is the true figure:
 * the faster, the more events share a page.
 */
export const sdCard = bench({
  name: 'sd-card',
  summary: 'bytes written an hour, idle and in a run',
  options: { idle: 20, seconds: 20, scale: 20 },
  async run({ idle, seconds, scale }) {
    const service = await startChild<Demo>('servers/demo.js', { args: [String(scale)], flags: unitFlags })
    const client = clientOf(service.ready)
    try {
      await client.run()
      // What the start and the first run have left to be written.
      await wait(5000)
      const still = await written(service.ready, () => wait(idle * 1000))
      let runs = 0
      const busy = await written(service.ready, async () => {
        for (const end = performance.now() + seconds * 1000; runs === 0 || performance.now() < end; runs++) await client.run()
      })
      const [each, growth] = ['given to the disk by one run', 'growth of the data folder by one run']
      const ofRuns = [row(each, 'KiB', (busy.given * 1024) / runs), row(growth, 'KiB', (busy.grown * 1024) / runs)]
      return [...rows('idle', still, 1, 1), ...rows('in a run', busy, scale, 24), ...ofRuns]
    } finally {
      await service.end()
    }
  },
})

type Written = { hours: number; given: number; grown: number }

/** In MiB. */
async function written({ pid, data_dir }: Demo, during: () => Promise<unknown>): Promise<Written> {
  const [began, given, grown] = [performance.now(), writtenBy(pid), sizeOf(data_dir)]
  await during()
  return { hours: (performance.now() - began) / 3.6e6, given: writtenBy(pid) - given, grown: sizeOf(data_dir) - grown }
}

/** An hour of the service goes by in an hour over `scale`. */
function rows(when: string, { hours, given, grown }: Written, scale: number, most: number): Row[] {
  const ofAnHour = hours * scale
  return [
    row(`given to the disk an hour, ${when}`, 'MiB', given / ofAnHour, { target: { of: 'value', most } }),
    row(`growth of the data folder an hour, ${when}`, 'MiB', grown / ofAnHour),
  ]
}

function sizeOf(folder: string): number {
  const files = readdirSync(folder, { recursive: true }).map((path) => statSync(join(folder, String(path))))
  return files.reduce((sum, file) => sum + (file.isFile() ? file.size : 0), 0) / 2 ** 20
}
