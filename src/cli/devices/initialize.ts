// `benchd devices initialize`: one device, or with --all each device that must be initialized before it can be used.

import { ifState } from '../../clients/ts/benchd.ts'
import type { DeviceInfo } from '../../devices/records.ts'
import { serviceOf, serviceOptions } from '../client.ts'
import { type Command, command, type OptionValues } from '../command.ts'
import { CliError, exitCodes } from '../exit.ts'
import { mustBeSure, note, say, yesOption } from '../terminal.ts'
import { perform } from './perform.ts'
import { devicesOf } from './shown.ts'

const allOptions = {
  all: {
    type: 'boolean',
    help: 'Initialize each stopped or uninitialized device, one after the other, until one fails; devices that others have reserved are left out',
  },
  ...yesOption,
} as const

type InitializeOptions = OptionValues<typeof allOptions & typeof serviceOptions> & {
  json?: boolean
  'stop-on-interrupt'?: boolean
  override?: boolean
}

/** Returns the command that initializes one device, with --all added to it. `headersOf` makes the headers of its options. */
export function withAll(one: Command, headersOf: (options: InitializeOptions) => Record<string, string>): Command {
  return command({
    ...one,
    operands: ['[ID]'],
    options: { ...allOptions, ...one.options, ...serviceOptions },
    example: 'benchd devices init --all',
    async run(given) {
      const options = given.options as InitializeOptions
      if ((given.operands[0] === undefined) !== (options.all === true))
        throw new CliError('usage', 'benchd devices init wants the id of a device, or --all')
      if (!options.all) return one.run(given)
      const service = serviceOf(options)
      const devices = await devicesOf(service)
      const all = devices.filter(needsInitializing)
      const ids = all.map(({ device_id }) => device_id)
      for (const { device_id, state } of devices)
        if (state === 'faulted') note(`${device_id} has a fault and is left out: look at it first, then: benchd devices init ${device_id}`)
      if (ids.length === 0) return say({ success: true, message: 'no device has to be initialized' }, options.json)
      await mustBeSure(options, `initialize ${ids.join(', ')}, one after the other: each may move`)
      return oneByOne(all, (device) =>
        perform(service, {
          ...{ device_id: device.device_id, operation: 'initialize', body: {}, headers: { ...headersOf(options), ...ifState(device) } },
          ...{ stops: options['stop-on-interrupt'] ?? false, asJson: options.json ?? false },
        }),
      )
    },
  })
}

function needsInitializing({ state }: DeviceInfo): boolean {
  return state === 'stopped' || state === 'not_initialized'
}

/**
 * Initializes the devices one by one, and returns the exit code. It ends at the first failure: a stop makes the present device fail, so nothing moves after
 * the stop. It also ends at a device whose state is no longer the listed one or that was stopped again, because somebody else is at work. A device that is
 * leased or in use is skipped.
 */
async function oneByOne(devices: readonly DeviceInfo[], initialize: (device: DeviceInfo) => Promise<number>): Promise<number> {
  let outcome = 0
  for (const [i, device] of devices.entries()) {
    const rest = devices.slice(i + 1).map(({ device_id }) => device_id)
    const tellRest = () => rest.length > 0 && note(`not initialized: ${rest.join(', ')}`)
    const code = await initialize(device).catch((error) => {
      if (error instanceof CliError && (error.reason === 'locked' || error.reason === 'busy')) return passedOver(error)
      tellRest()
      throw error
    })
    if (code !== 0) outcome = code
    if (code === 0 || code === exitCodes.busy[0]) continue
    tellRest()
    break
  }
  return outcome
}

function passedOver({ message }: CliError): number {
  note(message)
  return exitCodes.busy[0]
}
