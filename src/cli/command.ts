// What a command is: a record that makes the parsing and the help alike.

import { parseArgs } from 'node:util'
import { didYouMean } from '../kit/did_you_mean.ts'
import { CliError } from './exit.ts'

type Option = { type: 'string' | 'boolean' /** It may be given more than once. */; multiple?: true; value?: string; help: string }
export type Options = Record<string, Option>
export type Given<Own extends Options> = {
  [Name in keyof Own]?: Own[Name]['type'] extends 'boolean' ? boolean : Own[Name] extends { multiple: true } ? string[] : string
}

export type Command<Own extends Options = Options> = {
  /** One or two words: `serve`, `key create`. */
  name: string
  summary: string
  /** Names of what stands behind it without dashes; in brackets what may be left out. */
  operands: readonly string[]
  options: Own
  example?: string
  /** Answers the exit code. */
  run(given: { options: Given<Own>; operands: readonly string[] }): Promise<number>
}

/** Keeps the types of a command's options for its `run`. */
export function command<Own extends Options>(definition: Command<Own>): Command {
  return definition as unknown as Command
}

/** What `--help` shows. */
export function helpOf({ name, summary, operands, options, example }: Command): string {
  const usage = ['benchd', name, ...operands, ...(Object.keys(options).length ? ['[options]'] : [])].join(' ')
  const lines = Object.entries(options).map(
    ([option, { value, help }]) => `  ${`--${option}${value ? ` ${value}` : ''}`.padEnd(22)}${help}`,
  )
  return [`Usage: ${usage}`, '', summary, ...(lines.length ? ['', ...lines] : []), ...(example ? ['', `Example: ${example}`] : [])].join(
    '\n',
  )
}

/** Throws a usage error that says what to write instead. */
export function parse(
  definition: Command,
  args: readonly string[],
): { options: Record<string, string | boolean | string[] | undefined>; operands: string[] } {
  const { name, options, operands } = definition
  const config = Object.fromEntries(
    Object.entries<Option>({ ...options, help: { type: 'boolean', help: '' } }).map(([option, { type, multiple = false }]) => [
      option,
      { type, multiple },
    ]),
  )
  const unknown = args
    .slice(0, args.includes('--') ? args.indexOf('--') : undefined)
    .find((arg) => /^--[^=]/.test(arg) && !((arg.slice(2).split('=')[0] ?? '') in config))
  if (unknown) {
    const word = unknown.slice(2).split('=')[0] ?? ''
    throw new CliError('usage', `benchd ${name}: there is no option --${word}${didYouMean(word, Object.keys(options))}`)
  }
  try {
    const { values, positionals } = parseArgs({ args: [...args], options: config, allowPositionals: true, strict: true })
    const needed = operands.filter((operand) => !operand.startsWith('[')).length
    if (!values.help && (positionals.length < needed || positionals.length > operands.length)) {
      throw new Error(positionals.length < needed ? `${operands[positionals.length]} is missing` : `${positionals.at(-1)} is too much`)
    }
    return { options: values as Record<string, string | boolean | string[]>, operands: positionals }
  } catch (error) {
    throw new CliError('usage', `benchd ${name}: ${(error as Error).message}; see: benchd ${name} --help`, { cause: error })
  }
}
