// `benchd runs export` and `runs verify`: a run as a folder that can be kept and checked without the bench.

import type { Source } from '../../workflow/records/export/exported_run.ts'
import { short } from '../at_shell.ts'
import { ask, open, patiently, type Service, serviceOf, serviceOptions } from '../client.ts'
import { command } from '../command.ts'
import { CliError } from '../exit.ts'
import { print } from '../table.ts'
import { note } from '../terminal.ts'
import { shownPathOf } from './ids.ts'

const runsExport = command({
  name: 'runs export',
  summary: 'Export a run as a folder (RO-Crate 1.2): report, record, tables, workflow, events, files, and the SHA-256 of each',
  operands: ['ID'],
  options: {
    to: { type: 'string', value: 'DIR', help: 'The new folder; default run- and the id, in this folder' },
    ...serviceOptions,
  },
  example: 'benchd runs export 7b1c --to run-7b1c',
  async run({ options, operands: [id = ''] }) {
    const service = patiently(serviceOf(options))
    const path = await shownPathOf(service, id)
    const [{ NewFolder }, { fillFolder }] = await Promise.all([
      import('../../kit/new_folder.ts'),
      import('../../workflow/records/export/exported_run.ts'),
    ])
    const folder = await NewFolder.begin(options.to ?? `run-${short(path.split('/').at(-1)!)}`)
    const made = await fillFolder({ source: sourceAt(service), path, folder }).catch(async (error) => {
      await folder.giveUp()
      throw error
    })
    const where = await folder.finish()
    for (const sentence of made.missing) note(sentence)
    if (made.damaged > 0) note(`the record is not whole: ${made.damaged} of its lines are not as they were written`)
    print(options.json ? JSON.stringify({ path: where, ...made }) : `${where}\nSHA-256 of its list of files: ${made.sha256}`)
  },
})

const runsVerify = command({
  name: 'runs verify',
  summary: 'Check an exported run: every file by its SHA-256, and every line of the record by its checksum',
  operands: ['DIR'],
  options: {
    sha256: {
      type: 'string',
      value: 'SHA256',
      help: 'The SHA-256 of the list of files, as the export printed it: proves that nobody made a new list',
    },
  },
  example: 'benchd runs verify run-7b1c',
  async run({ options, operands: [folder = ''] }) {
    const { checkFolder, earlierFaultsOf, faultsOf, isWhole } = await import('../../workflow/records/export/checked_run.ts')
    const checked = await checkFolder(folder)
    const isOther = options.sha256 !== undefined && options.sha256.toLowerCase() !== checked.sha256
    const faults = [
      ...(isOther ? [`the list of files is not the one of the export: its SHA-256 is ${checked.sha256}`] : []),
      ...faultsOf(checked),
    ]
    const isGood = isWhole(checked) && !isOther
    const before = earlierFaultsOf(checked)
    if (options.json) print(JSON.stringify({ is_whole: isGood, ...checked, faults, faults_before_export: before }))
    else if (isGood)
      print(
        [
          `${checked.files} files and ${checked.record.rows} rows of the record are as they were exported`,
          ...before,
          `SHA-256 of its list of files: ${checked.sha256}`,
        ].join('\n'),
      )
    else print([...faults, ...before].join('\n'))
    if (!isGood)
      throw new CliError('failed', `${folder} is not as it was exported: ${faults.length} ${faults.length === 1 ? 'fault' : 'faults'}`)
  },
})

export const exports = [runsExport, runsVerify]

function sourceAt(service: Service): Source {
  return {
    json: (path) => ask(service, 'GET', path),
    content: (path) => open(service, 'GET', path),
    contentIfThere: (path) =>
      open(service, 'GET', path).catch((error) => {
        if (error instanceof CliError && error.exit === 'not_found') return undefined
        throw error
      }),
  }
}
