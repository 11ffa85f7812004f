// The reasons why a workflow cannot run in a mode: missing devices and points.

import { didYouMean } from '../../kit/did_you_mean.ts'
import type { RunMode } from '../state/modes.ts'
import type { Bench } from './bench.ts'
import { scannersOf } from './check_scanners.ts'
import { actionsOf, type Workflow } from './plan.ts'
import type { Topology } from './topology.ts'

/** Returns all reasons as one sentence; undefined without any. PURE_SIM needs no device. */
export function refusalFor(workflow: Workflow, mode: RunMode, bench: Bench): string | undefined {
  if (mode === 'PURE_SIM') return undefined
  const { topology } = workflow
  const ofBoth = [
    ...undriven(workflow, bench),
    ...shuttles(topology, bench),
    ...untaught(topology, bench),
    ...unusablePoints(topology, bench),
    ...unliftable(workflow, bench),
  ]
  const reasons = mode === 'LIVE' ? [...ofBoth, ...unfit(workflow, bench)] : ofBoth
  if (reasons.length === 0) return undefined
  const instead = ofBoth.length === 0 ? 'DEVICE_SIM and PURE_SIM' : 'PURE_SIM'
  return `workflow ${workflow.name} cannot run in ${mode}, only in ${instead}: ${reasons.join('; ')}`
}

function undriven(workflow: Workflow, bench: Bench): string[] {
  const { document } = workflow.topology
  const wanted = [...usedBy(workflow), ...Object.keys(document.transporters), ...scannersOf(document)]
  return wanted.flatMap((id) => {
    const device = bench.devices.find(({ device_id }) => device_id === id)
    if (!device) return `the configuration has no device ${id}${guess(id, wanted, bench)}`
    return device.driven ? [] : `${id} is external, and is not driven from here`
  })
}

/** Suggests a device with a similar name that the workflow does not use. */
function guess(id: string, used: readonly string[], bench: Bench): string {
  const free = bench.devices.map(({ device_id }) => device_id).filter((other) => !used.includes(other))
  return didYouMean(id, free).replace(/^; (.*)$/, ' ($1)')
}

/** Finds translators without a transporter of the same name, which would drive them. */
function shuttles({ document }: Topology, bench: Bench): string[] {
  const isDriven = (id: string) => bench.devices.some(({ device_id, type, driven }) => device_id === id && type === 'transporter' && driven)
  return Object.keys(document.translators)
    .filter((id) => !isDriven(id))
    .map((id) => `${id} is a translator, and the configuration has no transporter of that name`)
}

/** Returns the devices of the actions of a workflow. */
function usedBy(workflow: Workflow): Set<string> {
  return new Set([...actionsOf(workflow)].flatMap(({ devices }) => devices))
}

/** Lists the devices that no run with real devices may use. */
function unfit(workflow: Workflow, bench: Bench): string[] {
  const { transporters, translators } = workflow.topology.document
  const scanners = scannersOf(workflow.topology.document)
  const wanted = [...usedBy(workflow), ...Object.keys(transporters), ...Object.keys(translators), ...scanners]
  return bench.devices.flatMap(({ device_id, unfit }) => (unfit && wanted.includes(device_id) ? [`${device_id}: ${unfit}`] : []))
}

/** Lists the points that a topology needs and that are not taught, a sentence for each transporter. */
export function untaught(topology: Topology, bench: Bench): string[] {
  return reachesOf(topology, bench).flatMap(([id, names]) => {
    const missing = names.filter((name) => !bench.hasTeachpoint(id, name))
    return missing.length ? `${id} was not taught ${missing.join(', ')} (teach them: POST /api/teachpoints/bulk)` : []
  })
}

/** Returns why the transporters of a topology cannot use points that they were taught, in sentences with the points. */
export function unusablePoints(topology: Topology, bench: Bench): string[] {
  return reachesOf(topology, bench).flatMap(([id, names]) => bench.obstacles?.(id, names) ?? [])
}

/** Lists the lids that no transporter can move: none is told how high it grips the lid, or none can grip it there. */
function unliftable(workflow: Workflow, bench: Bench): string[] {
  const { document, topology } = workflow
  const reasons = [...actionsOf(workflow)].flatMap((action): string[] => {
    if (action.kind !== 'remove_lid') return []
    const { remove_lid: lid } = action.action
    return action.positions.flatMap((position) => {
      const { entry } = topology.graph.positions.get(position)!
      const near = Object.entries(topology.document.transporters).filter(([, { positions }]) => positions.includes(entry))
      const whys = near.map(([id]) => {
        const { why, needsOffset } = bench.lids?.(id, [position]) ?? { why: undefined, needsOffset: false }
        const isOpen = needsOffset && document.labware[lid]?.grip_offset_mm === undefined
        const offset = `${id} would close its fingers on the plate: say in labware.${lid}.grip_offset_mm how much higher it grips ${lid}`
        return why ?? (isOpen ? offset : undefined)
      })
      return whys.every((why) => why !== undefined) ? whys.map((why) => why!) : []
    })
  })
  return [...new Set(reasons)]
}

/** Returns the points that each transporter with a driver needs; none for one that knows its positions. */
function reachesOf({ document, graph }: Topology, bench: Bench): [string, string[]][] {
  const reach = Object.entries(document.transporters).map(([id, { positions }]): [string, readonly string[]] => [id, positions])
  return [...reach, ...Object.entries(document.translators)].flatMap(([id, entries]): [string, string[]][] => {
    if (!bench.devices.some(({ device_id, driven, knowsPositions }) => device_id === id && driven && !knowsPositions)) return []
    return [[id, [...graph.positions.values()].flatMap(({ name, entry }) => (entries.includes(entry) ? [name] : []))]]
  })
}
