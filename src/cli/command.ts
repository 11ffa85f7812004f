// A command is a record from which parsing, help, completion and manual page are made.

import { parseArgs } from 'node:util'
import { didYouMean } from '../kit/did_you_mean.ts'
import { CliError } from './exit.ts'

export type Option = {
  type: 'string' | 'boolean'
  /** Allows the option more than once. */
  multiple?: true
  /** The letter that stands for the option. */
  short?: string
  /** The placeholder of the value. */
  value?: string
  /** All possible values. */
  one_of?: readonly string[]
  help: string
}
export type OptionTable = Record<string, Option>
export type OptionValues<Own extends OptionTable> = {
  [Name in keyof Own]?: Own[Name]['type'] extends 'boolean' ? boolean : Own[Name] extends { multiple: true } ? string[] : string
}

/** Options of every command. */
export const commonOptions = {
  json: { type: 'boolean', help: 'Print JSON; streams print one line per record' },
  quiet: { type: 'boolean', help: 'Print only the result' },
  'no-color': { type: 'boolean', help: 'Print no colors; the same as NO_COLOR=1' },
} as const

export type Command<Own extends OptionTable = OptionTable> = {
  /** The name has one or two words: `serve`, `key create`. */
  name: string
  /** Other names of it. */
  aliases?: readonly string[]
  summary: string
  /** The names of the operands: an optional operand stands in brackets, and one that may be repeated ends with `…`. */
  operands: readonly string[]
  options: Own
  /** Says what to do instead of --json, for commands in which it makes no sense. */
  no_json?: string
  example?: string
  /** Options that it does not list, with a value each, are for it to judge: `more` of what it is given. */
  takes_more?: true
  /** The command stops something: options that it does not have, and words that are too many, do not keep it from that. */
  stops?: true
  /** Returns the exit code where it is not 0. `table` is of all commands. */
  run(given: {
    options: OptionValues<Own & typeof commonOptions>
    operands: readonly string[]
    more: Readonly<Record<string, string>>
    table(): Promise<Section[]>
    // biome-ignore lint/suspicious/noConfusingVoidType: most commands end without a `return`
  }): Promise<number | void>
}

/** A command as its file declares it: without `operands` or `options` it has none. */
export type Declaration<Own extends OptionTable> = Omit<Command<Own>, 'operands' | 'options'> &
  Partial<Pick<Command<Own>, 'operands' | 'options'>>

/** The commands under one heading of the help. */
export type Section = { heading: string; commands: readonly Command[] }

/** Keeps the types of a command's options for its `run`. */
export function command<Own extends OptionTable = Record<never, never>>(declaration: Declaration<Own>): Command {
  return { operands: [], options: {}, ...declaration } as unknown as Command
}

/** All that it takes, its own options first. */
export function optionsOf({ options, no_json }: Command): OptionTable {
  const { json, ...rest } = commonOptions
  return { ...Object.fromEntries(Object.entries(options).filter(([name]) => name !== 'json')), ...(no_json ? {} : { json }), ...rest }
}

/** `benchd key revoke KEY [options]` */
function usageOf({ name, operands }: Command): string {
  return ['benchd', name, ...operands, '[options]'].join(' ')
}

/** The text of `--help`. `elsewhere` has the options that are listed in another place. */
export function helpOf(command: Command, elsewhere: OptionTable = {}): string {
  const { summary, aliases = [], example } = command
  const own = Object.entries(optionsOf(command)).filter(([name]) => !(name in elsewhere))
  const also = aliases.length ? [`Also: ${aliases.map((alias) => `benchd ${alias}`).join(', ')}`, ''] : []
  const options = own.length ? ['', ...optionLines(own)] : []
  return [`Usage: ${usageOf(command)}`, '', ...also, summary, ...options, ...(example ? ['', `Example: ${example}`] : [])].join('\n')
}

/** The help of several commands: the options that all of them take are listed once, at the end. A command that works on files alone takes few of them. */
export function helpOfAll(commands: readonly Command[]): string {
  const online = commands.filter((command) => 'url' in optionsOf(command))
  const others = online.length > commands.length / 2 ? commands.filter((command) => !online.includes(command)) : []
  const alike = commands.filter((command) => !others.includes(command)).map(optionsOf)
  const shared = Object.entries(alike[0] ?? {}).filter(([name, { help }]) => alike.every((options) => options[name]?.help === help))
  const elsewhere = Object.fromEntries(shared)
  const each = commands.map((command) => helpOf(command, others.includes(command) ? {} : elsewhere))
  const except = others.length > 0 ? `, except ${others.map(({ name }) => name).join(', ')}` : ''
  return [...each, [`Options of all these commands${except}:`, '', ...optionLines(shared)].join('\n')].join('\n\n')
}

function optionLines(options: readonly (readonly [string, Option])[]): string[] {
  const usages = options.map(([name, { short, value }]) => `${short ? `-${short}, ` : ''}--${name}${value ? ` ${value}` : ''}`)
  const width = Math.max(...usages.map(({ length }) => length)) + 2
  return options.map(([, { help }], i) => `  ${usages[i]!.padEnd(width)}${help}`)
}

