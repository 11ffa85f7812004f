// The additions of `benchd demo` to the service: its bench, its points, a key, and a word of welcome.

import { type Config, checkConfig } from '../config.ts'
import { LabError } from '../errors.ts'
import type { Keys } from '../keys/keys.ts'
import { atOnce } from '../kit/disk.ts'
import type { Teachpoints } from '../teachpoints/store.ts'
import type { Teachpoint } from '../teachpoints/teachpoint.ts'
import type { Catalog } from '../workflow/catalog.ts'
import type { Inventories } from '../workflow/inventories.ts'
import type { SlotContent } from '../workflow/inventory.ts'

type Rooms = {
  places: { data_dir: string }
  keys: Keys
  teachpoints: Teachpoints
  prepareRuns(prepare: (runs: { catalog: Catalog; inventories: Inventories }) => Promise<unknown>): Promise<void>
  version: string
  config: Config
}

type DemoBench = {
  bench: object
  points: readonly Teachpoint[]
  /** The labware in storages when the demo begins, by storage. */
  stored?: Readonly<Record<string, readonly SlotContent[]>>
}

type Entry = {
  load(): Promise<DemoBench>
  topology: string
  workflow: string
  /** The workflow to simulate in a trial; default: `workflow`. */
  simulated?: string
  /** The device to break in a trial. */
  breaks: string
}

/**
 * The demo's benches by name. A bench is
 * loaded when it is chosen, and its documents when they are first needed, so that the demo starts faster.
 */
const benches = {
  small: {
    load: async () => {
      const { demoBench, demoTeachpoints } = await import('./demo_bench.ts')
      return { bench: demoBench, points: demoTeachpoints }
    },
    ...{ topology: 'demo', workflow: 'seal-and-spin', breaks: 'sealer-1' },
  },
  assay: {
    load: async () => {
      const { assayBench, assayTeachpoints } = await import('./assay_bench.ts')
      return { bench: assayBench, points: assayTeachpoints }
    },
    ...{ topology: 'smc', workflow: 'smc_assay', breaks: 'centrifuge' },
  },
  hands: {
    load: async () => ({ bench: (await import('./hands.ts')).handsBench, points: [] }),
    ...{ topology: 'hands', workflow: 'shake-by-hand', breaks: 'sealer-1' },
  },
  incubator: {
    load: async () => {
      const { incubatorBench, incubatorTeachpoints, storedPlates } = await import('./incubator.ts')
      return { bench: incubatorBench, points: incubatorTeachpoints, stored: { 'incubator-1': storedPlates } }
    },
    ...{ topology: 'incubator', workflow: 'short-rests', simulated: 'two-day-assay', breaks: 'sealer-1' },
  },
} satisfies Record<string, Entry>
type BenchName = keyof typeof benches
export const benchNames = Object.keys(benches) as BenchName[]

/** Returns the demo's configuration. Throws `config` for an invalid scale. */
export async function demoConfig(time_scale: number, name: BenchName = 'small'): Promise<Config> {
  const { bench } = await benches[name].load()
  return checkConfig({ ...bench, time_scale, listen: { host: '127.0.0.1' } }, 'the demo')
}

/** The name of the demo's own keys. */
const ownKey = 'the demo'
/** The number of keys of earlier starts that stay valid, so that open pages and programs work after a restart. */
const mostEarlier = 9

/**
 * Puts teachpoints into a new folder, loads the demo's topology and workflows unless another topology is loaded, puts plates into storages that are empty then, and
 * returns a new key. The newest keys of earlier starts stay valid. Rejects with `storage` if the folder cannot be written.
 */
