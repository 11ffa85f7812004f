// `benchd runs simulate`: a dry run of a submission, drawn as a chart.

import { planWords } from '../../clients/ts/plan_words.ts'
import { clock } from '../../kit/seconds.ts'
import type { DryRun } from '../../workflow/dry_run.ts'
import { atShell } from '../at_shell.ts'
import { ask, patiently, serviceOf, serviceOptions } from '../client.ts'
import { command } from '../command.ts'
import { print, table } from '../table.ts'
import { colored } from '../terminal.ts'
import { gantt } from './gantt.ts'
import { submissionOf, submissionOptions } from './submission.ts'

const mostDevices = 10

export const runsSimulate = command({
  name: 'runs simulate',
  summary: 'Simulate a workflow without devices and draw its timeline; exit with 0 if it completes and can be submitted',
  operands: ['WORKFLOW'],
  options: {
    ...submissionOptions,
    ...serviceOptions,
  },
  example: 'benchd runs simulate smc_assay --mode PURE_SIM',
  async run({ options, operands: [workflow = ''] }) {
    const service = serviceOf(options)
    const submission = await submissionOf(service, workflow, options)
    const run = await ask<DryRun>(patiently(service), 'POST', '/api/simulations', submission)
    const { time_scale } = options.json ? { time_scale: 1 } : await ask<{ time_scale: number }>(service, 'GET', '/api/system')
    print(options.json ? JSON.stringify(run) : described(run, submission.run_mode === 'PURE_SIM' ? 1 : time_scale))
    return run.verdict === 'completes' && run.refusal === null ? 0 : 1
  },
})

/** `scale`: the seconds of a simulated instrument in one real second. */
function described(run: DryRun, scale: number): string {
  const real = scale === 1 ? '' : ` of simulated time, about ${clock(run.makespan_s / scale)} in real time`
  const head = `${run.workflow}  ${run.verdict}  ${clock(run.makespan_s)}${real}  ${run.actions} actions  ${run.moves} moves`
  const chart = gantt(run, { columns: process.stdout.columns ?? 100, color: colored('red', '') !== '' })
  const use = run.devices.slice(0, mostDevices).map(({ device, busy_s, share }) => [device, clock(busy_s), `${Math.round(share * 100)} %`])
  const waits = run.waiting.map(({ thread_name, status, waits_for, because }) => [
    thread_name,
    status,
    [waits_for ?? '', ...because].join('; '),
  ])
  const conditions = run.conditions.map(({ thread, step, condition, examples, goes, then, else: otherwise }) => [
    `${thread}/${step}`,
    condition,
    Object.entries(examples)
      .map(([name, value]) => `${name} = ${value}`)
      .join(', '),
    `${goes === 'then' ? '→ ' : ''}${then.join(', ') || 'nothing'}`,
    `${goes === 'else' ? '→ ' : ''}${otherwise.join(', ') || 'nothing'}`,
  ])
  return [
    [
      head,
      ...(run.plan ? [planWords({ ...run, plan: run.plan }, clock)] : []),
      ...(run.conflict ? [`conflict: ${atShell(run.conflict)}`] : []),
      ...(run.refusal ? [`not ready: ${atShell(run.refusal)}`] : []),
    ].join('\n'),
    chart,
    ...(use.length > 0 ? [table(['BUSY', 'FOR', 'SHARE'], use)] : []),
    ...(conditions.length > 0 ? [table(['STEP', 'IF', 'EXAMPLE', 'THEN', 'ELSE'], conditions)] : []),
    ...(waits.length > 0 ? [table(['THREAD', 'STATUS', 'WAITS FOR'], waits)] : []),
  ].join('\n\n')
}
