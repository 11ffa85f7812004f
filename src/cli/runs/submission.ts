// The common options of `runs submit`, `runs simulate` and `queue add`, and the submission from them.

import { buffer } from 'node:stream/consumers'
import { sheetText } from '../../clients/ts/sheet_text.ts'
import { variableValue } from '../../clients/ts/variable_value.ts'
import { readBytes } from '../../kit/files.ts'
import { ask, type Service } from '../client.ts'
import type { OptionValues } from '../command.ts'
import { CliError } from '../exit.ts'
import { numberOf } from '../numbers.ts'
import { modeOption } from '../run_modes.ts'

export const submissionOptions = {
  groups: { type: 'string', value: 'N', help: 'Number of groups, named g1 to gN; default: no groups' },
  samples: {
    type: 'string',
    value: 'FILE',
    help: 'Sheet of samples as CSV, or - for stdin: a row for each group, with its barcodes and variables; for an empty sheet: benchd workflows samples',
  },
  mode: modeOption('; default LIVE'),
  plan: {
    type: 'string',
    value: 'WORD',
    one_of: ['on', 'off'],
    help: 'Planning: on (default) plans the order of all labware ahead; off decides step by step',
  },
  objective: {
    type: 'string',
    value: 'NAME',
    one_of: ['makespan', 'flow_time', 'open_time'],
    help: 'The time that the plan makes short: of the whole run (makespan), of each labware (flow_time), between its steps (open_time); default: as the workflow says',
  },
  priority: { type: 'string', value: 'N', help: 'From -9 to 9: the run with the higher number goes first; default 0' },
  var: { type: 'string', multiple: true, value: 'NAME=VALUE', help: 'Value of a variable; repeatable' },
} as const

/** The options of a submission that is to run, besides those that a simulation has too. */
export const requestOptions = {
  join: { type: 'boolean', help: 'Add the groups to the open run of this workflow, if there is one' },
  'submission-id': { type: 'string', value: 'UUID', help: 'Id of your own; a repeated id names the same run' },
  project: { type: 'string', value: 'NAME', help: 'The project of the run, for its record' },
  tag: { type: 'string', multiple: true, value: 'TAG', help: 'Word by which the run is found; repeatable' },
  note: { type: 'string', value: 'TEXT', help: 'Note for the record of the run' },
  operator: { type: 'string', value: 'WHO', help: 'Name of the operator' },
} as const

type Variables = Record<string, { type?: string }>

/** Makes the submission. Asks the service for the types of the variables. */
export async function submissionOf(
  service: Service,
  workflow: string,
  { groups = '0', samples, mode = 'LIVE', var: given = [], plan, objective, priority }: OptionValues<typeof submissionOptions>,
) {
  if (samples !== undefined && groups !== '0') throw new CliError('usage', 'each row of --samples is a group; leave out --groups')
  const count = numberOf('--groups', groups, 'a number from 0 to 1000', isCount)
  const texts = given.map(nameAndText)
  const known = texts.length > 0 ? (await ask<{ variables: Variables }>(service, 'GET', pathOf(workflow))).variables : {}
  const typed = ([name, text]: readonly [string, string]) =>
    [name, variableValue(text, Object.hasOwn(known, name) ? known[name]?.type : undefined)] as const
  return {
    workflow,
    run_mode: mode,
    ...(samples === undefined
      ? { groups: Array.from({ length: count }, (_, i) => ({ group_id: `g${i + 1}` })) }
      : { samples: sheetText(samples === '-' ? await buffer(process.stdin) : await readBytes(samples)) }),
    variables: Object.fromEntries(texts.map(typed)),
    ...(plan && { plan }),
    ...(objective && { objective }),
    ...(priority !== undefined && { priority: numberOf('--priority', priority, 'a whole number from -9 to 9', isPriority) }),
  }
}

/** Makes the submission of a run, with the members that a simulation has not. */
export async function requestOf(
  service: Service,
  workflow: string,
  options: OptionValues<typeof submissionOptions & typeof requestOptions>,
) {
  return {
    ...(await submissionOf(service, workflow, options)),
    batch_mode: options.join ? 'JOIN_EXISTING' : 'STANDALONE',
    ...(options['submission-id'] && { submission_id: options['submission-id'] }),
    ...(options.project && { project: options.project }),
    ...(options.tag && { tags: options.tag }),
    ...(options.note && { notes: options.note }),
    ...(options.operator && { operator_id: options.operator }),
  }
}

export const isPriority = (priority: number) => Number.isInteger(priority) && Math.abs(priority) <= 9
const isCount = (groups: number) => Number.isInteger(groups) && groups >= 0 && groups <= 1000

function pathOf(workflow: string): string {
  return `/api/workflows/${encodeURIComponent(workflow)}`
}

function nameAndText(given: string): [string, string] {
  const at = given.indexOf('=')
  if (at < 1) throw new CliError('usage', `--var ${given} is not NAME=VALUE`)
  return [given.slice(0, at), given.slice(at + 1)]
}
