// The decisions of people about a run, as its record keeps them: a row in the transaction of what was decided.

import type { RecordRow } from '../../events/run_record_file.ts'
import type { Author } from '../../kit/author.ts'
import { isLabware } from '../state/labware.ts'
import type { OperatorVerdict } from '../threads/action/late_calls.ts'
import { type Mover, moverOf } from '../threads/lid_carrier.ts'
import { labwareIn } from '../threads/record_rows.ts'
import type { Decision } from '../threads/recovery.ts'
import type { LabwareThread, RunPorts } from '../threads/thread.ts'

/** `text` is one sentence for a reader of the record. */
export type Decided = Author & {
  decision: string
  text: string
  params?: object | undefined
  incident_id?: string | undefined
  device_id?: string | undefined
}

/** Adds the row of a decision, which is about a thread if one is given. Call it in the same turn as the change. */
export function addDecision(run: RunPorts, decided: Decided, thread?: Mover): void {
  run.record.add(decisionRow(run.now(), decided, thread))
}

/** Makes the row of a decision, `at` in Unix time, s. */
export function decisionRow(at: number, { by, decision, text, params = {}, ...about }: Decided, thread?: Mover): RecordRow {
  const action = thread?.action ?? thread?.move
  const whose = thread && { thread_id: thread.thread_id, thread_name: thread.name, ...labwareIn(thread) }
  const ids = Object.entries(about).filter(([, id]) => id !== undefined)
  return {
    ...{ kind: 'decision', at, by, decision, text, params, ...whose },
    ...(action && { action_id: action.action_id }),
    ...Object.fromEntries(ids),
  }
}

/** The verbs of the record for the decisions about an error, and their sentences about what failed. */
const recoveries: Record<Decision, [verb: string, text: (what: string, thread: LabwareThread) => string]> = {
  RETRY: ['retry', (what) => `Retried ${what}`],
  RETRY_OP: ['retry_op', (what) => `Repeated the failed call of ${what}`],
  CONTINUE: ['continue', (what) => `Counted ${what} as done`],
  ABORT_ACTION: ['skip_action', (what) => `Left out ${what}`],
  ABORT_METHOD: ['skip_method', (_, { name, method }) => `Left out the rest of ${method?.plan.name ?? 'the method'} of ${name}`],
  ABORT_THREAD: ['abort_thread', (_, { name }) => `Ended the thread ${name}`],
}

type Recovering = { on?: string | undefined; by?: string | undefined; barcode?: string | undefined }

/** Words a decision about the error that holds a thread. Call it before the decision is carried out. */
export function recoveryIn(thread: LabwareThread, decision: Decision, { on, by, barcode }: Recovering) {
  const [verb, text] = recoveries[decision]
  const how = [on && ` at ${on}`, by && `, made by ${by}`, barcode && `, with the barcode ${barcode}`].filter(Boolean).join('')
  if (thread.control.pausedAt === 'IDENTITY' && decision === 'CONTINUE')
    return { decision: verb, text: `Said that the scanned labware is ${thread.labware.name}${how}` }
  return { decision: verb, text: `${text(whatOf(thread, on), thread)}${how}` }
}

/** Words a decision about a device call that takes too long. */
export function lateDecisionIn(call: string, verdict: OperatorVerdict): Pick<Decided, 'decision' | 'text' | 'params'> {
  if (verdict === 'abort') return { decision: 'abort_call', text: `Cut off ${call}, which took too long` }
  if (verdict === 'complete') return { decision: 'complete_call', text: `Counted ${call} as done, which took too long` }
  return { decision: 'extend_call', text: `Gave ${call} ${verdict.extend} s more`, params: { seconds: verdict.extend } }
}

/** Names what a thread is held in. `on` is the device that replaces that of its action. */
function whatOf(thread: LabwareThread, on: string | undefined): string {
  const { action, move, labware, name, control } = moverOf(thread)
  if (control.pausedAt === 'IDENTITY') return `the scan of ${labware.name}`
  if (move) return `the move of ${labware.name} from ${move.hop.from} to ${move.hop.to} with ${move.hop.transporter}`
  if (!action) return `the step of ${name}`
  return `${action.plan.name} of ${isLabware(labware) ? labware.name : name}${action.device === null || on !== undefined ? '' : ` at ${action.device}`}`
}
