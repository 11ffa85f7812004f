// `benchd runs fault` and `runs mend`: faults of the simulators of a DEVICE_SIM run, for rehearsing a recovery without the bench.

import { tells } from '../asking.ts'
import { faultTelling, faultTellingOptions } from '../faults.ts'
import { pathOf } from './ids.ts'

const runsFault = tells({
  name: 'runs fault',
  summary: 'Simulate a fault in a run that rehearses on simulators: jam, unplug, no_reply, …',
  operands: ['ID', 'DEVICE', 'FAULT'],
  options: faultTellingOptions,
  example: 'benchd runs fault 7b1c shaker-1 jam',
  tell: async ({ service, options, operands: [id = '', device = '', fault = ''] }) =>
    faultTelling(faultsOf(await pathOf(service, id), device), fault, options),
})

const runsMend = tells({
  name: 'runs mend',
  summary: 'End the simulated faults of a device in a run that rehearses on simulators; recover the held thread afterwards',
  operands: ['ID', 'DEVICE'],
  tell: async ({ service, operands: [id = '', device = ''] }) => ({ method: 'DELETE', path: faultsOf(await pathOf(service, id), device) }),
})

export const faults = [runsFault, runsMend]

function faultsOf(path: string, device: string): string {
  return `${path.replace('/api/', '/api/sim/')}/devices/${encodeURIComponent(device)}/faults`
}