/** `passed_over` is what a command that stops something cannot use. Throws a usage error that says what to write instead. */
export function parse(
  definition: Command,
  given: readonly string[],
): {
  options: Record<string, string | boolean | string[] | undefined>
  operands: string[]
  more: Record<string, string>
  passed_over: string[]
} {
  const { name, operands, no_json, takes_more, stops } = definition
  const options = optionsOf(definition)
  const { args: kept, passed_over } = stops ? usable(given, options) : { args: given, passed_over: [] }
  const { args, more } = takes_more ? unlistedOptions(kept, [...Object.keys(options), 'help']) : { args: kept, more: {} }
  const config = Object.fromEntries(
    Object.entries<Option>({ ...options, help: { type: 'boolean', help: '' } }).map(([option, { type, multiple = false, short }]) => [
      option,
      { type, multiple, ...(short && { short }) },
    ]),
  )
  const unknown = args
    .slice(0, args.includes('--') ? args.indexOf('--') : undefined)
    .find((arg) => /^--[^=]/.test(arg) && !((arg.slice(2).split('=')[0] ?? '') in config))
  if (unknown) {
    const word = unknown.slice(2).split('=')[0] ?? ''
    const instead = word === 'json' && no_json ? `: ${no_json}` : didYouMean(word, Object.keys(options))
    throw new CliError('usage', `benchd ${name}: there is no option --${word}${instead || `; see: benchd ${name} --help`}`)
  }
  try {
    const { values, positionals } = parseArgs({ args: numbersJoined(args, options), options: config, allowPositionals: true, strict: true })
    const needed = operands.filter((operand) => !operand.startsWith('[')).length
    // A variable of the shell that has no value: an address would be made of it that leads elsewhere. Text alone may be empty.
    const empty = operands.find((operand, i) => i < needed && operand !== 'VALUE' && positionals[i] === '')
    if (empty) throw new Error(`${empty} is empty`)
    const most = operands.at(-1)?.includes('…') ? Number.POSITIVE_INFINITY : operands.length
    if (!values.help && (positionals.length < needed || (positionals.length > most && !stops))) {
      throw new Error(
        positionals.length < needed
          ? `${operands[positionals.length]} is missing`
          : `${JSON.stringify(positionals[operands.length])} is one word too many`,
      )
    }
    for (const [option, value] of Object.entries(values)) mustBeOneOf(option, value, options[option]?.one_of)
    return { options: values as Record<string, string | boolean | string[]>, operands: positionals, more, passed_over }
  } catch (error) {
    throw new CliError('usage', `benchd ${name}: ${inOurWords(error as Error)}; see: benchd ${name} --help`, { cause: error })
  }
}

/** Words an error of `parseArgs` in one sentence: `Option '-x, --x <value>' argument missing` is `--x needs a value`. */
function inOurWords({ message }: Error): string {
  const [, words = '', option] = /^(Unknown option|Option) '(?:-\w, )?(--?[^ ']+)/.exec(message) ?? []
  if (!option) return message
  if (words === 'Unknown option') return `there is no option ${option}`
  return /does not take/.test(message) ? `${option} takes no value` : `${option} needs a value`
}

/** Takes the options out that are not among the names, `--x 42` and `--x=42`; one without a value is `true`. */
function unlistedOptions(given: readonly string[], names: readonly string[]): { args: string[]; more: Record<string, string> } {
  const args: string[] = []
  const more: Record<string, string> = {}
  for (let i = 0; i < given.length; i++) {
    const arg = given[i]!
    const [, name, , value] = /^--([^=]+)(=([\s\S]*))?$/.exec(arg) ?? []
    if (name === undefined || names.includes(name)) args.push(arg)
    else if (value !== undefined) more[name] = value
    else more[name] = given[i + 1] === undefined || given[i + 1]!.startsWith('--') ? 'true' : given[++i]!
  }
  return { args, more }
}

/**
 * Takes out what is no option of the command, or has no value, for a command that stops something. `--ALL`, `-all` and `--al` are
 * `--all`.
 */
function usable(given: readonly string[], options: OptionTable): { args: string[]; passed_over: string[] } {
  const args: string[] = []
  const passed_over: string[] = []
  for (let i = 0; i < given.length; i++) {
    const arg = given[i]!
    if (!/^-./.test(arg)) {
      // A variable of the shell that has no value names nothing.
      if (arg === '') passed_over.push('""')
      else args.push(arg)
      continue
    }
    const [word = '', value] = arg.replace(/^-+/, '').split(/=(.*)/s)
    const name = nameAmong(word, ['help', ...Object.keys(options)])
    const type = name === 'help' ? 'boolean' : options[name ?? '']?.type
    if (type === 'boolean') args.push(`--${name}`)
    else if (type === 'string' && value !== undefined) args.push(`--${name}=${value}`)
    else if (type === 'string' && given[i + 1] !== undefined && !given[i + 1]!.startsWith('-')) args.push(`--${name}=${given[++i]}`)
    else passed_over.push(arg)
  }
  return { args, passed_over }
}

/** Returns the option that a word stands for: in any case, or as its beginning where that is the beginning of no other. */
function nameAmong(word: string, names: readonly string[]): string | undefined {
  const small = word.toLowerCase()
  const exact = names.find((name) => name === small)
  const begun = names.filter((name) => small !== '' && name.startsWith(small))
  return exact ?? (begun.length === 1 ? begun[0] : undefined)
}

function mustBeOneOf(option: string, value: unknown, words: readonly string[] | undefined): void {
  if (!words || typeof value !== 'string' || words.includes(value)) return
  throw new Error(`--${option} ${value} is none of ${words.join(', ')}${didYouMean(value, words)}`)
}

/** `--x -42` as `--x=-42`: alone the number would be taken for an option. */
function numbersJoined(args: readonly string[], options: OptionTable): string[] {
  return args.flatMap((arg, i) => {
    const [before, next] = [args[i - 1] ?? '', args[i + 1] ?? '']
    if (isNumber(arg) && takesValue(before, options)) return []
    return isNumber(next) && takesValue(arg, options) ? [`${arg}=${next}`] : [arg]
  })
}

function isNumber(text: string): boolean {
  return /^-\.?\d/.test(text)
}

function takesValue(arg: string, options: OptionTable): boolean {
  return arg.startsWith('--') && options[arg.slice(2)]?.type === 'string'
}