export async function prepareDemo({ places, keys, teachpoints, prepareRuns }: Rooms, name: BenchName = 'small'): Promise<string> {
  const { load, topology } = benches[name]
  const { points, stored = {} }: DemoBench = await load()
  await prepareRuns(async ({ catalog, inventories }) => {
    if (catalog.runtime.environments.topology) return
    await catalog.load(topology).catch(mustBeFull)
    for (const [device_id, plates] of Object.entries(stored))
      if (inventories.of(device_id).stored.length === 0) await inventories.correct(device_id, plates).catch(mustBeFull)
  })
  // Every device is simulated, so no motion has to wait for the disk.
  return atOnce(async () => {
    const isNew = keys.list().length === 0 && points[0] !== undefined && teachpoints.list(points[0].device_id).length === 0
    if (isNew) await teachpoints.importAll(points, { overwrite: false })
    const earlier = keys.list().filter(({ name, revoked_at }) => name === ownKey && revoked_at === null)
    for (const { key_id } of earlier.slice(0, -mostEarlier)) await keys.revoke(key_id)
    return (await keys.create({ name: ownKey, scope: 'admin' })).api_key
  }).catch((error) => {
    if (!isStorage(error)) throw error
    const sentence = `the demo cannot write its teachpoints and a key to ${places.data_dir}: ${error.message}, or name a folder on another disk with --data-dir`
    throw new LabError('storage', sentence, { cause: error })
  })
}

/** Does the same, but resolves with undefined if the disk takes no new key and a key of an earlier start is valid. */
export async function prepareDemoAgain(rooms: Rooms, name: BenchName): Promise<string | undefined> {
  try {
    return await prepareDemo(rooms, name)
  } catch (error) {
    const isUsed = rooms.keys.list().some(({ name, revoked_at }) => name === ownKey && revoked_at === null)
    if (isStorage(error) && isUsed) return undefined
    throw error
  }
}

/** Throws the error again, unless it is the disk's: the topology is loaded even so, and the next start loads it again. */
function mustBeFull(error: unknown): void {
  if (!isStorage(error)) throw error
}

function isStorage(error: unknown): error is LabError {
  return error instanceof LabError && error.code === 'storage'
}

/** `api_key` is undefined if none could be written. */
type Welcome = { url: string; api_key: string | undefined; rooms: Rooms; folder: string | undefined; bench?: BenchName }

/** Says how fast simulated time goes. */
function pace(time_scale: number): string {
  return time_scale === 1 ? 'They take as long as real ones.' : `${time_scale} simulated seconds pass in one of yours.`
}

export function welcome({ url, api_key, rooms, folder, bench = 'small' }: Welcome): string {
  const { config, version } = rooms
  const { workflow, simulated = workflow, breaks }: Entry = benches[bench]
  const points = config.devices.reduce((sum, { device_id }) => sum + rooms.teachpoints.list(device_id).length, 0)
  return `
benchd ${version}  DEMO: every device is simulated, nothing moves. ${pace(config.time_scale)}

  page      ${url}/${api_key === undefined ? '' : `#k=${api_key}`}
            ${api_key === undefined ? 'open this address in a browser' : 'open this address in a browser: the key is in it'}
  API       ${url}/api/devices
  docs      ${url}/docs        OpenAPI: ${url}/openapi.json
  key       ${api_key ?? 'that of an earlier start: the disk takes no new one; free some space, then start the demo again'}
  bench     ${config.devices.map(({ device_id }) => device_id).join('  ')}   ${points} teachpoints

Three things to try:

1. Watch a run: open the page and choose Runs, New run, ${workflow}, Start run.
2. Ask in advance how long a run takes, and who does what when. Type in a second terminal:

  export BENCHD_URL=${url} BENCHD_API_KEY=${api_key ?? 'THAT_KEY'}
  benchd runs simulate ${simulated}

3. When the run on the page has ended, break ${breaks} and start another, which stops there. Mend it, ask why the run stands, and type what the answer names:

  benchd sim fault ${breaks} jam
  benchd runs submit ${workflow} --follow
  benchd sim mend ${breaks}
  benchd runs why ${workflow}

Every request has an example under docs. One of them: curl -H "X-API-Key: $BENCHD_API_KEY" $BENCHD_URL/api/devices

${folder ? `The data is kept in ${folder}.` : `The data is deleted on Ctrl-C. To keep it: benchd demo --data-dir ./bench`}

`
}
