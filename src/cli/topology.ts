// `benchd topology …`: the positions of the bench and their labware.

import type { ShownTopology } from '../workflow/snapshot.ts'
import { shows, tells } from './asking.ts'
import { table } from './table.ts'
import { noteNone } from './terminal.ts'
import { versionCommands } from './versions.ts'
import { type Fault, tellFaults } from './workflows.ts'

const force = { force: { type: 'boolean', help: 'Abort the open runs' } } as const

type Listed = { topologies: { name: string; loaded: boolean; positions: number; workflows: string[] }[]; faults: Fault[] }

const topologyList = shows({
  name: 'topology list',
  summary: 'List the topologies, and mark the loaded one',
  path: () => '/api/topologies',
  also({ topologies, faults }: Listed) {
    noteNone(topologies, 'there is no topology; put its file into the folder of topologies')
    tellFaults(faults)
  },
  text: ({ topologies }) =>
    table(
      ['NAME', 'STATE', 'POSITIONS', 'WORKFLOWS'],
      topologies.map(({ name, loaded, positions, workflows }) => [name, loaded ? 'loaded' : '', String(positions), workflows.join(' ')]),
    ),
})

const topologyShow = shows({
  name: 'topology show',
  summary: 'Show the loaded topology and the labware at each place',
  path: () => '/api/topology',
  text: ({ name, positions, transporters }: ShownTopology) => {
    const places = positions.filter(({ slot }) => slot === null).map(row)
    return `${name}\n\n${table(['POSITION', 'OF', 'LABWARE'], [...places, ...storages(positions, transporters)])}`
  },
})

const topologyLoad = tells({
  name: 'topology load',
  summary: 'Load a topology',
  operands: ['NAME'],
  options: force,
  tell: ({ options, operands: [name = ''] }) => ({ path: '/api/topology/load', body: { name, force: options.force ?? false } }),
})

const topologyUnload = tells({
  name: 'topology unload',
  summary: 'Unload the topology',
  options: force,
  tell: ({ options }) => ({ path: '/api/topology/unload', body: { force: options.force ?? false } }),
})

export const commands = [topologyList, topologyShow, topologyLoad, topologyUnload, ...versionCommands('topology')]

/** Makes a row for each storage, whose slots `benchd inventory` shows. */
function storages(positions: ShownTopology['positions'], transporters: ShownTopology['transporters']): string[][] {
  const slots = positions.filter(({ slot }) => slot !== null)
  const entries = [...new Set(slots.map(({ name }) => name.replace(/\/slot-\d+$/, '')))]
  return entries.map((entry) => {
    const its = slots.filter(({ name }) => name.startsWith(`${entry}/slot-`))
    const storage = transporters.find(({ positions }) => positions.includes(entry))?.device_id ?? ''
    return [`${entry}/slot-1 to ${its.length}`, storage, `${its.filter(({ labware }) => labware !== null).length} slots taken`]
  })
}

function row({ name, device, parking, storage, handover, labware, reserved_for }: ShownTopology['positions'][number]): string[] {
  const of = device ?? (storage ? 'storage' : parking ? 'parking' : handover ? 'hand-over' : '')
  return [name, of, labware ? labware.name : reserved_for ? `reserved for ${reserved_for}` : '']
}
