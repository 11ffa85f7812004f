// The tips that an action takes from its racks.

import type { ActionPlan } from '../../plans/plan.ts'
import { isLow, isSpent, type Labware } from '../../state/labware.ts'
import type { Carrier } from '../carrier.ts'
import { tipsUsed } from '../next_stops.ts'
import type { LabwareThread } from '../thread.ts'

/** Subtracts the used tips from the racks, and publishes that a rack is low or empty. */
export function useTips(thread: LabwareThread, plan: ActionPlan, carriers: readonly Carrier[]): void {
  for (const carrier of carriers) {
    const { labware } = carrier
    const used = tipsUsed(plan, labware.template)
    const { tips_left } = labware
    if (used === 0 || tips_left === null) continue
    carrier.setLabware({ tips_left: Math.max(0, tips_left - used) })
    if (isSpent(labware)) thread.execution.events.emit('TIP_RACK', '', 'EMPTY', rackContext(thread, labware))
    else if (isLow(labware)) thread.execution.events.emit('TIP_RACK', '', 'LOW', rackContext(thread, labware))
  }
}

/** The thread that used the tips, and the rack. */
function rackContext(thread: Carrier, { labware_id, name, template, tips_left }: Labware) {
  const position = thread.environment.scheduler.whereIs(labware_id) ?? null
  return { ...thread.context(), labware_id, labware_name: name, labware_template_name: template, position, tips_left }
}
