// `benchd runs …`: workflows that are submitted, what they do, and what an operator tells them.

import type { Blocker, Reason } from '../workflow/runs/explaining.ts'
import type { TimelineRow } from '../workflow/runs/timeline.ts'
import type { ExecutionSnapshot, ExecutionSummary, ShownThread } from '../workflow/snapshot.ts'
import { ask, type Service, serviceOf, serviceOptions } from './client.ts'
import { command } from './command.ts'
import { CliError } from './exit.ts'
import { follow } from './follow.ts'
import { commands as simulate } from './simulate.ts'
import { submissionOf, submissionOptions } from './submission.ts'
import { date, print, table } from './table.ts'

type Answer = { success: boolean; message: string }

const runsSubmit = command({
  name: 'runs submit',
  summary: 'Run a workflow, and print the id of its execution',
  operands: ['WORKFLOW'],
  options: {
    ...submissionOptions,
    join: { type: 'boolean', help: 'Put the groups into the run of this workflow that is open, if there is one' },
    operator: { type: 'string', value: 'WHO', help: 'Who submits it' },
    follow: { type: 'boolean', help: 'Print what happens until it ends; the exit code is 0 if it is COMPLETED' },
    ...serviceOptions,
  },
  example: 'benchd runs submit seal-and-spin --var speed=600 --follow',
  async run({ options, operands: [workflow = ''] }) {
    const service = serviceOf(options)
    const submission = await ask<{ submission_id: string; execution_id: string }>(service, 'POST', '/api/submissions', {
      ...submissionOf(workflow, options),
      batch_mode: options.join ? 'JOIN_EXISTING' : 'STANDALONE',
      ...(options.operator && { operator_id: options.operator }),
    })
    print(options.json ? JSON.stringify(submission) : submission.execution_id)
    return options.follow ? follow(service, submission.execution_id, options.json ?? false) : 0
  },
})

const runsList = command({
  name: 'runs list',
  summary: 'List the runs, the newest first',
  operands: [],
  options: {
    status: { type: 'string', value: 'STATUS', help: 'IN_PROGRESS, COMPLETED, FAILED or ABORTED' },
    limit: { type: 'string', value: 'N', help: 'At most so many; default 20' },
    ...serviceOptions,
  },
  async run({ options }) {
    const query = new URLSearchParams({ limit: options.limit ?? '20', ...(options.status && { status: options.status }) })
    const executions = await listed(serviceOf(options), `?${query}`)
    const rows = executions.map(({ execution_id, workflow_name, run_mode, thread_count, started_at, ended_at, ...its }) => [
      execution_id,
      workflow_name,
      run_mode,
      stateOf(its),
      String(thread_count),
      date(started_at),
      ended_at === null ? '' : seconds(ended_at - started_at),
    ])
    print(options.json ? JSON.stringify({ executions }) : table(['ID', 'WORKFLOW', 'MODE', 'STATE', 'THREADS', 'STARTED', 'TOOK'], rows))
    return 0
  },
})

const runsShow = command({
  name: 'runs show',
  summary: 'Show a run: its threads, where their labware is, what they wait for',
  operands: ['ID'],
  options: serviceOptions,
  async run({ options, operands: [id = ''] }) {
    const service = serviceOf(options)
    const snapshot = await ask<ExecutionSnapshot>(service, 'GET', await pathOf(service, id))
    print(options.json ? JSON.stringify(snapshot) : described(snapshot))
    return 0
  },
})

const runsWhy = command({
  name: 'runs why',
  summary: 'Say why a run stands: what is in its way, and what each thread waits for',
  operands: ['ID'],
  options: serviceOptions,
  async run({ options, operands: [id = ''] }) {
    const service = serviceOf(options)
    const path = await pathOf(service, id)
    const { blockers } = await ask<{ blockers: Blocker[] }>(service, 'GET', `${path}/blockers`)
    const { threads } = await ask<{ threads: Reason[] }>(service, 'GET', `${path}/why`)
    if (options.json) print(JSON.stringify({ blockers, threads }))
    else print(reasonsIn(blockers, threads))
    return 0
  },
})

