// A compiled topology: positions, transporters and devices.

import type { OwnOperation } from '../../devices/description.ts'
import type { Limits, Margins } from '../../devices/device.ts'
import { didYouMean } from '../../kit/did_you_mean.ts'
import { checked } from '../../kit/schema.ts'
import type { Bench } from './bench.ts'
import { checkScanners, scannersOf } from './check_scanners.ts'
import { Graph } from './graph.ts'
import { mustBeKnown, mustBeOnce, mustHave, wrong } from './mistakes.ts'
import { checkPlaces } from './places.ts'
import { TopologyDocument } from './topology_schema.ts'

export type Topology = {
  document: TopologyDocument
  name: string
  graph: Graph
  /** The devices to which labware can be brought. */
  devices: ReadonlyMap<string, KnownDevice>
  pools: ReadonlyMap<string, readonly string[]>
}

export type KnownDevice = {
  device_id: string
  /** Whether the configuration has a driver for it; others run in PURE_SIM only. */
  configured: boolean
  /** Null for a device that is not configured. */
  type: string | null
  /** The number of its sites for labware. */
  sites: number
  /** The operations of the device, with their durations in simulations, s. */
  operations: ReadonlyMap<string, { seconds?: number | undefined }>
  /** The known limits of its parameters. */
  limits: Limits
  /** The times after which its operations are given up, where they are longer than those of the table. */
  margins?: Margins | undefined
  /** The operations that its bridge describes, with their parameters. */
  own: ReadonlyMap<string, OwnOperation>
  /** Whether it is a bridge whose program has never run, so that its operations are unknown. */
  isUndescribed: boolean
}

/** Throws `invalid`, naming the place. `origin` names the source in messages. */
export function compileTopology(input: unknown, bench: Bench, origin: string): Topology {
  const document = checked(TopologyDocument, input, origin)
  const where = `topology ${document.name}`
  checkPlaces(document, where)
  checkTransporters(document, bench, where)
  checkDevices(document, bench, where)
  checkPools(document, where)
  checkScanners(document, bench, where)
  const graph = new Graph(document)
  return {
    document,
    name: document.name,
    graph,
    devices: new Map(placedDevices(document).map((device_id) => [device_id, knownDevice(device_id, document, bench, graph)])),
    pools: new Map(Object.entries(document.pools)),
  }
}

/** Whether a device belongs to the topology, or carries or scans labware on it. */
export function hasDevice({ devices, document }: Topology, device_id: string): boolean {
  return devices.has(device_id) || Object.hasOwn(document.transporters, device_id) || scannersOf(document).includes(device_id)
}

/** Lists the devices with positions, in the order of these. */
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
    margins: driven?.margins,
    own: driven?.own ?? new Map(),
    isUndescribed: driven?.isUndescribed ?? false,
  }
}

function checkTransporters({ transporters, positions, devices }: TopologyDocument, bench: Bench, where: string): void {
  for (const [id, { positions: reached }] of Object.entries(transporters)) {
    const known = bench.devices.find(({ device_id }) => device_id === id)
    const slots = reached.find((name) => positions[name]?.slots !== undefined)
    if (known)
      checkCarrier(
        { known, slots: slots === undefined ? undefined : { name: slots, count: positions[slots]!.slots! } },
        `${where}: transporters.${id}`,
      )
    if (Object.hasOwn(devices, id))
      throw wrong(`${where}: devices.${id}`, `${id} is a transporter; it is declared by being in transporters`)
  }
}

type KnownCarrier = { known: Bench['devices'][number]; slots: { name: string; count: number } | undefined }

/** Checks that a device of the configuration can carry: a storage to and from its slots, a transporter elsewhere. */
function checkCarrier({ known: { device_id: id, type, limits }, slots }: KnownCarrier, at: string): void {
  if (!slots && type === 'storage')
    throw wrong(at, `${id} is a storage; add its slots: "positions": {"${id}": {"slots": ${limits.slot?.max ?? 20}}}`)
  if (slots && type === 'transporter') throw wrong(at, `${id} is a transporter, and has no slots`)
  if (type !== 'transporter' && type !== 'storage') throw wrong(at, `${id} is a ${type}, and carries nothing`)
  const most = limits.slot?.max
  if (slots && most !== undefined && slots.count > most)
    throw wrong(at, `${id} has ${most} slots as it is configured, and ${slots.name} has ${slots.count}; make them equal`)
}

function checkDevices(document: TopologyDocument, bench: Bench, where: string): void {
  const configured = new Map(bench.devices.map((device) => [device.device_id, device]))
  for (const [name, { device }] of Object.entries(document.positions)) {
    if (device !== undefined) checkSite(device, `${where}: positions.${name}.device`)
  }
  for (const [id, { operations }] of Object.entries(document.devices)) {
    const at = `${where}: devices.${id}`
    if (!placedDevices(document).includes(id) && !scannersOf(document).includes(id))
      throw wrong(at, `no position is a nest of ${id}; say which with "device": "${id}"`)
    const driven = configured.get(id)
    if (!driven?.driven) continue
    for (const operation of Object.keys(operations))
      mustHave(id, 'operation', { word: operation, known: driven.operations }, `${at}.operations`)
  }

  function checkSite(device: string, at: string): void {
    const known = configured.get(device)
    if (known?.type === 'transporter' || known?.type === 'storage' || Object.hasOwn(document.transporters, device))
      throw wrong(at, `${device} is a ${known?.type ?? 'transporter'}, and has no nest`)
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
