// `benchd drivers …`: the drivers that there are, and the lab's own: begun, and tried by the suite that those of the catalogue pass.

import { join, resolve } from 'node:path'
import { exists } from '../kit/folder.ts'
import { command } from './command.ts'
import { folderOf } from './driver_named.ts'
import { driverFiles, mustBeDriverName } from './driver_skeleton.ts'
import { CliError } from './exit.ts'
import { print, table } from './table.ts'
import { colored, note } from './terminal.ts'

type Outcome = import('../conformance/runner.ts').Outcome
type Listed = {
  driver: string
  type: string | null
  instrument: string | null
  version: string | null
  source: string
  path: string | null
  problem: string | null
}

const configOption = {
  config: { type: 'string', value: 'FILE', help: 'Configuration beside which drivers of your own lie; default /etc/benchd/config.json' },
} as const

const list = command({
  name: 'drivers list',
  summary: 'List the drivers: which ship, which lie beside the configuration, and which of those cannot be loaded',
  options: configOption,
  async run({ options }) {
    const drivers = await listed(folderOf(options.config))
    if (options.json) return print(JSON.stringify({ drivers }))
    const rows = drivers.map(({ driver, type, version, source, path, problem }) => [
      driver,
      type ?? '-',
      version ?? '-',
      path ?? source,
      problem ?? '',
    ])
    print(table(['DRIVER', 'TYPE', 'VERSION', 'FROM', 'PROBLEM'], rows))
  },
})

async function listed(folder: string | undefined): Promise<Listed[]> {
  const [{ driverNames, drivers }, { outsideDriver, outsideNames, placeOf }, { packageVersion }] = await Promise.all([
    import('../../drivers/index.ts'),
    import('../../drivers/outside.ts'),
    import('../kit/package_version.ts'),
  ])
  const version = packageVersion()
  const shipped = driverNames.map(async (driver): Promise<Listed> => {
    const { type, about } = await drivers[driver]()
    return { driver, type, instrument: about.instrument, version, source: 'benchd', path: null, problem: null }
  })
  const own = (folder === undefined ? [] : await outsideNames(folder)).map(async (driver): Promise<Listed> => {
    const place = placeOf(driver, folder)!
    const { source, path } = place
    const its = { driver, type: null, instrument: null, version: null, source, path }
    if ((driverNames as string[]).includes(driver)) return { ...its, problem: 'not used: benchd has a driver of this name; rename it' }
    const found = await outsideDriver(driver, place)
    if ('why' in found) return { ...its, version: found.version, problem: found.why }
    return { ...its, type: found.driver.type, instrument: found.driver.about.instrument, version: found.version, problem: null }
  })
  return Promise.all([...shipped, ...own])
}

const begin = command({
  name: 'drivers new',
  summary: 'Write a driver of your own, with its protocol, simulator, test and README, and a stand-in for its instrument',
  operands: ['NAME'],
  options: {
    type: { type: 'string', value: 'TYPE', help: 'Type of the device: shaker, or a word of your own, such as pump; default instrument' },
    folder: { type: 'string', value: 'DIR', help: 'Folder for the folder of the driver; default: drivers, in the present one' },
  },
  example: 'benchd drivers new my_pump --type pump',
  async run({ options, operands: [name = ''] }) {
    const { driverNames } = await import('../../drivers/index.ts')
    const type = options.type ?? 'instrument'
    mustBeDriverName(name, type, driverNames)
    const folder = join(resolve(options.folder ?? 'drivers'), name)
    if (exists(folder)) throw new CliError('busy', `${folder} is there already and stays as it is; take another name, or another --folder`)
    const { createSynced, makeFolder } = await import('../kit/durable.ts')
    const files = await driverFiles(name, type)
    await makeFolder(folder)
    for (const [file, text] of Object.entries(files)) await createSynced(join(folder, file), text, { mode: 0o644, isNew: true })
    if (options.json) return print(JSON.stringify({ folder, files: Object.keys(files) }))
    const device = { device_id: `${type}-1`, driver: name, transport: { kind: 'simulated' } }
    print(
      [
        `wrote ${Object.keys(files).join(', ')} into ${folder}`,
        `try it: benchd drivers test ${folder}`,
        `then copy the folder to ${join(folderOf(undefined) ?? '/etc/benchd', 'drivers', name)}, and add the device to the configuration there: ${JSON.stringify(device)}`,
      ].join('\n'),
    )
  },
})