const runsTimeline = command({
  name: 'runs timeline',
  summary: 'Show what a run did when, in seconds since it began',
  operands: ['ID'],
  options: serviceOptions,
  async run({ options, operands: [id = ''] }) {
    const service = serviceOf(options)
    const timeline = await ask<{ rows: TimelineRow[] }>(service, 'GET', `${await pathOf(service, id)}/timeline`)
    const rows = timeline.rows.map(({ thread_name, kind, name, device, from, to, transporter, status, created, started, ended }) => [
      thread_name,
      kind === 'move' ? `${from} -> ${to}` : (name ?? ''),
      (kind === 'move' ? transporter : device) ?? '',
      status,
      String(created),
      String(started ?? ''),
      String(ended ?? ''),
    ])
    print(options.json ? JSON.stringify(timeline) : table(['THREAD', 'WHAT', 'BY', 'STATUS', 'WANTED', 'STARTED', 'ENDED'], rows))
    return 0
  },
})

const runsPause = told('pause', 'Pause a run: each thread at its next safe point')
const runsResume = told('resume', 'Resume a run that was paused')
const runsClose = told('close', 'Close a run to further submissions')

const runsStop = command({
  name: 'runs stop',
  summary: 'Pause a run and arm its stop; with --confirm, once it is armed, abort it. Not the emergency stop',
  operands: ['ID'],
  options: { confirm: { type: 'boolean', help: 'Abort it' }, ...serviceOptions },
  async run({ options, operands: [id = ''] }) {
    const service = serviceOf(options)
    return say(await ask<Answer>(service, 'POST', `${await pathOf(service, id)}/stop`, { confirm: options.confirm ?? false }), options.json)
  },
})

const runsEmit = command({
  name: 'runs emit',
  summary: 'Emit a custom event into a run',
  operands: ['ID', 'NAME', '[VALUE]'],
  options: serviceOptions,
  example: 'benchd runs emit 7b1c qc.done complete',
  async run({ options, operands: [id = '', name = '', value] }) {
    const service = serviceOf(options)
    return say(await ask<Answer>(service, 'POST', `${await pathOf(service, id)}/emit`, { name, value: value ?? null }), options.json)
  },
})

const runsRecover = command({
  name: 'runs recover',
  summary: 'Decide about the error that holds a thread: RETRY, RETRY_OP, CONTINUE, ABORT_ACTION, ABORT_METHOD, ABORT_THREAD',
  operands: ['THREAD', 'DECISION'],
  options: serviceOptions,
  example: 'benchd runs recover 53a6 RETRY',
  async run({ options, operands: [id = '', decision = ''] }) {
    const service = serviceOf(options)
    const thread_id = await wholeThreadId(service, id)
    return say(await ask<Answer>(service, 'POST', `/api/threads/${thread_id}/recover`, { decision: decision.toUpperCase() }), options.json)
  },
})

const runsSkip = command({
  name: 'runs skip',
  summary: 'Skip a step or an action of a run that lies ahead',
  operands: ['ID', 'ITEM'],
  options: serviceOptions,
  example: 'benchd runs skip 7b1c plate/seal_it',
  async run({ options, operands: [id = '', item = ''] }) {
    const service = serviceOf(options)
    return say(await ask<Answer>(service, 'POST', `${await pathOf(service, id)}/skip`, { item }), options.json)
  },
})

