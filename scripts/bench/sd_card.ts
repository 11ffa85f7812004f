// Measures how much the service writes: an SD card wears out by it.

import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { bench, type Row } from './bench.ts'
import { startChild } from './child.ts'
import { type Client, clientOf, writtenBy } from './demo_client.ts'
import { unitFlags } from './events/unit.ts'
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
    const data_dir = mkdtempSync(join(tmpdir(), 'benchd-card-'))
    const service = await startChild<Demo>('servers/demo.js', { args: [String(scale), data_dir], flags: unitFlags })
    const client = clientOf(service.ready)
    const looking = { pid: service.ready.pid, data_dir }
    try {
      await client.run()
      // What the start and the first run have left to be written.
      await wait(5000)
      const still = await written(looking, () => wait(idle * 1000))
      let runs = 0
      const busy = await written(looking, async () => {
        runs = await runsFor(client, seconds)
      })
      return [...rows('idle', still, 1, 1), ...rows('in a run', busy, scale, 24), ...rowsOfRun(busy, runs)]
    } finally {
      client.close()
      await service.end()
      rmSync(data_dir, { recursive: true, force: true })
    }
  },
})

type Written = { hours: number; given: number; grown: number }

/** In MiB. */
async function written({ pid, data_dir }: { pid: number; data_dir: string }, during: () => Promise<unknown>): Promise<Written> {
  const [began, given, grown] = [performance.now(), writtenBy(pid), sizeOf(data_dir)]
  await during()
  return { hours: (performance.now() - began) / 3.6e6, given: writtenBy(pid) - given, grown: sizeOf(data_dir) - grown }
}

async function runsFor(client: Client, seconds: number): Promise<number> {
  const end = performance.now() + seconds * 1000
  let runs = 0
  do {
    await client.run()
    runs++
  } while (performance.now() < end)
  return runs
}

/** An hour of the service goes by in an hour over `scale`. */
function rows(when: string, { hours, given, grown }: Written, scale: number, most: number): Row[] {
  const ofAnHour = hours * scale
  return [
    { what: `given to the disk an hour, ${when}`, unit: 'MiB', value: given / ofAnHour, target: { of: 'value', most } },
    { what: `growth of the data folder an hour, ${when}`, unit: 'MiB', value: grown / ofAnHour },
  ]
}

function rowsOfRun({ given, grown }: Written, runs: number): Row[] {
  return [
    { what: 'given to the disk by one run', unit: 'KiB', value: (given * 1024) / runs },
    { what: 'growth of the data folder by one run', unit: 'KiB', value: (grown * 1024) / runs },
  ]
}

function sizeOf(folder: string): number {
  const files = readdirSync(folder, { recursive: true }).map((path) => statSync(join(folder, String(path))))
  return files.reduce((sum, file) => sum + (file.isFile() ? file.size : 0), 0) / 2 ** 20
}
