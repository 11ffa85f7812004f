// `benchd discover`: lists the benches on the LAN that Avahi finds.

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { benchesIn } from './avahi.ts'
import { command } from './command.ts'
import { CliError } from './exit.ts'
import { print, table } from './table.ts'
import { note } from './terminal.ts'

const service = '_benchd._tcp'

const discover = command({
  name: 'discover',
  summary: 'List the benches on this network',
  async run({ options }) {
    const benches = benchesIn(await browse())
    const rows = benches.map(({ name, url, addresses, version }) => [name, url, addresses.join(' '), version ?? ''])
    print(options.json ? JSON.stringify({ benches }) : table(['NAME', 'URL', 'ADDRESSES', 'VERSION'], rows))
    if (benches.length === 0)
      note('no bench was heard; where names do not travel the network, use its address: benchd status --url http://ADDRESS:8520')
  },
})

export const commands = [discover]

async function browse(): Promise<string> {
  try {
    return (await promisify(execFile)('avahi-browse', ['-rpt', service], { timeout: 30_000 })).stdout
  } catch (error) {
    const { code, stderr = '' } = error as { code?: string | number; stderr?: string }
    const without = 'or use the address of the bench: benchd status --url http://ADDRESS:8520'
    if (code === 'ENOENT')
      throw new CliError('failed', `avahi-browse is not here: sudo apt install avahi-utils; ${without}`, { cause: error })
    const said = stderr.trim() || 'it was not heard from within 30 s'
    throw new CliError('failed', `avahi-browse cannot look around (${said}): sudo systemctl start avahi-daemon; ${without}`, {
      cause: error,
    })
  }
}
