// A submission tried out before it is made: the same engine on time that jumps, with nothing published and nothing touched.

import * as v from 'valibot'
import { described } from '../kit/described.ts'
import { holds, valuesIn, wordsOf } from './plans/conditions.ts'
import { allSteps, type Workflow } from './plans/plan.ts'
import type { Rehearsal } from './run_environments.ts'
import { Execution } from './runs/execution.ts'
import { Reason, why } from './runs/explanation.ts'
import { Operator } from './runs/operator.ts'
import { Scalar } from './state/saved_value.ts'
import type { SubmissionRequest } from './state/submission_request.ts'
import type { TimelineRow } from './threads/timeline.ts'

const Seconds = v.pipe(v.number(), v.metadata({ unit: 's' }))

export const Bar = v.strictObject({
  thread_name: v.string(),
  kind: v.picklist(['action', 'move']),
  name: described(v.string(), 'The action; of a move its from and to'),
  device: described(v.nullable(v.string()), 'The device, or the transporter'),
  from_s: Seconds,
  to_s: Seconds,
})
export type Bar = v.InferOutput<typeof Bar>

/** A plan beside what is without it. */
export const PlanFigures = v.strictObject({
  planned_s: described(v.number(), 'The makespan of the plan with which the run begins', 's'),
  dispatch_s: described(
    v.nullable(v.number()),
    'The makespan by the rule alone; null where it does not complete, or the workflow has code',
    's',
  ),
  bound_s: described(v.number(), 'No order of the labware takes less', 's'),
})
export type PlanFigures = v.InferOutput<typeof PlanFigures>

export const DryRun = v.strictObject({
  workflow: v.string(),
  verdict: described(
    v.picklist(['completes', 'fails', 'deadlock', 'waits', 'endless']),
    'waits: for an event that nothing in it emits; endless: it was broken off after a hundred thousand actions and moves, or moments',
  ),
  makespan_s: Seconds,
  moves: v.number(),
  actions: v.number(),
  conflict: described(v.nullable(v.string()), 'The first thing that went wrong'),
  refusal: described(v.nullable(v.string()), 'The reason why a submission in this mode would be refused now, such as missing teachpoints'),
  waiting: described(v.array(Reason), 'For each thread that has not ended, what it waits for'),
  conditions: described(
    v.array(
      v.strictObject({
        thread: v.string(),
        step: v.string(),
        condition: described(v.string(), 'In words: `od above 0.5`'),
        examples: described(v.record(v.string(), Scalar), 'The declared example of each value in it'),
        goes: described(v.picklist(['then', 'else']), 'The steps that the dry run took with these examples'),
        then: v.array(v.string()),
        else: v.array(v.string()),
      }),
    ),
    'The conditional steps of the workflow, with the steps on both sides',
  ),
  devices: described(
    v.array(v.strictObject({ device: v.string(), busy_s: Seconds, share: described(v.number(), 'Of the makespan') })),
    'The busiest first',
  ),
  gantt: described(v.array(Bar), 'In the order they begin'),
  plan: described(
    v.nullable(PlanFigures),
    'The plan; null without one: for one labware, for labware that waits for other labware, or with `plan: "off"`',
  ),
  dropped: described(v.number(), 'Rows that were too many to keep: the chart and the use of devices are of the newest ten thousand'),
})
export type DryRun = v.InferOutput<typeof DryRun>
/** The outcome on the clock, whether the bench is ready for the mode or not. */
export type Outcome = Omit<DryRun, 'refusal'>

type Trial = Rehearsal & {
  workflow: Workflow
  request: SubmissionRequest
  /** Is called in the same turn. */
  began(execution: Execution): void
}

/** The limit after which a dry run is broken off. */
const most = { moves: 100_000, moments: 100_000 }

/** Handlers hear nothing; the code of actions runs. */
async function dryRun({ workflow, request, environment, idle, onMoment, began }: Trial): Promise<Outcome> {
  const conflicts: string[] = []
  const counts = { moves: 0, moments: 0 }
  let isEndless = false
  const count = (what: keyof typeof counts) => {
    if (++counts[what] <= most[what] || isEndless) return
    isEndless = true
    execution.abort('it does not come to an end')
  }
  onMoment(() => count('moments'))
  const silent = { ...workflow, document: { ...workflow.document, on: {} } }
  const execution: Execution = new Execution(silent, environment, {
    isJoinable: request.batch_mode === 'JOIN_EXISTING',
    around: {
      hub: {
        emit(name, context, execution_id = '') {
          if (name.startsWith('ACTION.') && name.endsWith('.CREATED')) count('moves')
          return { event_name: name, execution_id, timestamp: 0, entity_type: '', entity_id: '', status: '', context }
        },
        incident(category, message) {
          if (!isNotice.has(category)) conflicts.push(`${category}: ${message}`)
          return { ...unpublished, category, message }
        },
      },
      operator: new Operator(() => 0),
      system: undefined,
      warn: () => {},
      now: () => 0,
      clock: environment.clock,
      ended: () => {},
    },
  })
  began(execution)
  execution.start(execution.add({ submission_id: environment.newId(), request, submitted_at: 0, status: 'PENDING' }))
  await idle
  const { first } = environment.planner
  const plan = first ? { planned_s: round(first.makespan_s), dispatch_s: null, bound_s: round(first.bound_s) } : null
  return { ...summed(execution, { conflicts, isEndless }), plan }
}

