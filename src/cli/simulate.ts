// `benchd runs simulate`: what would become of a submission, drawn as a chart.

import type { DryRun } from '../workflow/dry_run.ts'
import { ask, serviceOf, serviceOptions } from './client.ts'
import { command } from './command.ts'
import { clock, gantt } from './gantt.ts'
import { submissionOf, submissionOptions } from './submission.ts'
import { print, table } from './table.ts'

const mostDevices = 10

const runsSimulate = command({
  name: 'runs simulate',
  summary: 'Try out a workflow on the clock alone, and draw what would happen; the exit code is 0 if it completes',
  operands: ['WORKFLOW'],
  options: {
    ...submissionOptions,
    ...serviceOptions,
  },
  example: 'benchd runs simulate smc_assay --mode PURE_SIM',
  async run({ options, operands: [workflow = ''] }) {
    const run = await ask<DryRun>(serviceOf(options), 'POST', '/api/simulations', submissionOf(workflow, options))
    print(options.json ? JSON.stringify(run) : described(run))
    return run.verdict === 'completes' ? 0 : 1
  },
})

export const commands = [runsSimulate]

function described(run: DryRun): string {
  const { stdout, env } = process
  const head = `${run.workflow}  ${run.verdict}  ${clock(run.makespan_s)}  ${run.actions} actions  ${run.moves} moves`
  const chart = gantt(run, { columns: stdout.columns ?? 100, color: stdout.isTTY === true && !env.NO_COLOR })
  const use = run.devices.slice(0, mostDevices).map(({ device, busy_s, share }) => [device, clock(busy_s), `${Math.round(share * 100)} %`])
  const waits = run.waiting.map(({ thread_name, status, waits_for, because }) => [
    thread_name,
    status,
    [waits_for ?? '', ...because].join('; '),
  ])
  return [
    run.conflict ? `${head}\nconflict: ${run.conflict}` : head,
    chart,
    ...(use.length > 0 ? [table(['BUSY', 'FOR', 'SHARE'], use)] : []),
    ...(waits.length > 0 ? [table(['THREAD', 'STATUS', 'WAITS FOR'], waits)] : []),
  ].join('\n\n')
}
