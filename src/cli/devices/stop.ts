// `benchd stop`: stops devices by their ids, or all.

import type { StopAllResult } from '../../devices/records.ts'
import { messageOf } from '../../errors.ts'
import { ask, type Service, serviceOf, serviceOptions } from '../client.ts'
import { command, type OptionValues } from '../command.ts'
import { CliError } from '../exit.ts'
import { print, tell } from '../table.ts'
import { note, type OperationAnswer, say } from '../terminal.ts'
import { pathOf } from './perform.ts'

export const stop = command({
  name: 'stop',
  summary:
    'Stop a device, several or all at once and latch the stop until initialize. Not a safety function: it does not replace an emergency stop button',
  operands: ['[ID]'],
  options: { all: { type: 'boolean', help: 'Stop every device' }, ...serviceOptions },
  example: 'benchd stop --all',
  stops: true,
  async run({ options, operands }) {
    // An empty shell variable must not become the address of another route.
    const ids = operands.filter((id) => id !== '')
    if (ids.length < operands.length) tell('benchd stop cannot use an empty ID, and passes over it')
    const isAll = options.all === true || ids.some((id) => id.toLowerCase() === 'all')
    if (ids.length === 0 && !isAll) throw new CliError('usage', 'benchd stop wants the id of a device, or --all; nothing was stopped')
    const service = serviceToStop(options)
    if (!isAll) return stopEach(service, ids, options.json)
    const stopped = await ask<StopAllResult>(service, 'POST', '/api/stop')
    if (!options.json) for (const { message } of stopped.devices) print(message)
    const code = say(stopped, options.json)
    note('when it is safe: benchd devices init --all')
    return code
  },
})

/** Returns the service; an invalid timeout does not prevent a stop. */
function serviceToStop(options: OptionValues<typeof serviceOptions>): Service {
  try {
    return serviceOf(options)
  } catch (error) {
    if (options.timeout === undefined) throw error
    tell(`benchd stop cannot use --timeout ${options.timeout}, and passes over it`)
    return serviceOf({ ...options, timeout: undefined } as typeof options)
  }
}

/** Stops all of them at once; a failure does not affect the others. */
async function stopEach(service: Service, ids: readonly string[], asJson: boolean | undefined): Promise<number> {
  const stopping = ids.map((id) => ask<OperationAnswer>(service, 'POST', `${pathOf(id)}/stop`))
  const outcomes = await Promise.allSettled(stopping)
  const codes = outcomes.map((outcome) => (outcome.status === 'fulfilled' ? say(outcome.value, asJson) : 0))
  const refused = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []))
  for (const error of refused.slice(1)) tell(messageOf(error))
  if (refused.length > 0) throw refused[0]
  return Math.max(...codes)
}

export const commands = [stop]
