// One scan of labware: a step in the record of the run, as an action at the scanner is.

import { LabError, messageOf } from '../../../errors.ts'
import { barcodeText } from '../../../kit/name.ts'
import { inSeconds } from '../../../kit/seconds.ts'
import type { Performing } from '../../equipment/equipment.ts'
import type { ActionPlan } from '../../plans/plan.ts'
import { scanSeconds } from '../../plans/timing.ts'
import { ActionRun } from '../action/action.ts'
import { caused } from '../action/causes.ts'
import { DeviceCall } from '../action/device_call.ts'
import { timed } from '../preparation.ts'
import { Interrupt } from '../recovery.ts'
import type { LabwareThread } from '../thread.ts'

/** A scan that is due. `place` is the position of the labware, or the transporter that has picked it up. */
export type DueScan = { scanner: string; place: string }

/** The time after which a scan is cut off, s. */
const limit_s = 60

/** Scans the labware, and notes that it is known. Rejects if its barcode differs, cannot be read, or belongs to other labware; with an `Interrupt` if the thread was cut off. */
export async function scan(thread: LabwareThread, due: DueScan): Promise<void> {
  const { environment, execution } = thread
  await execution.gate.mayBegin()
  const action = new ActionRun(thread, planOf(due.scanner), null)
  thread.set({ scan: action.state })
  try {
    action.bind(due.scanner)
    action.status.become('AWAITING_LOCATION_RESERVATION')
    await turnAt(thread, due.scanner)
    action.status.become('RESOLVED')
    const endLease = environment.equipment.hold?.(due.scanner, execution.execution_id)
    try {
      action.status.become('AWAITING_CO_THREADS')
      action.begin()
      const barcode = await read(thread, action, due)
      if (barcode !== undefined) mustBeKnown(thread, due, barcode)
    } finally {
      endLease?.()
    }
    thread.set({ scanned: due.place })
    action.end('COMPLETED', 'clean')
  } catch (error) {
    const isCutOff = error instanceof Interrupt || thread.control.signal.aborted
    if (!isCutOff) action.failure = messageOf(error)
    action.end(isCutOff ? 'ABORTED' : 'ERRORED', 'left')
    throw isCutOff ? new Interrupt('abort') : error
  } finally {
    environment.scheduler.transporters.giveBack(due.scanner, thread.thread_id)
    thread.set({ scan: null })
  }
}

/** The plan of a scan, which stands in no workflow. */
function planOf(scanner: string): ActionPlan {
  const action = { do: 'scan', on: scanner, with: {}, labware: [], sites: {}, tips: {}, on_failure: 'PAUSE' } as const
  const devices = [scanner]
  const candidates = [{ device: scanner }]
  return { kind: 'do', name: 'scan', path: '', devices, candidates, labware: [], seconds: undefined, action: { ...action, labware: [] } }
}

/** Waits until no other thread uses the scanner. */
function turnAt({ control, environment, thread_id }: LabwareThread, scanner: string): Promise<void> {
  const { scheduler } = environment
  const holder = () => scheduler.transporters.holder(scanner) ?? null
  const obstacles = () => [{ wanted: scanner, reason: 'held', thread_id: holder(), labware_id: null } as const]
  const waiting = { kind: 'reservation', what: `the scanner ${scanner}`, interruptedBy: 'abort', obstacles } as const
  return control.wait<void>(waiting, (resolve) => scheduler.take(scanner, thread_id, () => resolve()).withdraw)
}

