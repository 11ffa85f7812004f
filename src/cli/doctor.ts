// `benchd doctor`: checks this computer, and prints a remedy for each problem.

import type { Finding, Level } from '../care/doctor/finding.ts'
import { exists } from '../kit/folder.ts'
import { command } from './command.ts'
import { CliError } from './exit.ts'
import { serviceOn } from './local_service.ts'
import { configPath, dataDir } from './places.ts'
import { print } from './table.ts'

const doctor = command({
  name: 'doctor',
  summary: 'Check this computer and print a remedy for each problem; exit with 1 when a check fails',
  options: {
    config: { type: 'string', value: 'FILE', help: 'Configuration; default /etc/benchd/config.json' },
    'data-dir': { type: 'string', value: 'DIR', help: 'Folder of the state' },
    ask: { type: 'boolean', help: 'Ask the instruments for their identities while no service runs; nothing moves' },
    root: { type: 'string', value: 'DIR', help: 'Folder laid out as a root file system, in place of /' },
    json: { type: 'boolean', help: 'Print JSON' },
  },
  example: 'sudo benchd doctor',
  async run({ options }) {
    const { examine } = await import('../care/doctor/doctor.ts')
    const { root, ask: mayAsk } = options
    const data_dir = root && !options['data-dir'] ? `${root}/var/lib/benchd` : dataDir(options['data-dir'])
    const findings = await examine({
      config_path: configAt(options.config, root),
      data_dir,
      service: await serviceOn(data_dir),
      root,
      ask: mayAsk,
    })
    const [failed, warnings] = [count(findings, 'FAIL'), count(findings, 'WARN')]
    if (options.json) print(JSON.stringify({ findings, failed, warnings }))
    else print([...findings.map(shown), `${failed} failed, ${warnings} ${warnings === 1 ? 'warning' : 'warnings'}`].join('\n'))
    return failed ? 1 : 0
  },
})

export const commands = [doctor]

function configAt(flag: string | undefined, root: string | undefined): string | undefined {
  if (root && !flag) return [`${root}/etc/benchd/config.json`].find(exists)
  try {
    return configPath(flag)
  } catch (error) {
    if (error instanceof CliError && error.exit === 'config') return undefined
    throw error
  }
}

function count(findings: readonly Finding[], level: Level): number {
  return findings.filter((one) => one.level === level).length
}

function shown({ check, level, finding, fix }: Finding): string {
  const line = `${level.padEnd(5)} ${check.padEnd(12)} ${finding}`
  return fix ? `${line}\n      fix: ${fix}` : line
}
