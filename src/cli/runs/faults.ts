// `benchd runs fault` and `runs mend`: recovery is rehearsed on the simulators of a DEVICE_SIM run, and nothing on the bench is touched.

import { tells } from '../asking.ts'
import { CliError } from '../exit.ts'
import { pathOf } from './ids.ts'

const runsFault = tells({
  name: 'runs fault',
  summary: 'Break a simulator of a DEVICE_SIM run, to rehearse recovery: jam, unplug, no_reply, …',
  operands: ['ID', 'DEVICE', 'FAULT'],
  options: { after: { type: 'string', value: 'SECONDS', help: 'So much later; default 0' } },
  example: 'benchd runs fault 7b1c shaker-1 jam',
  tell: async ({ service, options: { after }, operands: [id = '', device = '', fault = ''] }) => ({
    path: faultsOf(await pathOf(service, id), device),
    body: { fault, ...(after !== undefined && { after: secondsOf(after) }) },
  }),
})

const runsMend = tells({
  name: 'runs mend',
  summary: 'Mend a simulator of a DEVICE_SIM run; then recover the thread that it held',
  operands: ['ID', 'DEVICE'],
  tell: async ({ service, operands: [id = '', device = ''] }) => ({ method: 'DELETE', path: faultsOf(await pathOf(service, id), device) }),
})

export const faults = [runsFault, runsMend]

function faultsOf(path: string, device: string): string {
  return `${path.replace('/api/', '/api/sim/')}/devices/${encodeURIComponent(device)}/faults`
}

function secondsOf(after: string): number {
  const seconds = Number(after)
  if (!(seconds >= 0)) throw new CliError('usage', `--after ${after} is not a number of seconds`)
  return seconds
}
