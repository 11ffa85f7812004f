// Restores the configuration of a backup file by file. Each replaced file is kept beside the new one, with the time in its name.

import { isDeepStrictEqual } from 'node:util'
import { commandsOfBridges } from '../../drivers/bridge/commands.ts'
import { createSynced } from '../kit/durable.ts'
import { readBytes } from '../kit/files.ts'
import { exists } from '../kit/folder.ts'
import { replaceFile } from '../kit/replace_file.ts'
import { sha256Of } from '../kit/tree.ts'
import { configFolder } from './backup.ts'
import type { FileChange, Opened } from './restore.ts'

/** The paths of this computer's configuration. */
type ConfigPlaces = { config: string; topologies: string }

/** Plans the restore of the configuration; the names are the paths on this computer. Topologies that the backup does not have stay. */
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

/** Restores the planned files. Rejects with `storage` or `forbidden`; earlier files are in place then. */
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

/** Lists the programs of bridges in the backup that the present configuration does not start, as `reader-1: python3 reader.py`. */
export async function strangeCommands({ config }: Opened, places: ConfigPlaces): Promise<string[]> {
  const own = exists(places.config) ? String(await readBytes(places.config)) : '{}'
  const known = commandsIn(own)
  const theirs = [...commandsIn(String(config.get('config.json') ?? '{}'))]
  return theirs.filter(([id, command]) => !isDeepStrictEqual(known.get(id), command)).map(([id, command]) => `${id}: ${command.join(' ')}`)
}

/** Reads the commands; none from text that is not JSON, from which no service starts. */
function commandsIn(text: string): ReadonlyMap<string, readonly string[]> {
  try {
    return commandsOfBridges(text, 'a configuration')
  } catch {
    return new Map()
  }
}
