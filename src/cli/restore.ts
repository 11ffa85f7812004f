// `benchd restore`: restores a backup on this computer, while no service runs on the data folder.

import { basename, join, resolve } from 'node:path'
import type { FileChange, Opened, Parts } from '../care/restore.ts'
import { LabError } from '../errors.ts'
import { exists } from '../kit/folder.ts'
import { isServed } from '../kit/folder_lock.ts'
import { command } from './command.ts'
import { CliError } from './exit.ts'
import { offline } from './offline.ts'
import { configPath, dataDir, topologiesDir } from './places.ts'
import { date, print } from './table.ts'
import { mustBeSure, note, yesOption } from './terminal.ts'

const restore = command({
  name: 'restore',
  summary:
    'Restore the settings of a backup, named by its file or by its name in backup list; with --all, also restore runs and labware. The previous files are saved',
  operands: ['FILE'],
  options: {
    'dry-run': { type: 'boolean', help: 'Check the backup, and show the changes without making them' },
    all: { type: 'boolean', help: 'Restore also runs, records, incidents, the places of labware, and the events of the backup' },
    'with-keys': {
      type: 'boolean',
      help: 'Restore also the keys of the backup, including keys that were revoked since',
    },
    'with-config': { type: 'boolean', help: 'Restore also the configuration and the topologies' },
    'with-commands': {
      type: 'boolean',
      help: 'Accept programs of bridges that this computer does not start yet, with --with-config',
    },
    config: { type: 'string', value: 'FILE', help: 'Configuration file to restore; default /etc/benchd/config.json' },
    'data-dir': { type: 'string', value: 'DIR', help: 'Folder of the state' },
    ...yesOption,
  },
  example: 'benchd restore /media/stick/benchd-daily-20261120T020000Z.tar.gz --dry-run',
  async run({ options, operands: [file = ''] }) {
    const [{ openBackup }, { configPlanOf, restoreConfig, strangeCommands }] = await Promise.all([
      import('../care/restore.ts'),
      import('../care/restore_config.ts'),
    ])
    const folder = dataDir(options['data-dir'])
    const parts: Parts = { all: options.all ?? false, keys: options['with-keys'] ?? false }
    const at = new Date()
    const opened = await openBackup(pathOf(file, folder))
    try {
      const places = options['with-config'] ? placesOf(options.config) : undefined
      const { manifest } = opened
      const plan = await offline(folder, 'restore plan', { manifest, parts })
      const configPlan = places ? await configPlanOf(opened, places) : []
      const restored = { opened, plan: [...plan, ...configPlan], folder }
      if (places && !options['with-commands']) refuseCommands(await strangeCommands(opened, places))
      if (options['dry-run']) return show(restored, parts, options.json)
      if (await isServed(folder))
        throw new LabError('in_use', `a benchd runs on the data folder ${folder}; end it first: sudo systemctl stop benchd`)
      if (!options.json) show(restored, parts, false)
      await mustBeSure(options, `change ${folder} to what it was on ${date(manifest.made_at)}`)
      const before = await offline(folder, 'restore', { manifest, parts, at: at.getTime() }, opened.archive.descriptor)
      if (places) await restoreConfig(opened, places, configPlan, at)
      return tell({ ...restored, before }, options.json)
    } finally {
      await opened.archive.close()
    }
  },
})

export const commands = [restore]

/** Returns the path of the named file, or of the backup with this name in the data folder. */
function pathOf(file: string, folder: string): string {
  const isName = basename(file) === file && !exists(resolve(file))
  if (!isName) return resolve(file)
  const kept = join(folder, 'backups', file)
  if (exists(kept)) return kept
  throw new LabError('not_found', `there is no such file ${file}, neither here nor among the backups in ${folder}; see: benchd backup list`)
}

/** Throws `not_allowed` if there are any, because the maker of the backup could make this computer run them. */
function refuseCommands(programs: readonly string[]): void {
  if (programs.length === 0) return
  const named = programs.map((program) => `\n  ${program}`).join('')
  const sentence = `nothing is restored: the configuration of the backup has programs of bridges that this computer does not start yet:${named}\nif they are to be started: --with-commands as well; or leave --with-config out`
  throw new CliError('not_allowed', sentence)
}

type Restored = { opened: Opened; plan: readonly FileChange[]; folder: string; before?: string | undefined }

function placesOf(named: string | undefined): { config: string; topologies: string } {
  const config = configOrDefault(named)
  return { config, topologies: topologiesDir(undefined, config) as string }
}

/** Returns the path of the configuration, which may not exist yet on a new computer. */
function configOrDefault(named: string | undefined): string {
  try {
    return configPath(named)
  } catch {
    return '/etc/benchd/config.json'
  }
}

function show(restored: Restored, parts: Parts, asJson: boolean | undefined): number {
  if (asJson) {
    print(asJsonText(restored))
    return 0
  }
  const { opened, plan, folder } = restored
  const { manifest, passed_over } = opened
  print(
    `backup of ${manifest.system_id}, made ${date(manifest.made_at)} by benchd ${manifest.version}: whole, ${manifest.files.length} files`,
  )
  for (const { name, change } of plan.filter(({ change }) => change !== 'left alone' && change !== 'the same'))
    print(`  ${change.padEnd(12)}${name}`)
  const count = (wanted: FileChange['change']) => plan.filter(({ change }) => change === wanted).length
  print(`  ${count('the same')} files are the same, ${count('left alone')} are left alone`)
  for (const hint of hints(plan, parts, manifest)) note(hint)
  if (manifest.left_out.length) note(`left out of the backup when it was made: ${manifest.left_out.join('; ')}`)
  if (passed_over.length) note(`in the backup, but not put back, because benchd keeps no such files: ${passed_over.join('; ')}`)
  if (plan.length === 0) note(`${folder} stays as it is`)
  return 0
}

function tell(restored: Restored, asJson: boolean | undefined): number {
  if (asJson) print(asJsonText(restored))
  else {
    const { opened, folder, before } = restored
    print(`${folder} is as it was on ${date(opened.manifest.made_at)}`)
    if (before) print(`what was there before is in ${folder}/${before}`)
    note(
      'to go on: sudo systemctl start benchd; open runs and a queue with entries are paused, and nothing moves until somebody resumes them',
    )
  }
  return 0
}

function asJsonText({ opened, plan, before }: Restored): string {
  const { made_at, version, system_id } = opened.manifest
  return JSON.stringify({ made_at, version, system_id, changes: plan, passed_over: opened.passed_over, before: before ?? null })
}

/** Names parts that are restored only on request. */
function hints(plan: readonly FileChange[], { all, keys }: Parts, { with_keys, with_events }: Opened['manifest']): string[] {
  const stays = (pattern: RegExp) => plan.some(({ name, change }) => change === 'left alone' && pattern.test(name))
  const goesOn = plan.some(({ name, change }) => change === 'replaced' && name === 'workflows.json') && stays(/^executions\//)
  return [
    ...(stays(/^(records|incidents)\.jsonl$|^labware\.json$|^executions\//) && !all
      ? ['what ran, and where labware is, stays as it is here; to have that of the backup: --all']
      : []),
    ...(with_keys && stays(/^keys\.json$/) && !keys ? ['the keys of the backup are not put back; to have them: --with-keys'] : []),
    ...(with_events && stays(/^events\//) && !all ? ['the event log stays as it is here; to have that of the backup: --all'] : []),
    ...(goesOn ? ['runs stand open here; one whose workflow is not the same any more is aborted at the next start'] : []),
  ]
}
