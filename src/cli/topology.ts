// `benchd topology …`: which places there are, and what stands where.

import type { ShownTopology } from '../workflow/snapshot.ts'
import { ask, serviceOf, serviceOptions } from './client.ts'
import { command } from './command.ts'
import { print, table } from './table.ts'
import { type Fault, tellFaults } from './workflows.ts'

const force = { type: 'boolean', help: 'Abort the runs that are open' } as const

type Listed = { topologies: { name: string; loaded: boolean; positions: number; workflows: string[] }[]; faults: Fault[] }

const topologyList = command({
  name: 'topology list',
  summary: 'List the topologies, and which of them is loaded',
  operands: [],
  options: serviceOptions,
  async run({ options }) {
    const listed = await ask<Listed>(serviceOf(options), 'GET', '/api/topologies')
    const rows = listed.topologies.map(({ name, loaded, positions, workflows }) => [
      name,
      loaded ? 'loaded' : '',
      String(positions),
      workflows.join(' '),
    ])
    print(options.json ? JSON.stringify(listed) : table(['NAME', 'STATE', 'POSITIONS', 'WORKFLOWS'], rows))
    tellFaults(listed.faults)
    return 0
  },
})

const topologyShow = command({
  name: 'topology show',
  summary: 'Show the loaded topology, and what stands where',
  operands: [],
  options: serviceOptions,
  async run({ options }) {
    const shown = await ask<ShownTopology>(serviceOf(options), 'GET', '/api/topology')
    const rows = shown.positions.map(({ name, device, parking, storage, labware, reserved_for }) => [
      name,
      device ?? (storage ? 'storage' : parking ? 'parking' : ''),
      labware ? labware.name : reserved_for ? `reserved for ${reserved_for}` : '',
    ])
    print(options.json ? JSON.stringify(shown) : `${shown.name}\n\n${table(['POSITION', 'OF', 'LABWARE'], rows)}`)
    return 0
  },
})

const topologyLoad = command({
  name: 'topology load',
  summary: 'Load a topology',
  operands: ['NAME'],
  options: { force, ...serviceOptions },
  async run({ options, operands: [name = ''] }) {
    const answer = await ask<{ message: string }>(serviceOf(options), 'POST', '/api/topology/load', { name, force: options.force ?? false })
    print(options.json ? JSON.stringify(answer) : answer.message)
    return 0
  },
})

const topologyUnload = command({
  name: 'topology unload',
  summary: 'Unload the topology',
  operands: [],
  options: { force, ...serviceOptions },
  async run({ options }) {
    const answer = await ask<{ message: string }>(serviceOf(options), 'POST', '/api/topology/unload', { force: options.force ?? false })
    print(options.json ? JSON.stringify(answer) : answer.message)
    return 0
  },
})

export const commands = [topologyList, topologyShow, topologyLoad, topologyUnload]
