// `benchd version`.

import { packageVersion } from '../kit/package_version.ts'
import { command } from './command.ts'
import { print } from './table.ts'

const version = command({
  name: 'version',
  summary: 'Print the version',
  async run({ options }) {
    print(options.json ? JSON.stringify({ version: packageVersion() }) : packageVersion())
  },
})

export const commands = [version]
