// Putting the configuration of a backup back: file by file, each whole. What was there before stands beside it, with the time in its name.

import { isDeepStrictEqual } from 'node:util'
import { commandsOfBridges } from '../../drivers/bridge/commands.ts'
import { createSynced } from '../kit/durable.ts'
import { readBytes } from '../kit/files.ts'
import { exists } from '../kit/folder.ts'
import { replaceFile } from '../kit/replace_file.ts'
import { sha256Of } from '../kit/tree.ts'
import { configFolder } from './backup.ts'
import type { FileChange, Opened } from './restore.ts'

/** The place where the configuration of this machine is. */
type ConfigPlaces = { config: string; topologies: string }

/** Plans the restore of the configuration; the names are the paths on this machine. Topologies that the backup has not stay. */
export function configPlanOf({ manifest, config }: Opened, places: ConfigPlaces): Promise<FileChange[]> {
  const hashes = new Map(manifest.files.map(({ name, sha256 }) => [name, sha256]))
  return Promise.all(
    [...config.keys()].map(async (name): Promise<FileChange> => {
      const path = pathOf(name, places)
      if (!exists(path)) return { name: path, change: 'added' }
      return { name: path, change: (await sha256Of(path)) === hashes.get(configFolder + name) ? 'the same' : 'replaced' }
    }),
  )
}

/** Rejects with `storage` or `forbidden`; then those before it are in place. */
export async function restoreConfig({ config }: Opened, places: ConfigPlaces, plan: readonly FileChange[], at: Date): Promise<void> {
  const wanted = new Set(plan.filter(({ change }) => change === 'added' || change === 'replaced').map(({ name }) => name))
  for (const [name, content] of config) {
    const path = pathOf(name, places)
    if (!wanted.has(path)) continue
    if (exists(path)) await replaceFile(path, content, { before: await readBytes(path), now: at })
    else await createSynced(path, content, { mode: 0o644 })
  }
}

function pathOf(name: string, { config, topologies }: ConfigPlaces): string {
  return name === 'config.json' ? config : `${topologies}/${name.slice('topologies/'.length)}`
}

/** Lists the programs of bridges in the backup that the configuration of this machine does not start, each as `reader-1: python3 reader.py`. */
export async function strangeCommands({ config }: Opened, places: ConfigPlaces): Promise<string[]> {
  const own = exists(places.config) ? String(await readBytes(places.config)) : '{}'
  const known = commandsIn(own)
  const theirs = [...commandsIn(String(config.get('config.json') ?? '{}'))]
  return theirs.filter(([id, command]) => !isDeepStrictEqual(known.get(id), command)).map(([id, command]) => `${id}: ${command.join(' ')}`)
}

/** No service starts anything from a text that is no JSON. */
function commandsIn(text: string): ReadonlyMap<string, readonly string[]> {
  try {
    return commandsOfBridges(text, 'a configuration')
  } catch {
    return new Map()
  }
}
