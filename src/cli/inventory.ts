// `benchd inventory …`: what is in the slots of a storage.

import type { Inventory } from '../workflow/inventory.ts'
import { shows, tells } from './asking.ts'
import { atShell, short } from './at_shell.ts'
import { CliError } from './exit.ts'
import { localTime } from './local_time.ts'
import { numberOf } from './numbers.ts'
import { table } from './table.ts'
import { note } from './terminal.ts'

const pathOf = (id = '') => `/api/devices/${encodeURIComponent(id)}/inventory`

const inventoryShow = shows({
  name: 'inventory show',
  summary: 'Show which labware is in which slot of a storage, and since when',
  operands: ['ID'],
  path: ({ operands: [id] }) => pathOf(id),
  text: ({ stored, stations }: Inventory) => {
    const standing = stations.flatMap(({ position, labware }) => (labware ? [{ slot: '', position, ...labware }] : []))
    return table(['SLOT', 'POSITION', 'ID', 'NAME', 'TYPE', 'BARCODE', 'SINCE', 'THREAD'], [...stored, ...standing].map(row))
  },
  also({ device_id, slots, stored, stations }) {
    note(`${stored.length} of the ${slots} slots of ${device_id} are taken`)
    const all = [...stored, ...stations.flatMap(({ labware }) => labware ?? [])]
    for (const { name, place, remedy } of all) if (remedy !== null && / or /.test(place)) note(atShell(`${name} is ${place}; ${remedy}`))
  },
})

const inventoryPut = tells({
  name: 'inventory put',
  summary:
    'Update a slot in the inventory of a storage: labware with a barcode, labware without one, or nothing with --empty. Nothing moves',
  operands: ['ID', 'SLOT', '[BARCODE]'],
  options: {
    type: { type: 'string', value: 'TYPE', help: 'Type of the labware, as workflows name it: 96-well' },
    empty: { type: 'boolean', help: 'Mark the slot as empty' },
  },
  example: 'benchd inventory put incubator-1 12 P-0042 --type 96-well',
  tell({ options, operands: [id, slot = '', barcode] }) {
    const { type, empty } = options
    if (empty && (barcode !== undefined || type !== undefined))
      throw new CliError('usage', 'benchd inventory put wants the labware that is in the slot, or --empty')
    const labware = empty ? null : { ...(barcode !== undefined && { barcode }), ...(type !== undefined && { type }) }
    return {
      method: 'PUT',
      path: pathOf(id),
      body: { slots: [{ slot: numberOf('SLOT', slot, 'the number of a slot', (n) => Number.isInteger(n) && n > 0), labware }] },
    }
  },
})

export const commands = [inventoryShow, inventoryPut]

type Row = Omit<Inventory['stored'][number], 'slot'> & { slot: number | string }

function row({ slot, position, labware_id, name, type, barcode, stored_at, thread_name }: Row): string[] {
  const since = stored_at === null ? '' : localTime(stored_at, 'seconds')
  return [String(slot), position, short(labware_id), name, type, barcode ?? '', since, thread_name ?? '']
}
