// Names the subject of a request for the audit trail, as it is before the request changes it: by the parameters of its path. The start of a bench loads
// this file, so it must not load workflows.

import type { Runs } from '../bench/runs.ts'
import type { Ledger } from '../devices/ledger.ts'
import type { Hub } from '../events/hub.ts'
import type { Keys } from '../keys/keys.ts'
import type { LabwareThread } from '../workflow/threads/thread.ts'
import type { AuditedRequest } from './contract.ts'

type Subject = NonNullable<AuditedRequest['subject']>

type Rooms = { runs: Runs; ledger: Ledger; hub: Hub; keys: Keys }

/** The subject of each parameter; undefined for one that does not exist. */
const subjects: Readonly<Record<string, (rooms: Rooms, id: string) => Subject | undefined>> = {
  execution_id: ({ runs }, execution_id) => runOf(runs, execution_id),
  thread_id: ({ runs }, id) => threadOf(runs, runs.runtime.runs.thread(id)),
  step_id({ runs }, id) {
    const { operator, runs: known } = runs.runtime
    const step = operator.steps().find(({ step_id }) => step_id === id)
    return step && { ...threadOf(runs, known.thread(step.thread_id)), instruction: step.instruction }
  },
  entry_id: ({ runs }, id) => ({ queued: runs.queue.now?.workflowOf(id), short_entry: id.slice(0, 8) }),
  labware_id({ runs }, id) {
    const found = runs.catalog.labware().find(({ labware_id }) => labware_id === id)
    return found && { labware: found.name, execution_id: found.execution_id }
  },
  incident_id({ hub }, id) {
    const found = hub.incidents.list().find(({ incident_id }) => incident_id === id)
    return found && { incident: found.message, execution_id: found.execution_id }
  },
  operation_id({ ledger }, id) {
    const found = ledger.get(id)
    return found && { device_id: found.device_id, operation_name: found.operation }
  },
  key_id: ({ keys }, id) => ({ key_name: keys.list().find(({ key_id }) => key_id === id)?.name ?? id }),
}

/** Returns the subject of a request whose path has these parameters. */
export function subjectOf(rooms: Rooms, parameters: Readonly<Record<string, string>>): Subject {
  const found = Object.entries(parameters).map(([name, id]) => subjects[name]?.(rooms, id))
  return Object.assign({}, ...found)
}

function runOf({ runtime }: Rooms['runs'], execution_id: string): Subject {
  return { execution_id, short_id: execution_id.slice(0, 8), workflow_name: runtime.records.execution(execution_id)?.workflow_name }
}

function threadOf(runs: Rooms['runs'], thread: LabwareThread | undefined): Subject | undefined {
  if (!thread) return undefined
  const { labware, execution, environment, state } = thread
  // The owner of an action in which the thread only takes part.
  const { action, move } = thread.following ?? thread
  const place = environment.scheduler.whereIs(labware.labware_id) ?? state.starts_at
  const step = move ? 'the move' : action?.plan.name
  const device_id = move ? move.hop.transporter : action?.device
  return { ...runOf(runs, execution.execution_id), labware: labware.name, step, device_id, place }
}
