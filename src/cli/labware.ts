// `benchd labware …`: where labware is.

import type { Whereabouts } from '../workflow/whereabouts.ts'
import { ask, serviceOf, serviceOptions } from './client.ts'
import { command } from './command.ts'
import { CliError } from './exit.ts'
import { print, table } from './table.ts'

const labwareList = command({
  name: 'labware list',
  summary: 'List labware, and where it is',
  operands: [],
  options: serviceOptions,
  async run({ options }) {
    const { labware } = await ask<{ labware: Whereabouts[] }>(serviceOf(options), 'GET', '/api/labware')
    const rows = labware.map(({ labware_id, name, type, barcode, position, held_by, thread_name, run_mode }) => [
      labware_id,
      name,
      type,
      barcode ?? '',
      held_by ? `in ${held_by}` : (position ?? ''),
      thread_name ?? '',
      run_mode,
    ])
    print(options.json ? JSON.stringify({ labware }) : table(['ID', 'NAME', 'TYPE', 'BARCODE', 'WHERE', 'THREAD', 'MODE'], rows))
    return 0
  },
})

const labwarePut = command({
  name: 'labware put',
  summary: 'Say that labware stands at a place now, or, with --off, that it was taken off the bench; nothing moves',
  operands: ['ID', '[PLACE]'],
  options: { off: { type: 'boolean', help: 'It is off the bench' }, ...serviceOptions },
  async run({ options, operands: [id = '', place] }) {
    if ((place === undefined) === (options.off !== true)) throw new CliError('usage', 'say a place, or --off')
    const path = `/api/labware/${encodeURIComponent(id)}/location`
    const answer = await ask<{ success: boolean; message: string }>(serviceOf(options), 'PUT', path, { position: place ?? null })
    print(options.json ? JSON.stringify(answer) : answer.message)
    return 0
  },
})

export const commands = [labwareList, labwarePut]
