// `benchd version`.

import { packageVersion } from '../kit/package_version.ts'
import { command } from './command.ts'

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

export const commands = [version]
