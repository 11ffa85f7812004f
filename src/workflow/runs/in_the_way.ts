// Labware that an earlier thread left at a place that a run needs. No thread moves it, so a person has to take it away.

import * as v from 'valibot'
import { described } from '../../kit/described.ts'
import { actionsOf, type Workflow } from '../plans/plan.ts'
import { type Labware, placeOf } from '../state/labware.ts'
import type { RunEnvironment } from '../threads/run_environment.ts'
import type { Submission } from './submission.ts'

export const LabwareInTheWay = v.strictObject({
  position: described(v.string(), 'The occupied place'),
  labware_id: v.string(),
  labware_name: v.string(),
  execution_id: described(v.nullable(v.string()), 'The run that left it there; null if unknown'),
  message: described(v.string(), 'Which place is occupied, by what labware, since which run, and how to clear it'),
})
export type LabwareInTheWay = v.InferOutput<typeof LabwareInTheWay>

/**
 * Returns the labware that stands, or may stand, at a position and that no thread moves. Undefined for a free position, and for a storage, which is
 * never full. A position where labware of a cut-off move may stand is reserved in the name of that labware.
 */
export function inTheWayAt(
  { scheduler, labware }: Pick<RunEnvironment, 'scheduler' | 'labware'>,
  position: string,
): LabwareInTheWay | undefined {
  const { labware_id: standing, reserved_for } = scheduler.position(position)
  const its = labware.get(standing ?? reserved_for ?? '')
  const labware_id = standing ?? its?.labware_id
  if (labware_id === undefined || (standing !== null && scheduler.whose(standing) !== null)) return undefined
  if (standing !== null && scheduler.graph.positions.get(position)?.storage) return undefined
  const { name = labware_id, last_run = null, held_by = null } = its ?? {}
  const since = last_run === null ? '' : ` since run ${last_run.slice(0, 8)}`
  const message =
    its && held_by !== null
      ? `${position} is kept for ${name}, which is ${placeOf(its, scheduler.whereIs(labware_id) ?? null)}; ${remedyOf(its)}`
      : `${position} is taken: ${name} has stood there${since}, and no thread moves it; ${remedyOf({ labware_id })}`
  return { position, labware_id, labware_name: name, execution_id: last_run, message }
}

/** Says what an operator does about labware that no thread moves. */
export function remedyOf({ labware_id, held_by = null }: Pick<Labware, 'labware_id'> & { held_by?: string | null }): string {
  if (held_by !== null) return `look, and say where it is: PUT /api/labware/${labware_id}/location`
  return `take it away, and ${offTheBench(labware_id)}`
}

/** Says how an operator reports that labware is no longer on the bench. */
export function offTheBench(labware_id: string): string {
  return `say so: PUT /api/labware/${labware_id}/location {"position": null}`
}

type Run = { workflow: Workflow; environment: RunEnvironment; submissions: readonly Pick<Submission, 'request'>[] }

/**
 * Lists the labware in the way of a run: at the devices that it uses, and at the ends of threads that have no free end. Labware that one of its
 * threads starts with is not in the way.
 */
export function inTheWayOf({ workflow, environment, submissions }: Run): LabwareInTheWay[] {
  const { graph } = workflow.topology
  const plans = [...workflow.threads.values()]
  const members = submissions.flatMap(({ request }) => request.groups.flatMap(({ members }) => Object.values(members)))
  const takenUp = new Set([
    ...plans.flatMap(({ start }) => (start.mode === 'REUSE_EXISTING' ? (start.slots ?? start.position) : [])),
    ...members.flatMap((member) => ('location' in member ? member.location : [])),
  ])
  // The operations of the run itself need no free device.
  const { methods, threads } = workflow
  const devices = new Set([...actionsOf({ methods, threads })].flatMap(({ devices }) => devices))
  const sites = [...devices].flatMap((device) => graph.positionsOf(device).map(({ name }) => name))
  const ends = plans.flatMap(({ end: { positions } }) =>
    positions.every((position) => inTheWayAt(environment, position)) ? positions : [],
  )
  return [...new Set([...sites, ...ends])].flatMap((position) => (takenUp.has(position) ? [] : (inTheWayAt(environment, position) ?? [])))
}
