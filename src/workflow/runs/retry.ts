// Carries out an operator's decision about an error, and the choice of the device at which the held action is repeated.

import { LabError } from '../../errors.ts'
import { didYouMean } from '../../kit/did_you_mean.ts'
import type { ActionPlan } from '../plans/plan.ts'
import { moverOf } from '../threads/lid_carrier.ts'
import { barcodeMustBeFree } from '../threads/move/scan.ts'
import type { Decision } from '../threads/recovery.ts'
import type { LabwareThread } from '../threads/thread.ts'
import { worded } from './explanation.ts'
import { type Held, heldBy, mayStillMove, restlessArm, takersOver } from './held_action.ts'

type Choice = { on?: string | undefined; by?: string | undefined; arm_is_off?: boolean | undefined; barcode?: string | undefined }

/**
 * Decides about the error that holds a thread, as `ThreadControl.recover` does. `on` is the device at which RETRY repeats the action, `by` the person
 * who makes the move of an arm that is stopped or has a fault, `arm_is_off` a person's word that the power of that arm is off, `barcode` the
 * one that labware has for which CONTINUE vouches. Throws `invalid` or `not_found` for an unsuitable device, and `conflict` or another error if
 * the device or person cannot be used now.
 */
export function recover(thread: LabwareThread, decision: Decision, { on, by, arm_is_off, barcode }: Choice = {}): void {
  if (barcode !== undefined) {
    correctBarcode(thread, decision, { on, by, arm_is_off, barcode })
    return
  }
  if (by !== undefined) {
    handOver(thread, decision, { on, by, arm_is_off })
    return
  }
  if (arm_is_off) throw new LabError('invalid', 'give "arm_is_off" with "by" alone')
  // If nothing holds the thread, the thread itself refuses the decision.
  if (on === undefined || thread.control.decisions.length === 0) {
    thread.control.recover(decision)
    return
  }
  if (decision !== 'RETRY') throw new LabError('invalid', `${decision} is not done at a device: leave "on" out, or decide RETRY`)
  const owner = thread.following ?? thread
  const held = heldBy(thread)
  if (!held) {
    const what = `${thread.name} is not held by an action that can be done at another device`
    throw new LabError('conflict', `${what}; recover it without "on": ${thread.control.decisions.join(', ')}`)
  }
  mustBeOne(held.plan, on, owner)
  if (held.refusal !== undefined) throw new LabError('conflict', held.refusal)
  mustBeAvailable(owner, held, on)
  owner.control.recover(decision, { path: held.plan.path, device: on })
  const from = held.device === null || held.device === on ? '' : ` instead of ${held.device}`
  owner.execution.events.incident('ACTION_REDIRECTED', `an operator has ${held.plan.name} of ${owner.name} done at ${on}${from}`, owner, {
    severity: 'INFO',
    detail: { action: held.plan.name, device: on, instead_of: held.device },
  })
  owner.execution.state.writeSoon()
}

/** Corrects the barcode of labware that a scanner did not know, and lets its thread go on. */
function correctBarcode(thread: LabwareThread, decision: Decision, { on, by, arm_is_off, barcode }: Choice & { barcode: string }): void {
  if (decision !== 'CONTINUE' || on !== undefined || by !== undefined || arm_is_off)
    throw new LabError('invalid', 'give "barcode" with CONTINUE alone')
  if (thread.control.pausedAt !== 'IDENTITY')
    throw new LabError('conflict', `the barcode of ${thread.labware.name} is in no doubt; decide without "barcode"`)
  if (barcode !== thread.labware.barcode) barcodeMustBeFree(thread, barcode, thread.state.seat)
  thread.control.recover(decision)
  thread.setLabware({ barcode })
}

function handOver(thread: LabwareThread, decision: Decision, { on, by, arm_is_off }: Choice & { by: string }): void {
  if (decision !== 'RETRY' || on !== undefined) throw new LabError('invalid', 'give "by" with RETRY alone, and without "on"')
  const people = takersOver(thread)
  const restless = restlessArm(thread)
  if (!people.includes(by)) {
    const who =
      people.length > 0 ? `possible are ${people.join(', ')}` : 'a person takes over only the move of an arm that is stopped or has a fault'
    throw new LabError('conflict', `${by} cannot make the move of ${thread.labware.name}: ${who}`)
  }
  if (restless !== undefined && !arm_is_off) throw new LabError('conflict', `${by} cannot make the move yet: ${mayStillMove(restless)}`)
  const { move } = moverOf(thread)
  thread.control.recover(decision)
  move!.takeover = by
  if (restless !== undefined) thread.environment.space.saidOff(restless)
}

/** Throws `not_found` for a device that is not in the topology, `invalid` for one that is not in the action's pool. */
function mustBeOne({ devices, name }: ActionPlan, on: string, { execution }: LabwareThread): void {
  if (devices.includes(on)) return
  const known = [...execution.workflow.topology.devices.keys()]
  const choice = `${name} can be done at ${devices.join(' or ')}`
  if (!known.includes(on)) throw new LabError('not_found', `there is no device ${on}${didYouMean(on, devices)}; ${choice}`)
  throw new LabError('invalid', `${name} is not done at ${on}, which is not in its pool; ${choice}`)
}

/** Throws the reason why the action cannot be done at the device now. */
function mustBeAvailable(owner: LabwareThread, { plan, device }: Held, on: string): void {
  const { environment, thread_id, execution, labware } = owner
  if (on === device) return
  const taking = [owner, ...(owner.method?.participants ?? [])]
  const [obstacle] = environment.scheduler.obstaclesTo(
    thread_id,
    on,
    taking.map(({ labware }) => labware.labware_id),
  )
  const remedy = `wait until it is free, or RETRY without "on", which takes the first of ${plan.devices.join(', ')} that is free`
  if (obstacle) throw new LabError('conflict', `${on} is not available now: ${worded(obstacle, execution)}; ${remedy}`)
  const from = environment.scheduler.whereIs(labware.labware_id)
  if (from !== undefined && !environment.scheduler.canReach(thread_id, [{ device: on }])) {
    const what = `there is no way from ${from} to ${on}; carry ${labware.name} to where there is one, and say where it is`
    throw new LabError('conflict', `${what} (PUT /api/labware/${labware.labware_id}/location)`)
  }
  environment.equipment.mustBeUsable?.(on)
}
