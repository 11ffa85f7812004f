// `benchd labware …`: where labware is.

import type { Whereabouts } from '../workflow/whereabouts.ts'
import { shows, tells } from './asking.ts'
import { atShell, short } from './at_shell.ts'
import { CliError } from './exit.ts'
import { labwarePathOf } from './runs/ids.ts'
import { whereOf } from './runs/shown.ts'
import { table } from './table.ts'
import { note, noteNone } from './terminal.ts'

const labwareList = shows({
  name: 'labware list',
  summary: 'List the labware with its places',
  path: () => '/api/labware',
  text: ({ labware }: { labware: Whereabouts[] }) => table(['ID', 'NAME', 'TYPE', 'BARCODE', 'WHERE', 'THREAD', 'MODE'], labware.map(row)),
  also({ labware }) {
    noteNone(labware, 'no labware is on the bench')
    for (const one of labware) if (one.remedy !== null) note(atShell(leftStanding(one, one.remedy)))
  },
})

const labwarePut = tells({
  name: 'labware put',
  summary: 'Update the position of labware named by id, name, barcode or place; with --off, take the labware off the bench. Nothing moves',
  operands: ['ID', '[PLACE]'],
  options: { off: { type: 'boolean', help: 'Take the labware off the bench' } },
  async tell({ service, options, operands: [id = '', place] }) {
    if ((place === undefined) === (options.off !== true))
      throw new CliError('usage', 'benchd labware put wants the PLACE where it stands now, or --off')
    return { method: 'PUT', path: `${await labwarePathOf(service, id)}/location`, body: { position: place ?? null } }
  },
})

export const commands = [labwareList, labwarePut]

function row({ labware_id, name, type, barcode, position, held_by, thread_name, run_mode }: Whereabouts): string[] {
  return [short(labware_id), name, type, barcode ?? '', whereOf({ position, held_by }), thread_name ?? '', run_mode]
}

function leftStanding({ name, place, left_by, thread_id }: Whereabouts, remedy: string): string {
  if (thread_id !== null) return remedy
  const since = left_by === null ? '' : ` since run ${short(left_by)}`
  return `no thread moves ${name}, ${place}${since}; to clear it, ${remedy}`
}
