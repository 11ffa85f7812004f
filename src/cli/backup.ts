// `benchd backup …`: backups of the running service, or without one, of the data folder itself.

import { join } from 'node:path'
import type { Backup, MadeBackup, Making } from '../care/backups.ts'
import { LabError } from '../errors.ts'
import { exists } from '../kit/folder.ts'
import type { Report } from '../kit/json_file.ts'
import { ask, open, patiently, type Service, serviceOf, serviceOptions } from './client.ts'
import { command, type OptionValues } from './command.ts'
import { tellNoService } from './elsewhere.ts'
import { CliError } from './exit.ts'
import { offline } from './offline.ts'
import { configPath, topologiesDir } from './places.ts'
import { date, print, table } from './table.ts'
import { note, noteNone } from './terminal.ts'

const configOption = {
  config: { type: 'string', value: 'FILE', help: 'Configuration to back up without a service; default /etc/benchd/config.json' },
} as const

const backup = command({
  name: 'backup',
  summary: 'Make a backup of the configuration and the state in FILE, a folder or by default the data folder',
  operands: ['[FILE]'],
  options: {
    'with-keys': { type: 'boolean', help: 'Include the hashed keys; protect such a file' },
    'with-events': { type: 'boolean', help: 'Include the whole event log' },
    'with-files': { type: 'boolean', help: 'Include the files that are attached to runs' },
    ...configOption,
    ...serviceOptions,
  },
  example: 'benchd backup /media/stick',
  async run({ options, operands: [file] }) {
    // A word such as `restore` is more likely a mistyped command than a file name.
    if (file && /^[a-z-]+$/.test(file) && !exists(file))
      throw new CliError(
        'usage',
        `there is no command backup ${file}; for a file of this name: benchd backup ./${file}; to put a backup back: benchd restore`,
      )
    const { 'with-keys': with_keys = false, 'with-events': with_events = false, 'with-files': with_files = false } = options
    const wanted = { with_keys, with_events, ...(with_files && { with_files }) }
    const store = await storeOf(options)
    const made = await store.make({ ...wanted, keep: file === undefined })
    // The folder of a remote service is unknown.
    const kept = store.folder ? join(store.folder, 'backups', made.name) : undefined
    const path = file === undefined ? kept : await takenAway(store, made, file)
    print(options.json ? JSON.stringify({ ...made, path: path ?? null }) : (path ?? made.name))
    for (const one of made.left_out) note(`left out: ${one}`)
  },
})

const backupList = command({
  name: 'backup list',
  summary: 'List the backups in the data folder',
  options: { ...configOption, ...serviceOptions },
  async run({ options }) {
    const backups = await (await storeOf(options)).list()
    print(options.json ? JSON.stringify({ backups }) : table(['MADE', 'BYTES', 'NAME'], backups.map(row)))
    noteNone(backups, 'there is no backup yet; to make one: benchd backup')
  },
})

export const commands = [backup, backupList]

/** Access to the backups, with and without a running service. */
type Store = {
  /** The data folder; undefined for a remote service. */
  folder?: string
  make(wanted: Making): Promise<MadeBackup>
  list(): Promise<Backup[]>
  /** Resolves with a function that writes the backup into an open file. */
  read(backup: Backup): Promise<(to: number) => Promise<void>>
  remove(backup: Backup): Promise<void>
}

/** Returns the store of the running service, or without one, of its folder on this computer. */
export async function storeOf(options: OptionValues<typeof serviceOptions & typeof configOption>): Promise<Store> {
  const service = serviceOf(options)
  try {
    await ask(service, 'GET', path)
    return { ...served(service), ...('socket_of' in service && { folder: service.socket_of }) }
  } catch (error) {
    if ('url' in service || !(error instanceof CliError) || error.exit !== 'unreachable') throw error
    const isNamed = (options['data-dir'] ?? process.env.BENCHD_DATA_DIR) !== undefined
    return unserved({ folder: service.socket_of, isNamed }, options.config)
  }
}

const path = '/api/system/backups'

function served(service: Service): Store {
  return {
    make: (wanted) => ask(patiently(service), 'POST', path, wanted),
    list: async () => (await ask<{ backups: Backup[] }>(service, 'GET', path)).backups,
    async read({ name }) {
      const [content, { writeOpen }] = await Promise.all([open(service, 'GET', `${path}/${name}`), import('../kit/open_file.ts')])
      return (to) => writeOpen(to, content)
    },
    async remove({ name }) {
      await ask(service, 'DELETE', `${path}/${name}`)
    },
  }
}

async function unserved({ folder, isNamed }: { folder: string; isNamed: boolean }, named: string | undefined): Promise<Store> {
  const [{ exists }, { report }] = await Promise.all([import('../kit/folder.ts'), import('./offline_tasks.ts')])
  if (!exists(folder)) throw new LabError('not_found', `there is no data folder ${folder}; name another with --data-dir`)
  return {
    folder,
    async make(wanted) {
      await tellNoService({ folder, isNamed, what: 'the backup is made of what is in it' })
      return madeHere(folder, configOr(named, report), wanted)
    },
    async list() {
      await tellNoService({ folder, isNamed, what: 'these are the backups in it' })
      return offline(folder, 'backup list', undefined)
    },
    read:
      async ({ name }) =>
      (to) =>
        offline(folder, 'backup copy', { name }, to),
    remove: ({ name }) => offline(folder, 'backup remove', { name }),
  }
}

async function madeHere(folder: string, config: string | undefined, wanted: Making): Promise<MadeBackup> {
  const [{ packageVersion }, { readConfig }, { readConfiguration }] = await Promise.all([
    import('../kit/package_version.ts'),
    import('../config.ts'),
    import('../care/backup.ts'),
  ])
  // A configuration with mistakes is backed up too.
  const system_id = config === undefined ? undefined : (await readConfig(config).catch(() => undefined))?.system_id
  const { files, left_out } = await readConfiguration({ config, topologies: topologiesDir(undefined, config) })
  const configuration = { files: files.map(({ name, content }) => ({ name, base64: Buffer.from(content).toString('base64') })), left_out }
  const sources = { configuration, version: packageVersion(), system_id: system_id ?? 'system' }
  return offline(folder, 'backup make', { wanted, sources })
}

function configOr(named: string | undefined, report: Report): string | undefined {
  try {
    return configPath(named)
  } catch {
    report({ kind: 'storage', message: 'there is no configuration, so none is in the backup; to name one: --config FILE' })
    return undefined
  }
}

/** Copies the backup to the file and deletes it from the store. Returns the path. */
async function takenAway(store: Store, made: Backup, file: string): Promise<string> {
  const { saveAs } = await import('../kit/archive.ts')
  try {
    return await saveAs(file, `benchd-${made.name}`, await store.read(made))
  } finally {
    await store.remove(made)
  }
}

function row({ name, size, made_at }: Backup): string[] {
  return [date(made_at), String(size), name]
}