const runsInsert = command({
  name: 'runs insert',
  summary: 'Insert a step into a run, before or after another; the step is JSON, as in a workflow',
  operands: ['ID', 'STEP'],
  options: {
    before: { type: 'string', value: 'ITEM', help: 'Before this step or action' },
    after: { type: 'string', value: 'ITEM', help: 'After this step or action' },
    ...serviceOptions,
  },
  example: `benchd runs insert 7b1c '{"method": "spin_it"}' --after plate/seal_it`,
  async run({ options, operands: [id = '', step = ''] }) {
    const service = serviceOf(options)
    const { before, after } = options
    const body = { ...(before !== undefined && { before }), ...(after !== undefined && { after }), item: jsonOf(step) }
    return say(await ask<Answer>(service, 'POST', `${await pathOf(service, id)}/insert`, body), options.json)
  },
})

const runsSpawn = command({
  name: 'runs spawn',
  summary: 'Put one more thread of its workflow into a run',
  operands: ['ID', 'THREAD'],
  options: {
    start: { type: 'string', value: 'PLACE', help: 'Where its labware comes from, if not where the workflow says' },
    ...serviceOptions,
  },
  async run({ options, operands: [id = '', thread = ''] }) {
    const service = serviceOf(options)
    const body = { thread, ...(options.start !== undefined && { start: options.start }) }
    return say(await ask<Answer>(service, 'POST', `${await pathOf(service, id)}/spawn`, body), options.json)
  },
})

const runsExtend = command({
  name: 'runs extend',
  summary: 'Give a device call that takes too long more time; by the id of its incident',
  operands: ['INCIDENT', 'SECONDS'],
  options: serviceOptions,
  async run({ options, operands: [id = '', seconds = ''] }) {
    if (!(Number(seconds) > 0)) throw new CliError('usage', `${JSON.stringify(seconds)} is not a number of seconds`)
    return say(
      await ask<Answer>(serviceOf(options), 'POST', `/api/incidents/${encodeURIComponent(id)}/extend`, { seconds: Number(seconds) }),
      options.json,
    )
  },
})

const runsAbortCall = lateCall('abort', 'Cut off a device call that takes too long: the device is halted, and the call has failed')
const runsCompleteCall = lateCall('complete', 'Say that a device call that takes too long has done its work')

const runsConfirm = command({
  name: 'runs confirm',
  summary: 'Confirm a manual step: it is done',
  operands: ['STEP'],
  options: serviceOptions,
  async run({ options, operands: [step = ''] }) {
    return say(await ask<Answer>(serviceOf(options), 'POST', `/api/operator/steps/${encodeURIComponent(step)}/confirm`), options.json)
  },
})

const runsDelete = command({
  name: 'runs delete',
  summary: 'Delete a run that has ended, and its events',
  operands: ['ID'],
  options: serviceOptions,
  async run({ options, operands: [id = ''] }) {
    const service = serviceOf(options)
    return say(await ask<Answer>(service, 'DELETE', await pathOf(service, id)), options.json)
  },
})

export const commands = [
  runsSubmit,
  ...simulate,
  runsList,
  runsShow,
  runsWhy,
  runsTimeline,
  runsPause,
  runsResume,
  runsClose,
  runsStop,
  runsEmit,
  runsRecover,
  runsSkip,
  runsInsert,
  runsSpawn,
  runsExtend,
  runsAbortCall,
  runsCompleteCall,
  runsConfirm,
  runsDelete,
]

function told(verb: string, summary: string) {
  return command({
    name: `runs ${verb}`,
    summary,
    operands: ['ID'],
    options: serviceOptions,
    async run({ options, operands: [id = ''] }) {
      const service = serviceOf(options)
      return say(await ask<Answer>(service, 'POST', `${await pathOf(service, id)}/${verb}`), options.json)
    },
  })
}

function lateCall(verb: 'abort' | 'complete', summary: string) {
  return command({
    name: `runs ${verb}-call`,
    summary: `${summary}; by the id of its incident`,
    operands: ['INCIDENT'],
    options: serviceOptions,
    async run({ options, operands: [id = ''] }) {
      return say(await ask<Answer>(serviceOf(options), 'POST', `/api/incidents/${encodeURIComponent(id)}/${verb}`), options.json)
    },
  })
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new CliError('usage', `${text} is not JSON; write a step as a workflow has it: {"method": "seal_it"}`)
  }
}

