// The parts of the answers of benches that the coordinator reads. Benches may answer more; the rest is left out.

import * as v from 'valibot'

const MaybeText = v.nullable(v.string())
/** For answers of which only the arrival counts. */
export const Anything = v.object({})
export const WhoAmI = v.object({ scope: v.string() })
export const Health = v.object({ status: v.string(), version: v.optional(v.string()) })
export const Stop = v.object({ success: v.boolean(), message: v.string() })
/** `link` is null where the bench has no broker. */
export const Fleet = v.object({ link: v.nullable(v.object({ epoch: v.string() })) })
export const Submission = v.object({ execution_id: v.string() })

export const Thread = v.object({
  thread_id: v.string(),
  template_name: v.string(),
  group_id: MaybeText,
  status: v.string(),
  pause_reason: MaybeText,
  last_error: MaybeText,
  position: MaybeText,
  held_by: MaybeText,
})
export type Thread = v.InferOutput<typeof Thread>

export const Execution = v.object({
  reason: MaybeText,
  paused: v.nullable(v.object({ reason: v.string() })),
  threads: v.array(Thread),
})
export type Execution = v.InferOutput<typeof Execution>

export const Labware = v.object({ labware: v.array(v.object({ barcode: MaybeText, position: MaybeText, run_mode: v.string() })) })
export const Blockers = v.object({ blockers: v.array(v.object({ message: v.string(), remedy: v.string() })) })

export const Topology = v.object({
  name: v.string(),
  positions: v.array(v.object({ name: v.string(), parking: v.boolean(), handover: v.boolean() })),
})
export type Topology = v.InferOutput<typeof Topology>

const WorkflowThread = v.object({
  labware: v.string(),
  start: v.object({ at: v.string(), mode: v.string() }),
  end: v.object({ at: v.pipe(v.array(v.string()), v.minLength(1, 'must name a position')), mode: v.string() }),
})
export type WorkflowThread = v.InferOutput<typeof WorkflowThread>

export const Workflow = v.object({
  document: v.pipe(
    v.object({
      topology: v.string(),
      labware: v.record(v.string(), v.object({ type: v.string() })),
      threads: v.record(v.string(), WorkflowThread),
      start: v.array(v.string()),
    }),
    v.check(({ threads, start }) => start.every((name) => threads[name]), 'must have each thread that it begins with'),
    v.check(
      ({ threads, labware }) => Object.values(threads).every((thread) => labware[thread.labware]),
      'must have the labware of each thread',
    ),
  ),
})
export type Workflow = v.InferOutput<typeof Workflow>['document']
export const Workflows = v.object({ workflows: v.array(v.object({ name: v.string() })) })

const Bar = v.object({ name: v.string(), device: MaybeText, from_s: v.number(), to_s: v.number() })
export const DryRun = v.object({ verdict: v.string(), conflict: MaybeText, makespan_s: v.number(), gantt: v.array(Bar) })
