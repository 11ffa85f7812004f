// The routes of topologies, and of the loaded one.

import * as v from 'valibot'
import type { Reloading } from '../bench/reloading.ts'
import type { Runs } from '../bench/runs.ts'
import { OperationResult } from '../devices/records.ts'
import { LabError } from '../errors.ts'
import { described } from '../kit/described.ts'
import { Id } from '../kit/name.ts'
import type { Library } from '../workflow/plans/library.ts'
import { ShownTopology, topologyOf } from '../workflow/snapshot.ts'
import { authorOf } from './author.ts'
import { json, type Route, routesOf } from './contract.ts'
import { Changes } from './system.ts'

type Rooms = { runs: Runs; reloading: Reloading }

const route = routesOf<Rooms>('workflows')

const Force = described(v.optional(v.boolean(), false), 'Aborts the runs that are open')

const Fault = v.strictObject({ origin: v.string(), reason: v.string() })
export const Faults = described(v.array(Fault), 'Files and documents that are left out, and why')

const isLimits = /^devices: [\w-]+\.limits(\.|$)/

export const topologyRoutes: Route<Rooms>[] = [
  route('GET', '/api/topologies', {
    operation_id: 'listTopologies',
    summary: 'List topologies',
    scope: 'read',
    success: {
      description: 'The topologies, which of them is loaded, and the files that could not be used',
      schema: v.strictObject({
        topologies: v.array(
          v.strictObject({
            name: v.string(),
            loaded: v.boolean(),
            positions: v.number(),
            devices: v.array(v.string()),
            workflows: v.array(v.string()),
          }),
        ),
        faults: Faults,
      }),
    },
    handle({ rooms }) {
      const { library, environments } = rooms.runs.runtime
      const loaded = environments.topology
      const workflowsOn = (name: string) => [...library.workflows.values()].filter(({ topology }) => topology.name === name)
      const topologies = [...library.topologies.values()].map(({ name, document, devices }) => ({
        name,
        loaded: name === loaded?.name,
        positions: Object.keys(document.positions).length,
        devices: [...devices.keys()],
        workflows: workflowsOn(name).map((workflow) => workflow.name),
      }))
      return json({ topologies, faults: library.faults })
    },
  }),
  route('GET', '/api/topology', {
    operation_id: 'getTopology',
    summary: 'Get the loaded topology and the labware at each place',
    scope: 'read',
    success: { description: 'The topology; labware is that of LIVE runs', schema: ShownTopology },
    errors: [404],
    handle({ rooms }) {
      const { topology, live } = rooms.runs.runtime.environments
      if (!topology) throw new LabError('not_found', 'no topology is loaded; load one of /api/topologies')
      return json(topologyOf(topology, live))
    },
  }),
  route('POST', '/api/topology/load', {
    operation_id: 'loadTopology',
    summary: 'Load a topology',
    description:
      'One topology is loaded at a time: loading over another one is a conflict without `force`. The topology is loaded again after a restart. Streams of events go on. The message names the teachpoints that runs on it still need.',
    scope: 'admin',
    body: v.strictObject({ name: Id, force: Force }),
    success: { description: 'Loaded', schema: OperationResult },
    errors: [400, 404, 409, 503],
    async handle({ rooms, c, body }) {
      const { name, force } = body()
      const { catalog } = rooms.runs
      const missing = catalog.untaught(await catalog.load(name, { force, author: authorOf(c) }))
      return json({ success: true, message: [`topology ${name} is loaded`, ...missing].join('; ') })
    },
  }),
  route('POST', '/api/topology/unload', {
    operation_id: 'unloadTopology',
    summary: 'Unload the topology',
    description: 'A conflict while runs are open on it, unless `force`, which aborts them. Streams of events live on.',
    scope: 'admin',
    body: v.strictObject({ force: Force }),
    body_may_be_empty: true,
    success: { description: 'None is loaded', schema: OperationResult },
    errors: [400, 409, 503],
    async handle({ rooms, c, body }) {
      const { catalog, runtime } = rooms.runs
      const { force } = body()
      const name = runtime.environments.topology?.name
      await catalog.unload({ force, author: authorOf(c) })
      return json({ success: true, message: name ? `topology ${name} is unloaded` : 'no topology was loaded' })
    },
  }),
  route('POST', '/api/system/reload', {
    operation_id: 'reloadSystem',
    summary: 'Read the configuration file and the topologies folder anew',
    description: [
      'A configuration that is not right is a 400 with what is wrong in it; that the loaded topology has changed while runs are open on it, a',
      'conflict, and so is a device that differs or is gone while a run, a lease or an operation uses it, or one that is gone may still move or heat: the detail names who, or what to do. Nothing has',
      'changed then. Devices that are new are opened, those that are gone are halted and closed, and those that differ are closed and opened',
      'anew; a stop counts at every moment of that. What cannot change while the service runs is named in `needs_restart`.',
    ].join(' '),
    scope: 'admin',
    body: v.strictObject({}),
    body_may_be_empty: true,
    success: {
      description: 'Read; `faults` tells what is left out',
      schema: v.strictObject({
        ...OperationResult.entries,
        config_file: Changes.entries.config_file,
        applied: described(v.array(v.string()), 'The changes of the configuration that were taken over'),
        needs_restart: Changes.entries.needs_restart,
        faults: Faults,
      }),
    },
    errors: [400, 409, 503],
    async handle({ rooms, body }) {
      body()
      const { catalog } = rooms.runs
      const { done, at_once: applied, ...rest } = await rooms.reloading.take(() => catalog.read())
      await catalog.runtime.standing.persisted()
      await catalog.keepVersions()
      // New limits are in force only after the files were checked, so the files are checked against them once more.
      const library = applied.some((place) => isLimits.test(place)) ? catalog.compileAnew() : done
      const { config_file, needs_restart } = rest
      const { faults } = library
      const message = [ofConfiguration({ config_file, applied, needs_restart }), ofFolder(library)].join('; ')
      return json({ success: true, message, config_file, applied, needs_restart, faults })
    },
  }),
]

type Taken = { config_file: string | null; applied: readonly string[]; needs_restart: readonly string[] }

function ofConfiguration({ config_file, applied, needs_restart }: Taken): string {
  if (config_file === null) return 'there is no configuration file to read'
  if (!applied.length && !needs_restart.length) return 'the configuration is as it was'
  return [
    applied.length ? `taken over: ${applied.join(', ')}` : 'nothing of the configuration was taken over',
    ...(needs_restart.length ? [`needs a restart: ${needs_restart.join(', ')}`] : []),
  ].join('; ')
}

function ofFolder({ topologies, workflows, faults }: Library): string {
  const found = `${counted(topologies.size, 'topology', 'topologies')} and ${counted(workflows.size, 'workflow', 'workflows')}`
  return faults.length ? `${found}; ${faults.length} left out` : found
}

function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`
}
