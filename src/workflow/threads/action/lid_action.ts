// Takes the lid off the plate of a thread, or puts it back, as an action of the thread. The plate stays where it is.

import { LabError, messageOf } from '../../../errors.ts'
import { lidWanted } from '../../plans/check_lids.ts'
import type { Hop } from '../../plans/graph.ts'
import type { ActionPlan } from '../../plans/plan.ts'
import { type LidCarrier, lidCarrierOf, lidNamed } from '../lid_carrier.ts'
import { takeFreeArm } from '../move/free_arm.ts'
import { ride } from '../move/hop.ts'
import { request } from '../move/route.ts'
import { stopsAhead } from '../next_stops.ts'
import { Interrupt } from '../recovery.ts'
import type { LabwareThread } from '../thread.ts'
import type { ActionRun } from './action.ts'

export type LidPlan = ActionPlan & { kind: 'remove_lid' | 'put_lid' }

/** Reserves the position to which the lid is taken, before it is taken off. */
export async function reservePad(thread: LabwareThread, action: ActionRun): Promise<void> {
  const { scheduler } = thread.environment
  const plan = action.plan as ActionPlan & { kind: 'remove_lid' }
  const lid = lidNamed(thread, plan.action.remove_lid)
  if (lid.isOn && lid.labware.held_by === null) {
    scheduler.lids.giveUp(thread.thread_id)
    const asking = request(thread, {
      what: `a position for ${lid.labware.name}`,
      // Anew for each attempt, because the plate may have been parked meanwhile.
      get candidates() {
        return plan.positions.filter((position) => isNear(lid, position)).map((position) => ({ position }))
      },
      ...stopsAhead(thread),
      forLid: true,
      onWait: () => {
        thread.become('RESOLVING_ACTION_LOCATION')
        thread.become('AWAITING_ACTION_RESERVATION')
      },
    })
    await asking.catch((error) => {
      if (!(error instanceof Interrupt)) thread.cannotGoOn('MOVE_FAILED', error)
      throw error
    })
    thread.become('RESOLVING_ACTION_LOCATION')
  }
  action.status.become('RESOLVED')
}

/** Whether one transporter reaches the plate where it stands, and the position. */
function isNear({ thread, environment: { scheduler } }: LidCarrier, position: string): boolean {
  const here = scheduler.whereIs(thread.labware.labware_id)
  return here !== undefined && here !== position && scheduler.graph.transportersBetween(here, position).length > 0
}

/** Moves the lid, in as many attempts as needed. A lid that is where it is to be stays there. */
export async function moveLid(thread: LabwareThread, plan: LidPlan): Promise<void> {
  const lid = lidNamed(thread, 'remove_lid' in plan.action ? plan.action.remove_lid : plan.action.put_lid)
  const { scheduler } = thread.environment
  try {
    while (!isDone(lid, plan)) {
      const hop = hopOf(lid, plan)
      const isForAny = scheduler.graph.transportersBetween(hop.from, hop.to).every((one) => gripsLids(lid, one, [hop.from, hop.to]))
      const taking = isForAny ? takeFreeArm(lid, hop) : undefined
      const mustNotGoOn = await ride(lid, taking ? await taking : hop)
      if (mustNotGoOn) throw new LabError('conflict', messageOf(mustNotGoOn))
    }
  } finally {
    // The arm may stand in the nest of the plate no longer.
    scheduler.access.reachedIn(thread.thread_id)
  }
}

function isDone({ isOn, labware }: LidCarrier, { kind }: LidPlan): boolean {
  return labware.held_by === null && isOn === (kind === 'put_lid')
}

/** Returns the move that the lid needs now. Throws `conflict` where no transporter can make it. */
function hopOf(lid: LidCarrier, { kind }: LidPlan): Hop {
  const { labware, thread, environment } = lid
  const { scheduler } = environment
  const plate = scheduler.whereIs(thread.labware.labware_id)
  const from = scheduler.whereIs(labware.labware_id)
  const to = kind === 'put_lid' ? plate : scheduler.lids.padOf(thread.thread_id)
  if (from === undefined || to === undefined) {
    const what =
      to === undefined && kind === 'remove_lid'
        ? `no position is kept for ${labware.name}`
        : `nobody knows where ${labware.name} and its plate are`
    throw new LabError('conflict', `${what}; decide RETRY`)
  }
  const near = scheduler.graph.transportersBetween(from, to)
  // Of several, one that can grip lids; without any the first one says why not.
  const [first] = near
  const transporter = labware.held_by ?? near.find((one) => gripsLids(lid, one, [from, to])) ?? first
  if (transporter !== undefined) return { from, to, transporter }
  throw new LabError(
    'conflict',
    `no transporter reaches both ${from} and ${to}: carry ${labware.name} nearer by hand and say where it is (PUT /api/labware/${labware.labware_id}/location), then decide RETRY`,
  )
}

function gripsLids({ environment: { equipment } }: LidCarrier, transporter: string, positions: readonly string[]): boolean {
  try {
    equipment.mustGripLids?.(transporter, positions)
    return true
  } catch {
    return false
  }
}

/** Throws `conflict` if the lid of labware that has come to a device is not as the action wants it. */
export function lidsMustBeRight(thread: LabwareThread, { plan, device, arrived }: ActionRun): void {
  const wanted = device === null ? undefined : lidWanted(plan, device, thread.execution.workflow.topology)
  if (!wanted) return
  for (const { thread_id } of arrived.values()) {
    const carrier = thread_id === thread.thread_id ? thread : thread.execution.find(thread_id)
    const lid = carrier && lidCarrierOf(carrier)
    if (!lid || lid.isOn === (wanted === 'on')) continue
    const place = lid.isOn ? 'on' : `off, at ${lid.environment.scheduler.whereIs(lid.labware.labware_id)}`
    const remedy =
      wanted === 'off'
        ? `take it off by hand, and say where it is (PUT /api/labware/${lid.labware.labware_id}/location)`
        : 'put it on by hand, and say so'
    throw new LabError(
      'conflict',
      `${plan.name} at ${device} wants the lid of ${carrier!.labware.name} ${wanted}, and it is ${place}; ${remedy}, then decide RETRY; or decide ABORT_ACTION to leave this action out`,
    )
  }
}
