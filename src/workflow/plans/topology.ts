// Where labware can be, what carries it from there to elsewhere, and which devices stand around.

import type { OwnOperation } from '../../devices/description.ts'
import type { Limits } from '../../devices/device.ts'
import { didYouMean } from '../../kit/did_you_mean.ts'
import { checked } from '../../kit/schema.ts'
import type { Bench } from './bench.ts'
import { TopologyDocument } from './documents.ts'
import { Graph } from './graph.ts'
import { mustBeKnown, mustBeOnce, mustHave, wrong } from './mistakes.ts'
import { checkPlaces } from './places.ts'

export type Topology = {
  document: TopologyDocument
  name: string
  graph: Graph
  /** The positions to which labware can be brought. */
  devices: ReadonlyMap<string, KnownDevice>
  pools: ReadonlyMap<string, readonly string[]>
}

export type KnownDevice = {
  device_id: string
  /** There is a driver for it; the others run in PURE_SIM only. */
  configured: boolean
  /** Null for one that the configuration does not have. */
  type: string | null
  /** How many labware it holds. */
  sites: number
  /** The operations that it has, with their durations where nothing is driven, s. */
  operations: ReadonlyMap<string, { seconds?: number | undefined }>
  /** The values that it takes for a parameter, as far as they are known. */
  limits: Limits
  /** The operations that a program behind it describes, with their parameters. */
  own: ReadonlyMap<string, OwnOperation>
  /** Whether a program stands behind it that has never run, so that nobody knows what it can do. */
  isUndescribed: boolean
}

/** Throws `invalid`, naming the place. `origin` is what messages call the text it is from. */
export function compileTopology(input: unknown, bench: Bench, origin: string): Topology {
  const document = checked(TopologyDocument, input, origin)
  const where = `topology ${document.name}`
  checkPlaces(document, where)
  checkTransporters(document, bench, where)
  checkDevices(document, bench, where)
  checkPools(document, where)
  const graph = new Graph(document)
  return {
    document,
    name: document.name,
    graph,
    devices: new Map(placedDevices(document).map((device_id) => [device_id, knownDevice(device_id, document, bench, graph)])),
    pools: new Map(Object.entries(document.pools)),
  }
}

/** Whether a device stands on it, or carries labware there. */
export function hasDevice({ devices, document }: Topology, device_id: string): boolean {
  return devices.has(device_id) || Object.hasOwn(document.transporters, device_id)
}

/** Sorted in the order of their positions. */
function placedDevices({ positions }: TopologyDocument): string[] {
  return [...new Set(Object.values(positions).flatMap(({ device }) => device ?? []))]
}

function knownDevice(device_id: string, document: TopologyDocument, bench: Bench, graph: Graph): KnownDevice {
  const driven = bench.devices.find((device) => device.device_id === device_id && device.driven)
  const declared = Object.entries(document.devices[device_id]?.operations ?? {})
  const own = (driven?.operations ?? []).map((operation) => [operation, {}] as const)
  return {
    device_id,
    configured: driven !== undefined,
    type: driven?.type ?? null,
    sites: graph.positionsOf(device_id).length,
    operations: new Map([...own, ...declared]),
    limits: driven?.limits ?? {},
    own: driven?.own ?? new Map(),
    isUndescribed: driven?.isUndescribed ?? false,
  }
}

function checkTransporters({ transporters, devices }: TopologyDocument, bench: Bench, where: string): void {
  for (const id of Object.keys(transporters)) {
    const type = bench.devices.find(({ device_id }) => device_id === id)?.type ?? 'transporter'
    if (type !== 'transporter') throw wrong(`${where}: transporters.${id}`, `${id} is a ${type}, and carries nothing`)
    if (Object.hasOwn(devices, id))
      throw wrong(`${where}: devices.${id}`, `${id} is a transporter; it is declared by being in transporters`)
  }
}

function checkDevices(document: TopologyDocument, bench: Bench, where: string): void {
  const configured = new Map(bench.devices.map((device) => [device.device_id, device]))
  for (const [name, { device }] of Object.entries(document.positions)) {
    if (device !== undefined) checkSite(device, `${where}: positions.${name}.device`)
  }
  for (const [id, { operations }] of Object.entries(document.devices)) {
    const at = `${where}: devices.${id}`
    if (!placedDevices(document).includes(id)) throw wrong(at, `no position is a nest of ${id}; say which with "device": "${id}"`)
    const driven = configured.get(id)
    if (!driven?.driven) continue
    for (const operation of Object.keys(operations))
      mustHave(id, 'operation', { word: operation, known: driven.operations }, `${at}.operations`)
  }

  function checkSite(device: string, at: string): void {
    const known = configured.get(device)
    if (known?.type === 'transporter' || Object.hasOwn(document.transporters, device))
      throw wrong(at, `${device} is a transporter, and has no nest`)
    if (known || Object.hasOwn(document.devices, device)) return
    const guess = didYouMean(device, [...configured.keys(), ...Object.keys(document.devices)])
    throw wrong(at, `neither the configuration nor devices has a device ${device}${guess}`)
  }
}

function checkPools(document: TopologyDocument, where: string): void {
  const placed = placedDevices(document)
  for (const [id, members] of Object.entries(document.pools)) {
    const at = `${where}: pools.${id}`
    if (placed.includes(id)) throw wrong(at, `${id} is a device already; give the pool another name`)
    mustBeOnce(members, at)
    members.forEach((device, i) => {
      mustBeKnown('device with a position', device, placed, `${at}[${i}]`)
    })
  }
}