function say(answer: Answer, asJson = false): number {
  print(asJson ? JSON.stringify(answer) : answer.message)
  return answer.success ? 0 : 1
}

async function listed(service: Service, query: string): Promise<ExecutionSummary[]> {
  return (await ask<{ executions: ExecutionSummary[] }>(service, 'GET', `/api/executions${query}`)).executions
}

/** Of the execution whose id begins so. */
async function pathOf(service: Service, id: string): Promise<string> {
  const ids = isWhole(id) ? [id] : (await listed(service, '?limit=10000')).map(({ execution_id }) => execution_id)
  return `/api/executions/${theOne('run', id, ids)}`
}

/** Only those of open runs can be told anything. */
async function wholeThreadId(service: Service, id: string): Promise<string> {
  if (isWhole(id)) return id
  const ids: string[] = []
  for (const { execution_id } of await listed(service, '?status=IN_PROGRESS&limit=10000')) {
    const { threads } = await ask<{ threads: ShownThread[] }>(service, 'GET', `/api/executions/${execution_id}/threads?limit=10000`)
    ids.push(...threads.map(({ thread_id }) => thread_id))
  }
  return theOne('thread', id, ids)
}

function isWhole(id: string): boolean {
  return /^[0-9a-f-]{36}$/.test(id)
}

/** Throws unless exactly one begins so. */
function theOne(kind: string, prefix: string, ids: readonly string[]): string {
  const found = ids.filter((id) => id.startsWith(prefix))
  if (found.length === 1 && prefix !== '') return found[0]!
  if (found.length === 0 || prefix === '')
    throw new CliError('not_found', `there is no ${kind} ${JSON.stringify(prefix)}; see: benchd runs list`)
  throw new CliError('usage', `${found.length} ids of a ${kind} begin with ${prefix}; write more of it`)
}

function described(snapshot: ExecutionSnapshot): string {
  const { execution_id, workflow_name, run_mode, threads, moves, reason } = snapshot
  const rows = threads.map(({ thread_id, thread_name, status, position, held_by, last_error, waiting }) => {
    const move = moves.find((move) => move.thread_id === thread_id)
    const where = move ? `${move.from} -> ${move.to}` : (position ?? (held_by ? `in ${held_by}` : ''))
    return [thread_id, thread_name, status, where, waiting?.what ?? last_error ?? '']
  })
  const head = `${execution_id}  ${workflow_name}  ${run_mode}  ${stateOf(snapshot)}${reason ? `: ${reason}` : ''}`
  return `${head}\n\n${table(['THREAD', 'NAME', 'STATUS', 'WHERE', 'WAITS FOR'], rows)}`
}

function stateOf({ status, phase, paused }: Pick<ExecutionSummary, 'status' | 'phase' | 'paused'>): string {
  if (status !== 'IN_PROGRESS') return status
  return paused ? 'paused' : phase === 'accepting' ? 'running' : phase
}

function seconds(taken: number): string {
  return `${taken.toFixed(1)} s`
}

function reasonsIn(blockers: readonly Blocker[], threads: readonly Reason[]): string {
  if (threads.length === 0) return 'it has ended: nothing waits'
  const inTheWay = blockers.map(({ thread_name, message, remedy }) => `${thread_name ? `${thread_name}: ` : ''}${message}\n  -> ${remedy}`)
  const waiting = threads.map(({ thread_name, status, waits_for, since_s, because }) => {
    const what = waits_for === null ? 'is at work' : `waits for ${waits_for}, for ${Math.round(since_s)} s`
    return [`${thread_name} (${status}) ${what}`, ...because.map((sentence) => `  ${sentence}`)].join('\n')
  })
  return [...(inTheWay.length ? ['In the way:', ...inTheWay, ''] : []), ...waiting].join('\n')
}
