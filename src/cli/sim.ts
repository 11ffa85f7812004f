// `benchd sim …`: a simulated instrument on a pseudo-terminal or a TCP port, and faults of the bench's simulators.

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
  summary: 'Simulate an instrument on a pseudo-terminal or a TCP port',
  operands: ['DRIVER'],
  options: {
    pty: { type: 'boolean', help: 'Serve the simulator on a pseudo-terminal, and print its path' },
    tcp: {
      type: 'string',
      value: '[HOST:]PORT',
      help: 'Serve the simulator on this TCP port, or on any for 0, of 127.0.0.1 or of HOST, and print the address',
    },
    link: { type: 'string', value: 'PATH', help: 'Path of a symbolic link to the pseudo-terminal' },
    settings: { type: 'string', value: 'JSON', help: 'Settings of the driver, as in the configuration' },
    'time-scale': { type: 'string', value: 'N', help: 'Simulated seconds per real second; default 1' },
    from: { type: 'string', value: 'TRIAL', help: 'File of a trial, whose texts and times are replayed in place of the simulator' },
    config: { type: 'string', value: 'FILE', help: 'Configuration beside which drivers of your own lie; default /etc/benchd/config.json' },
  },
  example: 'benchd sim bioshake --pty',
  async run({ options, operands: [name = ''] }) {
    const [{ isOnPins }, { serveOnPty, serveOnTcp }, { checked }, { parseJson }] = await Promise.all([
      import('../../drivers/driver.ts'),
      import('../../drivers/serve.ts'),
      import('../kit/schema.ts'),
      import('../kit/json.ts'),
    ])
    const named = await driverNamed(name, { otherwise: 'not_found', config: options.config })
    const driver = options.from === undefined || isOnPins(named) ? named : { ...named, simulate: await replayed(options.from) }
    if (isOnPins(driver)) throw new CliError('usage', `${name} hangs on pins, not on a serial port; simulate it in a configuration`)
    if ((options.tcp === undefined) !== (options.pty === true))
      throw new CliError('usage', 'benchd sim wants --pty or --tcp PORT: where the simulator is served')
    const settings = checked(driver.settings, parseJson(options.settings ?? '{}', '--settings'), '--settings')
    const time_scale = numberOf('--time-scale', options['time-scale'] ?? '1', 'a number from 1 up', (scale) => scale >= 1)
    if (options.pty && driver.tcp)
      throw new CliError('usage', `${name} is on the network and has no serial port; serve it by --tcp ${driver.tcp.port}`)
    const { host, port } = addressOf(options.tcp ?? '0')
    const served = options.pty
      ? await serveOnPty(driver, settings, { time_scale, ...(options.link && { link: options.link }) })
      : await serveOnTcp(driver, settings, { time_scale, host, port })
    const path = 'path' in served ? served.path : `${host.includes(':') ? `[${host}]` : host}:${served.port}`
    // Before the path is printed, because a program that reads it may end this one at once.
    const interrupted = new Promise((resolve) => {
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, resolve)
    })
    print(options.json ? JSON.stringify({ driver: name, path }) : path)
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

/** Returns an instrument that answers as in a trial. Rejects for a file that was changed. */
async function replayed(path: string) {
  const [{ mustBeUnchanged, readTrial }, { replaying }] = await Promise.all([
    import('../conformance/trial_file.ts'),
    import('../conformance/replayed_trial.ts'),
  ])
  const file = await readTrial(path)
  mustBeUnchanged(file, path)
  return replaying(file.trial.wire)
}

/** Reads `PORT` or `HOST:PORT`. */
function addressOf(address: string): { host: string; port: number } {
  const [, host = '127.0.0.1', number = address] = /^\[?([^\s/[\]]+?)\]?:(\d+)$/.exec(address) ?? []
  const isPort = (port: number) => Number.isInteger(port) && port >= 0 && port <= 65535
  return { host, port: numberOf('--tcp', number, 'a port from 0 to 65535, or HOST:PORT', isPort) }
}

function faultsOf(device: string): string {
  return `${pathOf(device).replace('/api/', '/api/sim/')}/faults`
}
