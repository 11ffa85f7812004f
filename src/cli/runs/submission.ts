// The common options of `runs submit` and `runs simulate`, and the submission from them.

import { variableValue } from '../../clients/ts/variable_value.ts'
import { ask, type Service } from '../client.ts'
import type { OptionValues } from '../command.ts'
import { CliError } from '../exit.ts'
import { numberOf } from '../numbers.ts'
import { modeOption } from '../run_modes.ts'

export const submissionOptions = {
  groups: { type: 'string', value: 'N', help: 'Number of groups, named g1 to gN; default: no groups' },
  mode: modeOption('; default LIVE'),
  var: { type: 'string', multiple: true, value: 'NAME=VALUE', help: 'Value of a variable; repeatable' },
} as const

type Variables = Record<string, { default?: unknown; type?: 'string' | 'number' | 'boolean' }>

/** Makes the submission. Asks the service for the types of the variables. */
export async function submissionOf(
  service: Service,
  workflow: string,
  { groups = '0', mode = 'LIVE', var: given = [] }: OptionValues<typeof submissionOptions>,
) {
  const count = numberOf('--groups', groups, 'a number from 0 to 1000', isCount)
  const texts = given.map(nameAndText)
  const known = texts.length > 0 ? (await ask<{ variables: Variables }>(service, 'GET', pathOf(workflow))).variables : {}
  const typed = ([name, text]: readonly [string, string]) =>
    [name, variableValue(text, Object.hasOwn(known, name) ? known[name]?.type : undefined)] as const
  return {
    workflow,
    run_mode: mode,
    groups: Array.from({ length: count }, (_, i) => ({ group_id: `g${i + 1}` })),
    variables: Object.fromEntries(texts.map(typed)),
  }
}

const isCount = (groups: number) => Number.isInteger(groups) && groups >= 0 && groups <= 1000

function pathOf(workflow: string): string {
  return `/api/workflows/${encodeURIComponent(workflow)}`
}

function nameAndText(given: string): [string, string] {
  const at = given.indexOf('=')
  if (at < 1) throw new CliError('usage', `--var ${given} is not NAME=VALUE`)
  return [given.slice(0, at), given.slice(at + 1)]
}