/** Makes a dry run; if it has a plan, also one by the rule alone, to compare. The code of a workflow is not executed twice. */
export async function compared(trial: Omit<Trial, keyof Rehearsal>, begin: () => Rehearsal): Promise<Outcome> {
  const { workflow, request } = trial
  const outcome = await dryRun({ ...trial, ...begin() })
  if (!outcome.plan || workflow.hasCode) return outcome
  const byRule = await dryRun({ ...trial, request: { ...request, plan: 'off' }, ...begin() })
  return { ...outcome, plan: { ...outcome.plan, dispatch_s: byRule.verdict === 'completes' ? byRule.makespan_s : null } }
}

const unpublished = {
  incident_id: '',
  severity: 'INFO',
  recovery_action: 'NONE',
  execution_id: null,
  thread_id: null,
  detail: {},
  timestamp: 0,
  acknowledged: null,
} as const

/** The incidents that tell of something that was dealt with. */
const isNotice = new Set(['ACTION_CONTINUED', 'ACTION_REDIRECTED', 'MOVE_CONTINUED', 'RESERVATION_DEADLOCK'])

function summed(
  execution: Execution,
  { conflicts, isEndless }: { conflicts: readonly string[]; isEndless: boolean },
): Omit<Outcome, 'plan'> {
  const { timeline, phase, workflow } = execution
  const rows = timeline.rows()
  const makespan_s = Math.max(0, ...rows.map(({ ended }) => ended ?? 0))
  const waiting = why(execution)
  const verdict = isEndless ? 'endless' : phase.current === 'completed' ? 'completes' : execution.isOver ? 'fails' : verdictOf(conflicts)
  return {
    workflow: workflow.name,
    verdict,
    makespan_s,
    moves: timeline.moves,
    actions: timeline.actions,
    conflict: conflicts[0] ?? null,
    waiting,
    conditions: conditionsOf(workflow),
    devices: use(rows, makespan_s),
    gantt: rows.flatMap(bar).sort((a, b) => a.from_s - b.from_s),
    dropped: timeline.dropped,
  }
}

/** Returns the verdict on a run that has not ended. A late step goes on all the same. */
function verdictOf(conflicts: readonly string[]): DryRun['verdict'] {
  if (conflicts.some((conflict) => /^(UNRESOLVABLE_DEADLOCK|SYSTEM_STALL)/.test(conflict))) return 'deadlock'
  return conflicts.every((conflict) => conflict.startsWith('WINDOW_MISSED')) ? 'waits' : 'fails'
}

function conditionsOf({ threads, document }: Workflow): DryRun['conditions'] {
  const exampleOf = (name: string) => document.values![name]!.example
  return [...threads.values()].flatMap(({ name: thread, steps }) =>
    [...allSteps(steps)].flatMap((step) => {
      if (step.kind !== 'if') return []
      const { name, condition, then, otherwise } = step
      return {
        ...{ thread, step: name, condition: wordsOf(condition) },
        examples: Object.fromEntries(valuesIn(condition).map((value) => [value, exampleOf(value)])),
        goes: holds(condition, exampleOf) ? ('then' as const) : ('else' as const),
        ...{ then: then.steps.map((inner) => inner.name), else: otherwise.steps.map((inner) => inner.name) },
      }
    }),
  )
}

function bar({ thread_name, kind, name, device, from, to, transporter, started, ended }: TimelineRow): Bar[] {
  if (started === null || ended === null) return []
  const called = kind === 'move' ? `${from} → ${to}` : (name ?? '')
  return [{ thread_name, kind, name: called, device: device ?? transporter, from_s: started, to_s: ended }]
}

function use(rows: readonly TimelineRow[], makespan_s: number): DryRun['devices'] {
  const busy = new Map<string, number>()
  for (const { device, from_s, to_s } of rows.flatMap(bar)) if (device) busy.set(device, (busy.get(device) ?? 0) + to_s - from_s)
  return [...busy]
    .map(([device, busy_s]) => ({ device, busy_s: round(busy_s), share: makespan_s ? round(busy_s / makespan_s) : 0 }))
    .sort((a, b) => b.busy_s - a.busy_s)
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000
}
