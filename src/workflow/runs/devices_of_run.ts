// The devices and transporters that a run can come to use: what is wrong with any other is not in its way.

import { type ActionPlan, actionsOf, allSteps, type Workflow } from '../plans/plan.ts'
import type { Execution } from './execution.ts'

/** The devices of its actions, also of those that an operator put in, and the transporters and translators on the ways between its places. */
export function usedBy(execution: Execution): ReadonlySet<string> {
  const actions = [...actionsOf(execution.workflow), ...putIn(execution)]
  const devices = new Set(actions.flatMap(({ devices }) => devices))
  const { graph } = execution.workflow.topology
  const places = new Set([...placesOf(execution), ...[...devices].flatMap((device) => graph.positionsOf(device).map(({ name }) => name))])
  return new Set([...devices, ...carriersBetween([...places], execution.workflow)])
}

function putIn(execution: Execution): ActionPlan[] {
  const frames = execution.live().flatMap(({ frames }) => frames)
  return frames.flatMap(({ steps }) => [...allSteps(steps)].flatMap((step) => (step.kind === 'action' ? step.action : [])))
}

/** Lists the positions from which the run's labware comes, where it stands and may rest, and to which it goes. */
function placesOf(execution: Execution): string[] {
  const { workflow } = execution
  const planned = [...workflow.threads.values()].flatMap(({ start, end, steps }) => [
    start.position,
    ...end.positions,
    ...[...allSteps(steps)].flatMap((step) => (step.kind === 'park' ? step.positions : [])),
  ])
  const now = execution.live().flatMap(({ state: { starts_at, seat } }) => [starts_at, seat ?? starts_at])
  return [...planned, ...now]
}

function carriersBetween(places: readonly string[], { topology: { graph } }: Workflow): string[] {
  const ways = places.flatMap((from) => places.map((to) => graph.route(from, to) ?? []))
  return ways.flatMap((way) => way.map(({ transporter }) => transporter))
}
