// `benchd runs fault` and `runs mend`: recovery is rehearsed on the simulators of a DEVICE_SIM run, and nothing on the bench is touched.

import { tells } from '../asking.ts'
import { faultTelling, faultTellingOptions } from '../faults.ts'
import { pathOf } from './ids.ts'

const runsFault = tells({
  name: 'runs fault',
  summary: 'Break a simulator of a DEVICE_SIM run, to rehearse recovery: jam, unplug, no_reply, …',
  operands: ['ID', 'DEVICE', 'FAULT'],
  options: faultTellingOptions,
  example: 'benchd runs fault 7b1c shaker-1 jam',
  tell: async ({ service, options, operands: [id = '', device = '', fault = ''] }) =>
    faultTelling(faultsOf(await pathOf(service, id), device), fault, options),
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