/** Resolves with the barcode that the scanner reads; null for none. Undefined for a simulation that cannot see the labware, which is taken for the right one. */
async function read(thread: LabwareThread, action: ActionRun, { scanner, place }: DueScan): Promise<string | null | undefined> {
  const { environment, execution, control, labware } = thread
  const { equipment, clock, durations, mode } = environment
  const seconds = scanSeconds(scanner, execution.workflow.topology.document, durations)
  const isShown = equipment.show?.(scanner, labware.barcode) ?? true
  const noted = action.began('scan', {})
  const perform = (given: Required<Pick<Performing, 'signal' | 'begun'>>) => {
    const begun = (operation_id: string) => {
      noted.operation_id = operation_id
      given.begun(operation_id)
    }
    return equipment.perform(scanner, 'scan', {}, { ...given, begun, seconds })
  }
  const scanning = { device: scanner, operation: 'scan', params: {} }
  const call = new DeviceCall((given) => timed(environment, scanning, () => perform(given)), { clock, limit_s, signal: control.signal })
  try {
    const outcome = await ended(call, `${scanner} did not answer within ${inSeconds(limit_s)}, and was stopped; initialize it`)
    if (mode === 'PURE_SIM' || !isShown) return undefined
    const data = dataOf(outcome)
    action.measured(noted, data)
    return barcodeIn(data)
  } catch (error) {
    if (control.signal.aborted) throw error
    execution.events.emit('DEVICE_OP', 'scan', 'FAILED', { ...thread.context(), last_error: messageOf(error) })
    throw worded(error, (why) => `${why}; ${labware.name} ${whereOf(thread, place)} was not scanned`)
  }
}

async function ended(call: DeviceCall, tooLong: string): Promise<unknown> {
  const outcome = await call.ended()
  if (outcome !== 'late') return outcome.value
  call.cutOff(new LabError('no_reply', tooLong))
  await call.over
  const last = await call.ended()
  return last === 'late' ? undefined : last.value
}

function worded(error: unknown, words: (why: string) => string): unknown {
  return error instanceof LabError ? new LabError(error.code, words(error.message.replace(/\.$/, '')), { cause: error }) : error
}

function dataOf(outcome: unknown): unknown {
  return typeof outcome === 'object' && outcome !== null && 'data' in outcome ? outcome.data : undefined
}

function barcodeIn(data: unknown): string | null {
  const barcode = typeof data === 'object' && data !== null && 'barcode' in data ? data.barcode : null
  return (typeof barcode === 'string' && barcodeText(barcode)) || null
}

/** Notes the barcode of labware that had none. Throws for a barcode that is missing, differs, or belongs to other labware. */
function mustBeKnown(thread: LabwareThread, { scanner, place }: DueScan, read: string | null): void {
  const { name, barcode: wanted } = thread.labware
  if (read !== null && read === wanted) return
  const where = whereOf(thread, place)
  if (read === null) {
    const what = wanted === null ? name : `${name} with the barcode ${wanted}`
    throw caused('BARCODE_MISMATCH', new LabError('device_failed', `${scanner} read no barcode ${where}, where ${what} should be`))
  }
  if (wanted !== null) {
    const what = `${scanner} read ${read} ${where}, and ${name} has the barcode ${wanted}`
    throw caused('BARCODE_MISMATCH', new LabError('conflict', what))
  }
  try {
    barcodeMustBeFree(thread, read, place)
  } catch (error) {
    throw caused(
      'BARCODE_MISMATCH',
      worded(error, (why) => `${scanner} read ${read} ${where}, where ${name} should be: ${why}`),
    )
  }
  thread.setLabware({ barcode: read })
}

/** Throws `conflict` if other labware on the bench has this barcode, or is to get it. */
export function barcodeMustBeFree({ labware, execution, environment }: LabwareThread, barcode: string, place: string | null): void {
  execution.threadFactory.readMustBeFree(barcode, place)
  for (const { labware_id, name, barcode: other } of environment.labware.values()) {
    if (other !== barcode || labware_id === labware.labware_id) continue
    throw new LabError('conflict', `${name}, which stands on the bench, has the barcode ${barcode}`)
  }
}

function whereOf({ labware }: LabwareThread, place: string): string {
  return labware.held_by === place ? `in the gripper of ${place}` : `at ${place}`
}
