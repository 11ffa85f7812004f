// What `benchd demo` adds to the service: its bench, its points, a key, and a word of welcome.

import { type Config, checkConfig } from '../config.ts'
import type { Keys } from '../keys/keys.ts'
import { commandHere } from '../kit/installation.ts'
import type { Teachpoints } from '../teachpoints/store.ts'
import type { Catalog } from '../workflow/catalog.ts'
import { demoBench, demoTeachpoints } from './demo_bench.ts'
import { demoTopology } from './seal_and_spin.ts'

type Rooms = { keys: Keys; teachpoints: Teachpoints; openRuns(): Promise<{ catalog: Catalog }>; version: string; config: Config }

/** The demo's configuration; throws `config` for a scale that cannot be. */
export function demoConfig(time_scale: number): Promise<Config> {
  return checkConfig({ ...demoBench, time_scale, listen: { host: '127.0.0.1' } }, 'the demo')
}

/** What the demo calls its own key. */
const ownKey = 'the demo'

/** Puts points into a new folder, loads the demo's topology unless another is loaded, and answers a fresh key; the demo's earlier ones end. */
export async function prepareDemo({ keys, teachpoints, openRuns }: Rooms): Promise<string> {
  const isNew = keys.list().length === 0 && teachpoints.list('arm-1').length === 0
  if (isNew) await teachpoints.importAll(demoTeachpoints, { overwrite: false })
  const { catalog } = await openRuns()
  if (!catalog.runtime.environments.topology) await catalog.load(demoTopology.name)
  for (const { name, key_id, revoked_at } of keys.list()) if (name === ownKey && revoked_at === null) await keys.revoke(key_id)
  return (await keys.create({ name: ownKey, scope: 'admin' })).api_key
}

export function welcome({ url, api_key, lab, folder }: { url: string; api_key: string; lab: Rooms; folder: string | undefined }): string {
  const { config, version } = lab
  const points = lab.teachpoints.list('arm-1').length
  return `
benchd ${version}  DEMO - every device is simulated, nothing moves; ${config.time_scale} simulated seconds go by in one of yours

  page      ${url}/#k=${api_key}
            opens the live bench with this key
  API       ${url}/api/devices
  docs      ${url}/docs        OpenAPI: ${url}/openapi.json
  key       ${api_key}
  bench     ${config.devices.map(({ device_id }) => device_id).join('  ')}   ${points} teachpoints

Try in a second terminal:

  export BENCHD_URL=${url} BENCHD_API_KEY=${api_key}
  curl -H "X-API-Key: $BENCHD_API_KEY" $BENCHD_URL/api/devices
  curl -H "X-API-Key: $BENCHD_API_KEY" -X POST $BENCHD_URL/api/devices/shaker-1/initialize
  curl -H "X-API-Key: $BENCHD_API_KEY" -X POST $BENCHD_URL/api/devices/shaker-1/lock_plate
  curl -H "X-API-Key: $BENCHD_API_KEY" -X POST $BENCHD_URL/api/devices/shaker-1/shake \\
       -H 'Content-Type: application/json' -d '{"speed": 500, "duration": 10}'
  ${commandHere()} runs submit seal-and-spin --follow
  ${commandHere()} events tail

${folder ? `Data is in ${folder}.` : `Data is in a folder that is thrown away on Ctrl-C; to keep it: ${commandHere()} demo --data-dir ./bench`}

`
}
