// `benchd labware …`: where labware is.

import type { LabwareStep } from '../workflow/records/labware_history.ts'
import type { Whereabouts } from '../workflow/whereabouts.ts'
import { shows, tells } from './asking.ts'
import { atShell, short } from './at_shell.ts'
import { CliError } from './exit.ts'
import { localTime } from './local_time.ts'
import { queryOf, spanOptions } from './moment.ts'
import { modeOption, modeText } from './run_modes.ts'
import { labwareNamed, labwarePathOf } from './runs/ids.ts'
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

type History = { steps: LabwareStep[]; next: string | null; damaged: number }

const labwareHistory = shows({
  name: 'labware history',
  summary: 'List where one labware was, over runs, the newest first: its moves and actions, with times in the zone of this computer',
  operands: ['BARCODE'],
  options: {
    ...spanOptions,
    mode: modeOption('', ['LIVE', 'DEVICE_SIM']),
    limit: { type: 'string', value: 'N', help: 'Largest number of entries; default 100' },
  },
  example: 'benchd labware history P001 --since 1d',
  async path({ service, options: { limit = '100', since, until, mode }, operands: [word = ''] }) {
    const labware = encodeURIComponent(await labwareNamed(service, word))
    return `/api/labware/${labware}/history${queryOf({ limit, since, until, mode })}`
  },
  text: ({ steps }: History) => table(['ENDED', 'RUN', 'WORKFLOW', 'MODE', 'WHAT'], steps.map(step)),
  also({ steps, next, damaged }) {
    noteNone(steps, 'no such step is kept')
    if (next !== null) note('there are older steps; --limit N or --until TIME shows them')
    if (damaged > 0) note(`${damaged} lines of the records are damaged, so that steps may be missing`)
  },
})

export const commands = [labwareList, labwarePut, labwareHistory]

function step({ at, execution_id, workflow_name, run_mode, text }: LabwareStep): string[] {
  return [localTime(at, 'seconds'), short(execution_id), workflow_name, modeText(run_mode), text]
}

function row({ labware_id, name, type, barcode, position, held_by, thread_name, run_mode }: Whereabouts): string[] {
  return [short(labware_id), name, type, barcode ?? '', whereOf({ position, held_by }), thread_name ?? '', modeText(run_mode)]
}

function leftStanding({ name, place, left_by, thread_id }: Whereabouts, remedy: string): string {
  if (thread_id !== null) return remedy
  const since = left_by === null ? '' : ` since run ${short(left_by)}`
  return `no thread moves ${name}, ${place}${since}; to clear it, ${remedy}`
}
