// The devices and transporters that a run may use. Faults of other devices do not matter to the run.

import type { StillHeating } from '../../events/contexts.ts'
import type { Graph } from '../plans/graph.ts'
import { type ActionPlan, actionsOf, allSteps, type Workflow } from '../plans/plan.ts'
import { scannerAt, scannerOf } from '../plans/scanners.ts'
import type { RunEnvironment } from '../threads/run_environment.ts'
import type { LabwareThread } from '../threads/thread.ts'

type Run = { readonly workflow: Workflow; live(): readonly LabwareThread[] }

/** Returns the devices of all actions, including inserted ones, and the transporters and translators on the routes between the run's places. */
export function usedBy(execution: Run): ReadonlySet<string> {
  const actions = [...actionsOf(execution.workflow), ...putIn(execution)]
  const devices = new Set(actions.flatMap(({ devices }) => devices))
  const { graph } = execution.workflow.topology
  const places = new Set([...placesOf(execution), ...[...devices].flatMap((device) => graph.positionsOf(device).map(({ name }) => name))])
  const carriers = carriersBetween([...places], execution.workflow)
  return new Set([...devices, ...carriers, ...scannersAmong(places, carriers, execution.workflow)])
}

/** Lists the scanners of these positions and transporters. */
function scannersAmong(places: Iterable<string>, carriers: readonly string[], { topology }: Workflow): string[] {
  const ofPlaces = [...places].flatMap((position) => scannerAt(topology, position) ?? [])
  return [...ofPlaces, ...carriers.flatMap((transporter) => scannerOf(topology, transporter) ?? [])]
}

function putIn(execution: Run): ActionPlan[] {
  const frames = execution.live().flatMap(({ frames }) => frames)
  return frames.flatMap(({ steps }) => [...allSteps(steps)].flatMap((step) => (step.kind === 'action' ? step.action : [])))
}

/** Lists the positions where the run's labware starts, stands, may park, and ends. */
function placesOf(execution: Run): string[] {
  const { workflow } = execution
  const planned = [...workflow.threads.values()].flatMap(({ start, end, steps }) => [
    ...(start.slots ?? [start.position]),
    ...end.positions,
    ...[...allSteps(steps)].flatMap((step) => (step.kind === 'park' ? step.positions : [])),
  ])
  const now = execution
    .live()
    .flatMap(({ plan, state: { starts_at, seat: position } }) => (plan.part ? [] : [starts_at, position ?? starts_at]))
  return [...planned, ...now]
}

function carriersBetween(all: readonly string[], { topology: { graph } }: Workflow): string[] {
  const places = twoOfEachKind(all, graph)
  const ways = places.flatMap((from) => places.map((to) => graph.route(from, to) ?? []))
  return ways.flatMap((way) => way.map(({ transporter }) => transporter))
}

/** Keeps two positions of each kind, since all of a kind have the same routes. A storage may have hundreds of slots. */
function twoOfEachKind(all: readonly string[], graph: Graph): string[] {
  const counts = new Map<number, number>()
  return all.filter((position) => {
    const kind = graph.kindOf(position)
    const count = (counts.get(kind) ?? 0) + 1
    counts.set(kind, count)
    return count <= 2
  })
}

/** Lists the devices of the workflow's actions that heat now. Empty for a simulated run, whose devices end with it. */
export function stillHeating({ workflow, environment }: { workflow: Workflow; environment: RunEnvironment }): StillHeating[] {
  const { mode, equipment } = environment
  if (mode !== 'LIVE') return []
  const device_ids = new Set([...actionsOf(workflow)].flatMap(({ devices }) => devices))
  return [...device_ids].flatMap((device_id) => {
    const target = equipment.heatsTo?.(device_id)
    return target === undefined ? [] : [{ device_id, target }]
  })
}
