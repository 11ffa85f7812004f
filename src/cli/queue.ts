// `benchd queue …`: the queue of runs.

import type { ShownEntry } from '../queue/entry.ts'
import type { QueueView } from '../queue/view.ts'
import { shows, tells } from './asking.ts'
import { atShell, short } from './at_shell.ts'
import { ask, serviceOf, serviceOptions } from './client.ts'
import { command } from './command.ts'
import { CliError } from './exit.ts'
import { localTime } from './local_time.ts'
import { momentToCome } from './moment.ts'
import { modeText } from './run_modes.ts'
import { entryIdOf, entryOrRunIdOf, entryPathOf } from './runs/ids.ts'
import { requestOf, requestOptions, submissionOptions } from './runs/submission.ts'
import { date, print, table } from './table.ts'
import { note, noteNone, say } from './terminal.ts'

const startOptions = {
  at: { type: 'string', value: 'TIME', help: 'Not before this time: 22:30, 2h from now, or 2026-01-31T08:00 in the zone of this computer' },
  after: { type: 'string', value: 'ID', help: 'Not before this entry or run has ended' },
} as const

const queueList = shows({
  name: 'queue list',
  summary: 'List the entries of the queue in order, with the reason why each waits',
  path: () => '/api/queue',
  text: ({ entries }: QueueView) =>
    table(['NO', 'ID', 'WORKFLOW', 'MODE', 'GROUPS', 'PRIORITY', 'START', 'STATE', 'WHY'], entries.map(row)),
  also({ entries, paused, ended }) {
    if (paused) note(atShell(`the queue is paused since ${localTime(paused.since)}: ${paused.message}`))
    noteNone(entries, 'the queue is empty; to add to it: benchd queue add WORKFLOW')
    const [last] = ended
    if (last) note(`${last.workflow} ended last: ${last.outcome ?? 'nobody knows how'} at ${localTime(last.ended_at)}`)
  },
})

const queueShow = shows({
  name: 'queue show',
  summary: 'Show an entry of the queue with its submission',
  operands: ['ID'],
  path: ({ service, operands: [id = ''] }) => entryPathOf(service, id),
  text: ({ submission, ...entry }: ShownEntry & { submission: object }) =>
    [
      table(['NO', 'ID', 'WORKFLOW', 'MODE', 'GROUPS', 'PRIORITY', 'START', 'STATE', 'WHY'], [row(entry)]),
      `added ${date(entry.added_at)} by ${entry.added_by.by ?? 'the service'}`,
      JSON.stringify(submission, null, 2),
    ].join('\n\n'),
})

const queueAdd = command({
  name: 'queue add',
  summary: 'Add a run to the queue and print the id of its entry',
  operands: ['WORKFLOW'],
  options: {
    ...submissionOptions,
    ...requestOptions,
    ...startOptions,
    'require-device': { type: 'string', multiple: true, value: 'ID', help: 'Device that must be ready before it begins; repeatable' },
    'require-labware': {
      type: 'string',
      multiple: true,
      value: 'TEXT',
      help: 'Barcode of labware that must stand on the bench, or a position that must be taken; repeatable',
    },
    'on-failure': {
      type: 'string',
      value: 'WORD',
      one_of: ['stop', 'go_on'],
      help: 'Reaction to a run that fails: stop (default) pauses the queue, go_on begins the next entry',
    },
    'may-be-passed': { type: 'boolean', help: 'Let entries behind it begin while the bench is not fit for this one' },
    ...serviceOptions,
  },
  example: 'benchd queue add seal-and-spin --var speed=600 --at 22:30',
  async run({ options, operands: [workflow = ''] }) {
    const service = serviceOf(options)
    const entry = await ask<ShownEntry>(service, 'POST', '/api/queue', {
      submission: await requestOf(service, workflow, options),
      start_at: (await startOf(service, options)) ?? null,
      requires: { devices: options['require-device'] ?? [], labware: options['require-labware'] ?? [] },
      ...(options['on-failure'] && { on_failure: options['on-failure'] }),
      may_be_passed: options['may-be-passed'] ?? false,
    })
    print(options.json ? JSON.stringify(entry) : entry.entry_id)
    if (options.json) return
    if (entry.why_it_waits !== null) note(atShell(entry.why_it_waits))
    else if (entry.execution_id !== null) note(`it runs: benchd runs follow ${short(entry.execution_id)}`)
  },
})

