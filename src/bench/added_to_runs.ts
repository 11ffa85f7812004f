// The files and notes of runs on this bench: how many bytes files may take, and how much room the disk has.

import { dirname } from 'node:path'
import { mustHaveRoom } from '../care/host.ts'
import type { Config } from '../config.ts'
import type { Hub } from '../events/hub.ts'
import type { Incident } from '../events/incidents.ts'
import { RunFiles } from '../events/run_files.ts'
import type { Refusals } from '../kit/refusals.ts'
import { addRow, type RowTarget } from '../workflow/records/added_rows.ts'
import { AttachedFiles } from '../workflow/records/attached_files.ts'
import { Notes } from '../workflow/records/notes.ts'
import { type Decided, decisionRow } from '../workflow/runs/decision.ts'
import type { Execution } from '../workflow/runs/execution.ts'
import type { Runtime } from '../workflow/runtime.ts'

const mib = 1024 * 1024

export function openRunFiles(rooms: { readonly config: Config; hub: Pick<Hub, 'states'>; refusals: Refusals }): RunFiles {
  const { folder } = rooms.hub.states
  return new RunFiles({
    folder,
    most_bytes: () => rooms.config.limits.files_mib * mib,
    refused: (message) => rooms.refusals.count('files_mib', message),
    // The folder is made with the first run.
    mustHaveRoom: (bytes) => mustHaveRoom(dirname(folder), bytes),
  })
}

/** Returns where the rows of a run go. `run` finds a run in memory. */
export function rowTargets({ log, states }: Pick<Hub, 'log' | 'states'>, run: (execution_id: string) => Execution | undefined) {
  return (execution_id: string): RowTarget => ({ execution: run(execution_id), folder: states.folder, persist: () => log.persist() })
}

/** Opens what is added to the records of runs from outside: files and notes. */
export function openAdded(files: RunFiles, runtime: Runtime, target: ReturnType<typeof rowTargets>) {
  const now = () => Date.now() / 1000
  return {
    ...{ attached: new AttachedFiles({ files, target, now }), notes: new Notes({ target, now }) },
    /** Adds a decision about an incident. Resolves when it is on the disk; does nothing for a run without a record. Rejects with `storage`. */
    async addAbout({ execution_id, thread_id, incident_id }: Incident, decided: Decided): Promise<void> {
      if (execution_id === null) return
      const thread = thread_id === null ? undefined : runtime.runs.thread(thread_id)
      // The thread may be in another action by now.
      const { action_id: _, ...row } = decisionRow(now(), { ...decided, incident_id }, thread)
      await addRow(execution_id, thread || thread_id === null ? row : { ...row, thread_id }, target(execution_id))
    },
  }
}
