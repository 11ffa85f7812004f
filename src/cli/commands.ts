// The table of commands: parsing, help and dispatch all come from it.

import { packageVersion } from '../kit/package_version.ts'
import { type Command, command } from './command.ts'
import { eventsExport, eventsSince, eventsTail, eventsVerify } from './events.ts'
import { keyCreate, keyList, keyRevoke } from './key.ts'
import { configPath } from './places.ts'
import { replay } from './replay.ts'
import { safeOff } from './safe_off.ts'
import { demo, serve } from './serve.ts'
import { sim } from './sim.ts'

const configCheck = command({
  name: 'config check',
  summary: 'Check a configuration, and say what is wrong with it',
  operands: ['[FILE]'],
  options: { config: { type: 'string', value: 'FILE', help: 'The same as FILE' } },
  example: 'benchd config check ./config.json',
  async run({ options, operands: [file] }) {
    const { readConfig } = await import('../config.ts')
    const path = configPath(file ?? options.config)
    const { devices } = await readConfig(path)
    process.stdout.write(`${path} is good: ${devices.length} devices\n`)
    return 0
  },
})

const version = command({
  name: 'version',
  summary: 'Print the version',
  operands: [],
  options: {},
  async run() {
    process.stdout.write(`${packageVersion()}\n`)
    return 0
  },
})

export const commands: readonly Command[] = [
  serve,
  demo,
  eventsTail,
  eventsSince,
  eventsExport,
  eventsVerify,
  keyCreate,
  keyList,
  keyRevoke,
  sim,
  replay,
  safeOff,
  configCheck,
  version,
]