const queueMove = command({
  name: 'queue move',
  summary: 'Move an entry of the queue, or give it another start',
  operands: ['ID'],
  options: {
    before: { type: 'string', value: 'ID', help: 'The entry before which it goes' },
    first: { type: 'boolean', help: 'To the first place' },
    last: { type: 'boolean', help: 'To the last place' },
    ...startOptions,
    now: { type: 'boolean', help: 'As soon as it is its turn, in place of another start' },
    ...serviceOptions,
  },
  example: 'benchd queue move 7b1c --first',
  async run({ options, operands: [id = ''] }) {
    const service = serviceOf(options)
    const { before, first, last, now } = options
    if ([before, first, last].filter(Boolean).length > 1)
      throw new CliError('usage', 'benchd queue move wants only one of --before ID, --first and --last')
    const start_at = now ? null : await startOf(service, options)
    const to = first ? 'first' : last ? 'last' : undefined
    if (before === undefined && to === undefined && start_at === undefined)
      throw new CliError('usage', 'benchd queue move wants --before ID, --first, --last, --at TIME, --after ID or --now')
    const body = {
      ...(before !== undefined && { before: await entryIdOf(service, before) }),
      ...(to && { to }),
      ...(start_at !== undefined && { start_at }),
    }
    const entry = await ask<ShownEntry>(service, 'POST', `${await entryPathOf(service, id)}/move`, body)
    const { number, workflow, why_it_waits } = entry
    const words = number === null ? `${workflow} runs` : `${workflow} is number ${number} of the queue`
    print(options.json ? JSON.stringify(entry) : words)
    if (!options.json && why_it_waits !== null) note(atShell(why_it_waits))
  },
})

const queueRemove = tells({
  name: 'queue remove',
  summary: 'Remove an entry that waits from the queue',
  operands: ['ID'],
  deed: ([id = '']) => `remove entry ${id} from the queue`,
  tell: async ({ service, operands: [id = ''] }) => ({ method: 'DELETE', path: await entryPathOf(service, id) }),
})

const queueStart = command({
  name: 'queue start',
  summary: 'Start an entry now: before its time, out of turn, and also while the queue is paused. Print the id of its run',
  operands: ['ID'],
  options: serviceOptions,
  example: 'benchd queue start 7b1c',
  async run({ options, operands: [id = ''] }) {
    const service = serviceOf(options)
    const begun = await ask<{ execution_id: string }>(service, 'POST', `${await entryPathOf(service, id)}/start`)
    print(options.json ? JSON.stringify(begun) : begun.execution_id)
  },
})

const queuePause = tells({
  name: 'queue pause',
  summary: 'Pause the queue: no further entry begins, and open runs go on',
  tell: () => ({ path: '/api/queue/pause' }),
})

const queueResume = command({
  name: 'queue resume',
  summary: 'Resume the queue, after the reason of its pause was shown',
  options: serviceOptions,
  async run({ options }) {
    const service = serviceOf(options)
    const { paused } = await ask<QueueView>(service, 'GET', '/api/queue')
    if (paused && !options.json) note(atShell(`it was paused at ${localTime(paused.since)}: ${paused.message}`))
    // A stop that comes in between pauses it anew.
    return say(await ask(service, 'POST', '/api/queue/resume', paused ? { since: paused.since } : {}), options.json)
  },
})

const queueClear = tells({
  name: 'queue clear',
  summary: 'Remove all entries that wait from the queue',
  deed: () => 'remove every entry that waits from the queue',
  tell: () => ({ path: '/api/queue/clear' }),
})

export const commands = [queueList, queueShow, queueAdd, queueMove, queueRemove, queueStart, queuePause, queueResume, queueClear]

async function startOf(service: Parameters<typeof entryIdOf>[0], { at, after }: { at?: string | undefined; after?: string | undefined }) {
  if (at !== undefined && after !== undefined) throw new CliError('usage', 'say --at TIME or --after ID, not both')
  if (at !== undefined) return momentToCome(at)
  return after === undefined ? undefined : { after: await entryOrRunIdOf(service, after) }
}

function row({
  number,
  entry_id,
  workflow,
  run_mode,
  groups,
  priority,
  start_at,
  state,
  why_it_waits,
  execution_id,
}: ShownEntry): string[] {
  const start = start_at === null ? '' : typeof start_at === 'number' ? localTime(start_at) : `after ${short(start_at.after)}`
  const why = why_it_waits === null ? (execution_id === null ? '' : `run ${short(execution_id)}`) : atShell(why_it_waits)
  return [
    number === null ? '' : String(number),
    short(entry_id),
    workflow,
    modeText(run_mode),
    String(groups),
    String(priority),
    start,
    state,
    why,
  ]
}
