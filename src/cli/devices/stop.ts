// `benchd stop`: one device, or all.

import type { StopAllResult } from '../../devices/records.ts'
import { ask, serviceOf, serviceOptions } from '../client.ts'
import { command } from '../command.ts'
import { CliError } from '../exit.ts'
import { print } from '../table.ts'
import { note, type OperationAnswer, say } from '../terminal.ts'
import { pathOf } from './perform.ts'

const stop = command({
  name: 'stop',
  summary:
    'Emergency stop of a device, or of all; latched until initialize. Not a safety function: it does not replace an emergency stop button',
  operands: ['[ID]'],
  options: { all: { type: 'boolean', help: 'Every device' }, ...serviceOptions },
  example: 'benchd stop --all',
  async run({ options, operands: [id] }) {
    if ((id === undefined) === (options.all !== true)) throw new CliError('usage', 'benchd stop wants the id of a device, or --all')
    const service = serviceOf(options)
    if (id !== undefined) return say(await ask<OperationAnswer>(service, 'POST', `${pathOf(id)}/stop`), options.json)
    const stopped = await ask<StopAllResult>(service, 'POST', '/api/stop')
    if (!options.json) for (const { message } of stopped.devices) print(message)
    const code = say(stopped, options.json)
    note('when it is safe: benchd devices init --all')
    return code
  },
})

export const commands = [stop]
