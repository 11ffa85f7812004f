// Makes the commands for the operations and readings of the table in `devices/operations`.

import * as v from 'valibot'
import { parameterValue } from '../../clients/ts/parameter_value.ts'
import { heldOf, isList, isNullable, isOptional, operations, rowOf } from '../../devices/operations.ts'
import { isQuestion, questions, readings } from '../../devices/reading_table.ts'
import { messageOf } from '../../errors.ts'
import { shows } from '../asking.ts'
import { serviceOf, serviceOptions } from '../client.ts'
import { type Command, command, type Option } from '../command.ts'
import { CliError } from '../exit.ts'
import { numberOf } from '../numbers.ts'
import { withAll } from './initialize.ts'
import { pathOf, perform } from './perform.ts'
import { stop } from './stop.ts'

export const overrideOption = {
  override: { type: 'boolean', help: 'Override the reservation of another key, as an administrator' },
} as const

/** The word that stands for null, as in `--temperature off`. */
export const off = 'off'

/** Returns the header for `--override`. */
export function overriding({ override }: { override?: boolean }): Record<string, string> {
  return override ? { 'X-Override': 'true' } : {}
}

/** `benchd stop` under the name `devices stop`. */
export const stopDevice: Command = {
  ...stop,
  name: 'devices stop',
  example: 'benchd devices stop shaker-1',
}

export const operationCommands: readonly Command[] = [
  ...Object.keys(operations)
    // An operation that is held, or goes to a teachpoint, has a command of its own.
    .filter((name) => name !== 'stop' && !heldOf(name) && !rowOf(name)?.goes_to)
    .map((name) => operationCommand(name as Exclude<keyof typeof operations, 'stop'>))
    .map((one) => (one.name === 'devices initialize' ? withAll(one, overriding) : one)),
  ...Object.entries(readings).map(([name, { summary }]) =>
    shows({
      name: `devices ${dashed(name)}`,
      summary,
      operands: ['ID'],
      path: ({ operands: [id = ''] }) => `${pathOf(id)}/${name}`,
      text: ({ device_id, ...read }: Record<string, unknown>) => {
        const units = unitsOf(name)
        const words = Object.entries(read).map(([member, value]) => worded([member, value], units[member]))
        return `${device_id}: ${words.join(', ')}`
      },
    }),
  ),
]

function operationCommand(operation: Exclude<keyof typeof operations, 'stop'>): Command {
  const { summary, params } = operations[operation]
  const entries: [string, v.GenericSchema][] = Object.entries(params.entries)
  return command({
    name: `devices ${dashed(operation)}`,
    ...(operation === 'initialize' && { aliases: ['devices init'] }),
    summary,
    operands: ['ID'],
    options: {
      ...Object.fromEntries(entries.map(([name, schema]) => [dashed(name), optionOf(schema)])),
      'stop-on-interrupt': { type: 'boolean', help: 'Stop the device on Ctrl-C; by default the operation continues' },
      ...overrideOption,
      ...serviceOptions,
    },
    async run({ options, operands: [device_id = ''] }) {
      const given = options as Record<string, string | undefined>
      const body = Object.fromEntries(entries.flatMap(([name, schema]) => param(name, schema, given[dashed(name)])))
      return perform(serviceOf(options), {
        ...{ device_id, operation, body, headers: overriding(options) },
        ...{ stops: options['stop-on-interrupt'] ?? false, asJson: options.json ?? false },
      })
    },
  })
}

function optionOf(schema: v.GenericSchema): Option {
  const inner = isOptional(schema) ? schema.wrapped : schema
  const { unit } = v.getMetadata(inner)
  const description = v.getDescription(inner) ?? ''
  const words = [
    isNullable(inner) ? description.replace('null', off) : description,
    ...(unit ? [`, in ${unit}`] : []),
    ...(isOptional(schema) ? [`; default ${schema.default}`] : []),
  ]
  return { type: 'string', value: isList(inner) ? 'JSON' : isNullable(inner) ? `N|${off}` : 'N', help: words.join('') }
}

/** Parses a parameter; the service checks its limits. */
function param(name: string, schema: v.GenericSchema, text: string | undefined): [string, unknown][] {
  if (text === undefined && isOptional(schema)) return []
  if (text === undefined) throw new CliError('usage', `--${dashed(name)} is missing: ${optionOf(schema).help}`)
  if (isList(schema)) return [[name, listOf(`--${dashed(name)}`, text)]]
  if (!isNullable(schema)) return [[name, numberOf(`--${dashed(name)}`, text)]]
  return [[name, text === off ? null : numberOf(`--${dashed(name)}`, text, `a number, and not ${off}`)]]
}

/** Parses a list of records, which is JSON. */
function listOf(what: string, text: string): unknown {
  try {
    return parameterValue(text, { type: 'array', items: { type: 'object' } })
  } catch (error) {
    throw new CliError('usage', `${what} ${messageOf(error)}`)
  }
}

/** The units of the members of an answer, by name. */
function unitsOf(reading: string): Readonly<Record<string, string | undefined>> {
  if (!isQuestion(reading)) return {}
  const members = Object.entries<v.GenericSchema>(questions[reading].answer.entries)
  return Object.fromEntries(members.map(([name, schema]) => [name, v.getMetadata(schema).unit as string | undefined]))
}

function worded([name, value]: [string, unknown], unit?: string): string {
  // The coordinates of a pose: each member is printed by itself.
  if (typeof value === 'object' && value !== null)
    return Object.entries(value)
      .map((member) => worded(member))
      .join(', ')
  const words = value === null ? 'none' : value === true ? 'yes' : value === false ? 'no' : String(value)
  return `${name} ${words}${typeof value === 'number' && unit ? ` ${unit}` : ''}`
}

function dashed(name: string): string {
  return name.replaceAll('_', '-')
}
