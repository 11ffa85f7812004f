// The options that `runs submit` and `runs simulate` share, and the submission made of them.

import type { Given } from '../command.ts'
import { CliError } from '../exit.ts'
import { numberOf } from '../numbers.ts'

export const submissionOptions = {
  groups: { type: 'string', value: 'N', help: 'Number of groups, named g1 to gN; default: no groups' },
  mode: { type: 'string', value: 'MODE', one_of: ['LIVE', 'DEVICE_SIM', 'PURE_SIM'], help: 'LIVE, DEVICE_SIM or PURE_SIM; default LIVE' },
  var: { type: 'string', multiple: true, value: 'NAME=VALUE', help: 'A variable; as often as there are some' },
} as const

/** The part of the body that they say. */
export function submissionOf(workflow: string, { groups = '0', mode = 'LIVE', var: variables = [] }: Given<typeof submissionOptions>) {
  return {
    workflow,
    run_mode: mode,
    groups: Array.from({ length: numberOf('--groups', groups, 'a number from 0 to 1000', isCount) }, (_, i) => ({ group_id: `g${i + 1}` })),
    variables: Object.fromEntries(variables.map(variable)),
  }
}

const isCount = (groups: number) => Number.isInteger(groups) && groups >= 0 && groups <= 1000

/** Parses NAME=VALUE: a value that is JSON is taken as such, any other as text. */
function variable(text: string): [string, unknown] {
  const at = text.indexOf('=')
  if (at < 1) throw new CliError('usage', `--var ${text} is not NAME=VALUE`)
  const [name, value] = [text.slice(0, at), text.slice(at + 1)]
  try {
    return [name, JSON.parse(value)]
  } catch {
    return [name, value]
  }
}
