// For tests: short builders of topologies and workflows. A thread ends where it begins, unless another position is given.

import type { TopologyInput } from '../workflow/plans/topology_schema.ts'

type Names = readonly string[]

/** The positions of a bench by their kind, and its devices. */
export type TestBench = {
  /** Default: bench. */
  name?: string
  pads?: Names
  parking?: Names
  storages?: Names
  /** For each nest, its device; or a list of nests that have the names of their devices. */
  nests?: Readonly<Record<string, string>> | string[]
  /** How many labware each device holds; default: 1. */
  sites?: Readonly<Record<string, number>>
  /** The operations of each declared device, with their seconds; null if the action sets the duration. */
  operations?: Readonly<Record<string, Readonly<Record<string, number | null>>>>
  pools?: TopologyInput['pools']
  translators?: TopologyInput['translators']
  /** The scanner at each of these positions, and of each of these arms. */
  scanners?: Readonly<Record<string, string>>
}

/** Returns the topology of a bench on which one arm reaches every position. */
export function oneArm({ arm = 'arm', ...bench }: TestBench & { arm?: string }): TopologyInput {
  return severalArms({ [arm]: Object.keys(positionsOf(bench)) }, bench)
}

/** Returns the topology of a bench whose arms reach these positions. A position of no other kind is a pad. */
export function severalArms(reach: Readonly<Record<string, Names>>, bench: TestBench = {}): TopologyInput {
  const { name = 'bench', sites = {}, operations = {}, pools = {}, translators = {}, scanners = {} } = bench
  const withScanner = <Part extends object>(part: Part, at: string) =>
    scanners[at] === undefined ? part : { ...part, scanner: scanners[at] }
  return {
    format: 1,
    name,
    transporters: mapped(reach, (positions, arm) => withScanner({ positions: [...positions] }, arm)),
    positions: mapped({ ...each(Object.values(reach).flat(), {}), ...positionsOf(bench) }, withScanner),
    translators,
    pools,
    devices: {
      ...mapped(sites, (count) => ({ sites: count })),
      ...mapped(operations, (its, device) => ({
        sites: sites[device] ?? 1,
        operations: mapped(its, (seconds) => (seconds === null ? {} : { seconds })),
      })),
    },
  }
}

function positionsOf({ pads = [], parking = [], storages = [], nests = {} }: TestBench): TopologyInput['positions'] {
  return {
    ...each(pads, {}),
    ...each(parking, { parking: true }),
    ...each(storages, { storage: true }),
    ...mapped(Array.isArray(nests) ? Object.fromEntries(nests.map((name) => [name, name])) : nests, (device) => ({ device })),
  }
}

/** Returns the start and end of a thread whose labware a person puts on a position, and takes away at the end. */
export const byHand = (at: string, to = at) => ({ start: { at }, end: { at: [to] } })

/** Returns the start and end of a thread whose labware stands on a position before the run, and stays on the bench afterwards. */
export const standing = (at: string, to = at) => ({ start: { at, mode: 'REUSE_EXISTING' }, end: { at: [to], mode: 'LEAVE_IN_PLACE' } })

/** Returns the start and end of a thread whose labware comes out of a storage, and which a person takes away at the end. */
export const dispensed = (at: string, to = at) => ({ start: { at, mode: 'DISPENSE' }, end: { at: [to] } })

/** Returns the start and end of a thread whose labware comes out of a storage, and goes into one at the end. */
export const stored = (at: string, to = at) => ({ start: { at, mode: 'DISPENSE' }, end: { at: [to], mode: 'LEAVE_IN_PLACE' } })

/**
 * Returns a workflow on the topology `bench`. Each thread has a 96-well plate of its name, and all of them start, unless a thread or `more`
 * says otherwise.
 */
export function workflowOf<Threads extends Readonly<Record<string, object>>, More extends object>(
  name: string,
  threads: Threads,
  more: More = {} as More,
) {
  const all = {
    format: 1,
    name,
    topology: 'bench',
    labware: mapped(threads, () => ({ type: '96-well' })),
    threads: mapped(threads, (thread, labware) => ({ labware, ...thread })) as {
      [Name in keyof Threads]: { labware: string } & Threads[Name]
    },
    start: Object.keys(threads),
  }
  return { ...all, ...more }
}

function each<Value>(names: Names, value: Value): Record<string, Value> {
  return Object.fromEntries(names.map((name) => [name, value]))
}

function mapped<From, To>(record: Readonly<Record<string, From>>, to: (value: From, name: string) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, to(value, name)]))
}
