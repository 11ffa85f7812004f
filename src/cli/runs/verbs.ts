// The commands that control a run, a thread, or a late device call: a row for each.

import { shows, tells } from '../asking.ts'
import { short } from '../at_shell.ts'
import { CliError } from '../exit.ts'
import { numberOf } from '../numbers.ts'
import { date, table } from '../table.ts'
import { noteNone } from '../terminal.ts'
import { endedPathOf, incidentPathOf, pathOf, shownPathOf, stepPathOf, threadPathOf } from './ids.ts'
import { isPriority } from './submission.ts'

const plain = {
  pause: 'Pause each thread of a run at its next safe point',
  resume: 'Resume a paused run',
  close: 'Close a run to further submissions',
}

const runsStop = tells({
  name: 'runs stop',
  summary: 'Pause a run and arm its stop; with --confirm, abort the armed run. Not the emergency stop',
  operands: ['ID'],
  options: { confirm: { type: 'boolean', help: 'Abort the armed run' } },
  tell: async ({ service, options, operands: [id = ''] }) => ({
    path: `${await pathOf(service, id)}/stop`,
    body: { confirm: options.confirm ?? false },
  }),
})

const runsEmit = tells({
  name: 'runs emit',
  summary: 'Emit a custom event into a run',
  operands: ['ID', 'NAME', '[VALUE]'],
  example: 'benchd runs emit 7b1c qc.done complete',
  options: { group: { type: 'string', value: 'NAME', help: 'The group that it reaches; by default all' } },
  tell: async ({ service, options, operands: [id = '', name = '', value = null] }) => ({
    path: `${await pathOf(service, id)}/emit`,
    body: { name, value, ...(options.group !== undefined && { group_id: options.group }) },
  }),
})

const runsNote = tells({
  name: 'runs note',
  summary: 'Add a note to the record of an open or ended run',
  operands: ['ID', 'TEXT'],
  options: { tag: { type: 'string', multiple: true, value: 'TAG', help: 'Word by which it is found; repeatable' } },
  example: 'benchd runs note 7b1c "the lid was not seated" --tag deviation',
  tell: async ({ service, options: { tag = [] }, operands: [id = '', text = ''] }) => ({
    path: `${await shownPathOf(service, id)}/notes`,
    body: { text, tags: tag },
  }),
})

const runsPriority = tells({
  name: 'runs priority',
  summary: 'Set the priority of an open run, from -9 to 9',
  operands: ['ID', 'N'],
  example: 'benchd runs priority 7b1c 9',
  tell: async ({ service, operands: [id = '', priority = ''] }) => ({
    path: `${await pathOf(service, id)}/priority`,
    body: { priority: numberOf('N', priority, 'a whole number from -9 to 9', isPriority) },
  }),
})

const runsSkip = tells({
  name: 'runs skip',
  summary: 'Skip a step or an action that a run has not begun',
  operands: ['ID', 'ITEM'],
  example: 'benchd runs skip 7b1c plate/seal_it',
  tell: async ({ service, operands: [id = '', item = ''] }) => ({ path: `${await pathOf(service, id)}/skip`, body: { item } }),
})

const runsInsert = tells({
  name: 'runs insert',
  summary: 'Insert a step into a run before or after another step; STEP is JSON as in a workflow',
  operands: ['ID', 'STEP'],
  options: {
    before: { type: 'string', value: 'ITEM', help: 'Step or action to insert before' },
    after: { type: 'string', value: 'ITEM', help: 'Step or action to insert after' },
  },
  example: `benchd runs insert 7b1c '{"method": "spin_it"}' --after plate/seal_it`,
  tell: async ({ service, options: { before, after }, operands: [id = '', step = ''] }) => {
    const body = { ...(before !== undefined && { before }), ...(after !== undefined && { after }), item: jsonOf(step) }
    return { path: `${await pathOf(service, id)}/insert`, body }
  },
})

const runsSpawn = tells({
  name: 'runs spawn',
  summary: 'Add one more thread of its workflow to a run',
  operands: ['ID', 'THREAD'],
  options: { start: { type: 'string', value: 'PLACE', help: 'Start position of its labware; default: the one of the workflow' } },
  tell: async ({ service, options: { start }, operands: [id = '', thread = ''] }) => ({
    path: `${await pathOf(service, id)}/spawn`,
    body: { thread, ...(start !== undefined && { start }) },
  }),
})

const runsRecover = tells({
  name: 'runs recover',
  summary: 'Decide about the error that holds a thread: RETRY, RETRY_OP, CONTINUE, ABORT_ACTION, ABORT_METHOD or ABORT_THREAD',
  operands: ['THREAD', 'DECISION'],
  options: {
    on: { type: 'string', value: 'DEVICE', help: 'Device of the pool for RETRY' },
    'arm-is-off': { type: 'boolean', help: 'Say that the power of the arm is off, for --by while the arm may still move' },
    barcode: { type: 'string', value: 'TEXT', help: 'Barcode of labware that a scanner did not know, for CONTINUE' },
    by: { type: 'string', value: 'PERSON', help: 'Person who makes the move of an arm that is stopped or has a fault, for RETRY' },
  },
  example: 'benchd runs recover 53a6 RETRY --on shaker-2',
  tell: async ({ service, options: { on, by, barcode, 'arm-is-off': arm_is_off }, operands: [id = '', decision = ''] }) => ({
    path: `${await threadPathOf(service, id)}/recover`,
    body: {
      decision: decision.toUpperCase(),
      ...(on !== undefined && { on }),
      ...(by !== undefined && { by }),
      ...(arm_is_off && { arm_is_off: true }),
      ...(barcode !== undefined && { barcode }),
    },
  }),
})

