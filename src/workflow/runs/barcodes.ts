// The barcodes of the labware of open runs: labware with a barcode exists once.

import { LabError } from '../../errors.ts'
import type { ThreadPlan, Workflow } from '../plans/plan.ts'
import type { Acquisition, Group } from '../state/submission_request.ts'
import type { ThreadOrigin } from '../threads/carrier.ts'
import type { LabwareThread } from '../threads/thread.ts'

/** The part of a run that this file uses. */
export type BarcodeRun = {
  readonly execution_id: string
  readonly workflow: Workflow
  readonly submissions: readonly { readonly submission_id: string; readonly request: { readonly groups: readonly Group[] } }[]
  readonly threadFactory: { hasHad(plan: ThreadPlan, origin: ThreadOrigin): boolean }
  live(): readonly LabwareThread[]
}

/** Throws `conflict` if other labware of an open run has the barcode that was read. `open` lists the open runs of the same bench. */
export function readMustBeFree(barcode: string, position: string | null, open: readonly BarcodeRun[]): void {
  for (const { holder } of open.flatMap((execution) => [...holdersIn(execution, (known) => known === barcode)])) {
    const sentence = `the labware with the barcode ${barcode} is taken by ${holder}`
    throw new LabError('conflict', `${sentence}; read the barcode again, or put another labware at ${position}`)
  }
}

/** Finds the threads of a run that have labware with such a barcode, or will get it. A run may have thousands of barcodes, so `isAsked` must be a lookup. */
export function* holdersIn(execution: BarcodeRun, isAsked: (barcode: string) => boolean): Generator<{ barcode: string; holder: string }> {
  const run = `of run ${execution.execution_id.slice(0, 8)} (${execution.workflow.name})`
  for (const { name, labware } of execution.live())
    if (labware.barcode !== null && isAsked(labware.barcode)) yield { barcode: labware.barcode, holder: `thread ${name} ${run}` }
  for (const { submission_id, request } of execution.submissions) {
    for (const { group_id, name, barcode } of barcodesOf(request.groups)) {
      if (!isAsked(barcode) || execution.threadFactory.hasHad(execution.workflow.threads.get(name)!, { submission_id, group_id })) continue
      yield { barcode, holder: `thread ${name} of group ${group_id} ${run}` }
    }
  }
}

export function* barcodesOf(groups: readonly Group[]): Generator<{ group_id: string; name: string; barcode: string }> {
  for (const { group_id, members } of groups) {
    for (const name of Object.keys(members)) {
      const barcode = barcodeOf(members[name])
      if (barcode !== null) yield { group_id, name, barcode }
    }
  }
}

export function barcodeOf(acquired: Acquisition | undefined): string | null {
  return (acquired && 'barcode' in acquired && acquired.barcode) || null
}
