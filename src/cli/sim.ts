// `benchd sim …`: a simulated instrument on a pseudo-terminal for any driver, and faults of the bench's simulators.

import { tells } from './asking.ts'
import { command } from './command.ts'
import { pathOf } from './devices/perform.ts'
import { driverNamed } from './driver_named.ts'
import { CliError } from './exit.ts'
import { faultTelling, faultTellingOptions } from './faults.ts'
import { numberOf } from './numbers.ts'
import { print } from './table.ts'
import { note } from './terminal.ts'

const sim = command({
  name: 'sim',
  summary: 'Simulate an instrument on a pseudo-terminal',
  operands: ['DRIVER'],
  options: {
    pty: { type: 'boolean', help: 'Serve the simulator on a pseudo-terminal, and print its path' },
    link: { type: 'string', value: 'PATH', help: 'Path of a symbolic link to the pseudo-terminal' },
    settings: { type: 'string', value: 'JSON', help: 'Settings of the driver, as in the configuration' },
    'time-scale': { type: 'string', value: 'N', help: 'Simulated seconds per real second; default 1' },
  },
  example: 'benchd sim bioshake --pty',
  async run({ options, operands: [name = ''] }) {
    const [{ isOnPins }, { serveOnPty }, { checked }, { parseJson }] = await Promise.all([
      import('../../drivers/driver.ts'),
      import('../../drivers/serve.ts'),
      import('../kit/schema.ts'),
      import('../kit/json.ts'),
    ])
    const driver = await driverNamed(name, 'not_found')
    if (isOnPins(driver)) throw new CliError('usage', `${name} hangs on pins, not on a serial port; simulate it in a configuration`)
    if (!options.pty) throw new CliError('usage', 'benchd sim wants --pty: a pseudo-terminal is the one place where it can be served')
    const settings = checked(driver.settings, parseJson(options.settings ?? '{}', '--settings'), '--settings')
    const time_scale = numberOf('--time-scale', options['time-scale'] ?? '1', 'a number from 1 up', (scale) => scale >= 1)
    const served = await serveOnPty(driver, settings, { time_scale, ...(options.link && { link: options.link }) })
    // Before the path is printed, because a program that reads it may end this one at once.
    const interrupted = new Promise((resolve) => {
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, resolve)
    })
    print(options.json ? JSON.stringify({ driver: name, path: served.path }) : served.path)
    note(`a simulated ${name} answers there until Ctrl-C`)
    await interrupted
    await served.close()
  },
})

const simFault = tells({
  name: 'sim fault',
  summary: 'Simulate a fault of a simulated device: jam, unplug, no_reply, …',
  operands: ['DEVICE', 'FAULT'],
  options: faultTellingOptions,
  example: 'benchd sim fault shaker-1 jam',
  tell: ({ options, operands: [device = '', fault = ''] }) => faultTelling(faultsOf(device), fault, options),
})

const simMend = tells({
  name: 'sim mend',
  summary: 'End the simulated faults of a device; initialize the device or recover the held thread afterwards',
  operands: ['DEVICE'],
  tell: ({ operands: [device = ''] }) => ({ method: 'DELETE', path: faultsOf(device) }),
})

export const commands = [sim, simFault, simMend]

function faultsOf(device: string): string {
  return `${pathOf(device).replace('/api/', '/api/sim/')}/faults`
}
