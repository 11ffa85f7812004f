// The additions of `benchd demo` to the service: its bench, its points, a key, and a word of welcome.

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

/** The name of the demo's own key. */
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
  const benchd = commandHere()
  return `
benchd ${version}  DEMO: every device is simulated, nothing moves. ${config.time_scale} simulated seconds pass in one of yours.

  page      ${url}/#k=${api_key}
            open this address in a browser: the key is in it
  API       ${url}/api/devices
  docs      ${url}/docs        OpenAPI: ${url}/openapi.json
  key       ${api_key}
  bench     ${config.devices.map(({ device_id }) => device_id).join('  ')}   ${points} teachpoints

Three things to try:

1. Watch a run: open the page and choose Runs, New run, seal-and-spin, Start.
2. Ask in advance how long the run takes, and who does what when. Type in a second terminal:

  export BENCHD_URL=${url} BENCHD_API_KEY=${api_key}
  ${benchd} runs simulate seal-and-spin

3. Break the sealer and start a run, which stops there. Mend the sealer, ask why the run stands, and type what the answer names:

  ${benchd} sim fault sealer-1 jam
  ${benchd} runs submit seal-and-spin --follow
  ${benchd} sim mend sealer-1
  ${benchd} runs why seal-and-spin

Every request has an example under docs. One of them: curl -H "X-API-Key: $BENCHD_API_KEY" $BENCHD_URL/api/devices

${folder ? `The data is kept in ${folder}.` : `The data is deleted on Ctrl-C. To keep it: ${benchd} demo --data-dir ./bench`}

`
}
