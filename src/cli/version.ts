// `benchd version`.

import { packageVersion } from '../kit/package_version.ts'
import { command } from './command.ts'
import { print } from './table.ts'

const version = command({
  name: 'version',
  summary: 'Print the version',
  operands: [],
  options: {},
  async run({ options }) {
    print(options.json ? JSON.stringify({ version: packageVersion() }) : packageVersion())
    return 0
  },
})

export const commands = [version]