const tryOne = command({
  name: 'drivers test',
  summary: 'Check a driver of your own by its tests, then by the suite that the drivers of benchd pass; needs no instrument',
  operands: ['DIR'],
  options: { only: { type: 'string', value: 'WORDS', help: 'Run only the tests in whose name these words are' } },
  example: 'benchd drivers test drivers/my_pump',
  async run({ options, operands: [folder = ''] }) {
    const { testDriver } = await import('../conformance/driver_folder.ts')
    const path = resolve(folder)
    if (!exists(path)) throw new CliError('not_found', `there is no folder ${path}; to begin a driver: benchd drivers new NAME`)
    const outcomes: Outcome[] = []
    const ended = (outcome: Outcome) => {
      outcomes.push(outcome)
      if (!options.json && outcome.passed + outcome.failures.length > 0) print(shown(outcome))
    }
    await testDriver(path, { only: options.only, ended })
    const failed = outcomes.filter(({ failures }) => failures.length > 0)
    const checks = outcomes.reduce((sum, { passed }) => sum + passed, 0)
    if (options.json) print(JSON.stringify({ folder: path, tests: outcomes.length, checks, failed: failed.length, outcomes }))
    else if (checks + failed.length === 0) note('no test has these words in its name')
    else
      print(
        failed.length > 0
          ? `${failed.length} of ${outcomes.length} tests failed`
          : `all ${outcomes.length} tests passed, with ${checks} checks`,
      )
    return failed.length > 0 ? 1 : 0
  },
})

/** Words a test: a line, and under it what failed. */
function shown({ names, failures }: Outcome): string {
  const name = names.join(': ')
  if (failures.length === 0) return `${colored('green', 'pass')}  ${name}`
  const lines = failures.flatMap(({ message, found }) => [`      ${message}`, ...(found === undefined ? [] : [`        found ${found}`])])
  return [`${colored('red', 'FAIL')}  ${name}`, ...lines].join('\n')
}

const verify = command({
  name: 'drivers verify',
  summary: 'Check that the file of a trial (benchd devices certify) is unchanged, and show what came of it',
  operands: ['FILE'],
  example: 'benchd drivers verify trial-shaker-1.json',
  async run({ options, operands: [path = ''] }) {
    const { isUnchanged, readTrial } = await import('../conformance/trial_file.ts')
    const file = await readTrial(path)
    const { device, instrument, benchd, began, ended_at, simulated, steps } = file.trial
    const is_unchanged = isUnchanged(file)
    const { model, serial_number, firmware_version } = instrument
    if (options.json) print(JSON.stringify({ is_unchanged, simulated, device, instrument, benchd, began, ended_at, steps }))
    else {
      print(is_unchanged ? 'the file is as it was signed' : 'THE FILE WAS CHANGED since it was signed: take nothing from it')
      print(`${device.driver}: ${[model, serial_number, firmware_version].map((one) => one ?? '-').join(', ')}; benchd ${benchd}, ${began}`)
      if (simulated) print('simulated: it does not count')
      if (ended_at !== null) print(`ended by the person at: ${ended_at}`)
      print(
        table(
          ['STEP', 'RESULT', 'SAID', 'NOTE'],
          steps.map(({ name, result, said, note: words }) => [name, result, said ?? '', words ?? '']),
        ),
      )
    }
    return is_unchanged ? 0 : 1
  },
})

export const commands = [list, begin, tryOne, verify]
