// The dry run of a journey: the dry runs of its benches one after the other, with the times of the carriers between them.

import { DryRun } from './answers.ts'
import type { RemoteBench } from './benches.ts'
import type { Plan } from './plan.ts'

type Lane = { lane: string; name: string; from_s: number; to_s: number }
export type JourneyDryRun = {
  journey: string
  makespan_s: number
  legs: { bench: string; workflow: string; verdict: string; conflict: string | null; makespan_s: number }[]
  gantt: Lane[]
}

/** Rejects with the sentence of a bench that refuses the dry run of its leg. */
export async function dryRun(journey: string, { legs }: Plan, bench: (name: string) => RemoteBench): Promise<JourneyDryRun> {
  const gantt: Lane[] = []
  const shown: JourneyDryRun['legs'] = []
  let at = 0
  for (const { bench: name, workflow, thread, start, variables, carried } of legs) {
    if (carried) {
      gantt.push({ lane: carried.by, name: `${carried.from} → ${name}/${carried.to}`, from_s: at, to_s: at + carried.seconds })
      at += carried.seconds
    }
    const groups = [{ group_id: 'journey', members: { [thread]: { location: start } } }]
    const run = await bench(name).ask('POST', '/api/simulations', { workflow, run_mode: 'PURE_SIM', groups, variables }, DryRun)
    for (const bar of run.gantt)
      gantt.push({ lane: `${name}/${bar.device ?? ''}`, name: bar.name, from_s: at + bar.from_s, to_s: at + bar.to_s })
    shown.push({ bench: name, workflow, verdict: run.verdict, conflict: run.conflict, makespan_s: run.makespan_s })
    at += run.makespan_s
  }
  return { journey, makespan_s: at, legs: shown, gantt }
}