const plainOfThreads = {
  'pause-thread': 'Pause a thread at its next safe point',
  'resume-thread': 'Resume a paused thread',
  'stop-thread': 'Stop a thread after its current operation has ended',
  removed: 'Confirm that the labware of a thread was removed from its end position',
}

const runsPlaced = tells({
  name: 'runs placed',
  summary: 'Confirm that the labware of a thread was placed at its start position',
  operands: ['THREAD'],
  options: { barcode: { type: 'string', value: 'TEXT', help: 'Barcode that was read' } },
  tell: async ({ service, options: { barcode }, operands: [id = ''] }) => ({
    path: `${await threadPathOf(service, id)}/placed`,
    body: { ...(barcode !== undefined && { barcode }) },
  }),
})

const runsExtend = tells({
  name: 'runs extend',
  summary: 'Give a late device call more time, named by the id of its incident',
  operands: ['INCIDENT', 'SECONDS'],
  tell: async ({ service, operands: [id = '', seconds = ''] }) => {
    if (!(Number(seconds) > 0)) throw new CliError('usage', `${JSON.stringify(seconds)} is not a number of seconds`)
    return { path: `${await incidentPathOf(service, id)}/extend`, body: { seconds: Number(seconds) } }
  },
})

const runsAbortCall = tells({
  name: 'runs abort-call',
  summary: 'Abort a late device call and halt its device, named by the id of its incident',
  operands: ['INCIDENT'],
  deed: ([id]) => `halt the device whose call is late by incident ${id}`,
  tell: async ({ service, operands: [id = ''] }) => ({ path: `${await incidentPathOf(service, id)}/abort` }),
})

const runsCompleteCall = tells({
  name: 'runs complete-call',
  summary: 'Mark a late device call as done, named by the id of its incident',
  operands: ['INCIDENT'],
  tell: async ({ service, operands: [id = ''] }) => ({ path: `${await incidentPathOf(service, id)}/complete` }),
})

type Step = { step_id: string; execution_id: string; thread_id: string; instruction: string; since: number }

const runsSteps = shows({
  name: 'runs steps',
  summary: 'List the manual steps that wait for a person',
  path: () => '/api/operator/steps',
  text: ({ steps }: { steps: Step[] }) =>
    table(
      ['STEP', 'SINCE', 'RUN', 'WHAT TO DO'],
      steps.map(({ step_id, since, execution_id, instruction }) => [step_id, date(since), short(execution_id), instruction]),
    ),
  also: ({ steps }) => noteNone(steps, 'no manual step waits for anybody'),
})

const runsConfirm = tells({
  name: 'runs confirm',
  summary: 'Confirm that a manual step is done, or say what became of a task to carry labware',
  operands: ['STEP'],
  options: {
    taken: { type: 'boolean', help: 'The labware is in your hands; confirm again when it is put down' },
    at: { type: 'string', value: 'POSITION', help: 'The labware stands at this position instead' },
    cannot: { type: 'string', value: 'REASON', help: 'The labware cannot be carried, and stands where it stood' },
    barcode: { type: 'string', value: 'CODE', help: 'Barcode that was read of the labware' },
  },
  tell: async ({ service, options, operands: [step = ''] }) => ({
    path: `${await stepPathOf(service, step)}/confirm`,
    body: answerOf(options),
  }),
})

type AnswerOptions = { taken?: boolean | undefined; at?: string | undefined; cannot?: string | undefined; barcode?: string | undefined }

/** Makes the body of an answer to a step. Throws `usage` for options that contradict each other. */
function answerOf({ taken, at, cannot, barcode }: AnswerOptions): object {
  const answers = [
    ...(taken ? [{ answer: 'taken' }] : []),
    ...(at === undefined ? [] : [{ answer: 'elsewhere', position: at }]),
    ...(cannot === undefined ? [] : [{ answer: 'cannot', reason: cannot }]),
  ]
  if (answers.length > 1) throw new CliError('usage', 'give one of --taken, --at and --cannot')
  return { ...answers[0], ...(barcode !== undefined && { barcode }) }
}

const runsDelete = tells({
  name: 'runs delete',
  summary: 'Delete a run that has ended, with its events',
  operands: ['ID'],
  deed: ([id]) => `delete run ${id} and its events`,
  tell: async ({ service, operands: [id = ''] }) => ({ method: 'DELETE', path: await endedPathOf(service, id), patient: true }),
})

export const runVerbs = [
  ...Object.entries(plain).map(([verb, summary]) =>
    tells({
      name: `runs ${verb}`,
      summary,
      operands: ['ID'],
      tell: async ({ service, operands: [id = ''] }) => ({ path: `${await pathOf(service, id)}/${verb}` }),
    }),
  ),
  runsStop,
  runsEmit,
  runsNote,
  runsPriority,
  runsSkip,
  runsInsert,
  runsSpawn,
  runsRecover,
  ...Object.entries(plainOfThreads).map(([verb, summary]) =>
    tells({
      name: `runs ${verb}`,
      summary,
      operands: ['THREAD'],
      tell: async ({ service, operands: [id = ''] }) => ({ path: `${await threadPathOf(service, id)}/${verb.replace('-thread', '')}` }),
    }),
  ),
  runsPlaced,
  runsExtend,
  runsAbortCall,
  runsCompleteCall,
  runsSteps,
  runsConfirm,
  runsDelete,
]

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new CliError('usage', `${text} is not JSON; write a step as a workflow has it: {"method": "seal_it"}`)
  }
}
