// `benchd devices initialize`: one device, or with --all each device that must be initialized before it can be used.

import type { DeviceInfo } from '../../devices/records.ts'
import { serviceOf, serviceOptions } from '../client.ts'
import { type Command, command, type Given } from '../command.ts'
import { CliError, exitCodes } from '../exit.ts'
import { mustBeSure, note, say, yesOption } from '../terminal.ts'
import { devicesOf } from './shown.ts'

const allOptions = {
  all: {
    type: 'boolean',
    help: 'Each device that is stopped or not initialized, one after the other, until one fails; those that others keep are left out',
  },
  ...yesOption,
} as const

/** Returns the command that initializes one device, with --all added to it. */
export function withAll(one: Command): Command {
  return command({
    ...one,
    operands: ['[ID]'],
    options: { ...allOptions, ...one.options, ...serviceOptions },
    example: 'benchd devices init --all',
    async run(given) {
      const options = given.options as Given<typeof allOptions & typeof serviceOptions> & { json?: boolean }
      if ((given.operands[0] === undefined) !== (options.all === true))
        throw new CliError('usage', 'benchd devices init wants the id of a device, or --all')
      if (!options.all) return one.run(given)
      const devices = await devicesOf(serviceOf(options))
      const ids = devices.filter(needsInitializing).map(({ device_id }) => device_id)
      for (const { device_id, state } of devices)
        if (state === 'faulted') note(`${device_id} has a fault and is left out: look at it first, then: benchd devices init ${device_id}`)
      if (ids.length === 0) return say({ success: true, message: 'no device has to be initialized' }, options.json)
      await mustBeSure(options, `initialize ${ids.join(', ')}, one after the other: each may move`)
      return oneByOne(ids, (id) => one.run({ ...given, operands: [id] }))
    },
  })
}

function needsInitializing({ state }: DeviceInfo): boolean {
  return state === 'stopped' || state === 'not_initialized'
}

/**
 * Answers the exit code. It ends at the first that fails: a stop makes the device fail that is being initialized, so nothing moves after it. A device that
 * somebody else keeps or uses has not moved, and is passed over.
 */
async function oneByOne(ids: readonly string[], initialize: (id: string) => Promise<number>): Promise<number> {
  let outcome = 0
  for (const [i, id] of ids.entries()) {
    const tellRest = () => i + 1 < ids.length && note(`not initialized: ${ids.slice(i + 1).join(', ')}`)
    const code = await initialize(id).catch((error) => {
      if (error instanceof CliError && error.exit === 'busy') return passedOver(error)
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
