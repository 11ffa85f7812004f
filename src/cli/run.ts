// Runs the command of a command line, and gives its exit code.

import { messageOf } from '../errors.ts'
import { asTyped, nameCommands } from '../kit/as_typed.ts'
import { didYouMean } from '../kit/did_you_mean.ts'
import { atShell } from './at_shell.ts'
import { type Command, helpOf, parse } from './command.ts'
import { commandsOf, table, words } from './commands.ts'
import { CliError, exitCodes, exitNameOf, exitOf, NotServed } from './exit.ts'
import { forTerminal, tell } from './table.ts'
import { behave } from './terminal.ts'

nameCommands(words)

/** Runs the command that the words after `benchd` name. Prints its error. Returns the exit code. */
export async function run(args: readonly string[]): Promise<number> {
  try {
    if (args[0] === 'completion' && args[1] === '--resolve') {
      const { resolved } = await import('./completion/resolve.ts')
      return write(await resolved(args.slice(2)))
    }
    const { command, rest } = await find(args)
    if (!command) return await help(rest)
    const given = parse(command, rest)
    if (given.options.help) return print(helpOf(command))
    const known = { ...given, table } as Parameters<typeof command.run>[0]
    behave(known.options)
    for (const word of given.passed_over) tell(`benchd ${command.name} cannot use ${word}, and passes over it`)
    return (await command.run(known)) ?? exitCodes.ok[0]
  } catch (error) {
    const shown = error instanceof NotServed ? await (await import('./elsewhere.ts')).namingOthers(error) : error
    failed(shown, isJsonWanted(args))
    return exitOf(shown)
  }
}

/** Prints an error on stderr, and with --json also on stdout, in the form of every other answer. */
function failed(error: unknown, asJson: boolean): void {
  const message = asTyped(atShell(messageOf(error)))
  if (asJson) process.stdout.write(`${forTerminal(JSON.stringify({ success: false, error: exitNameOf(error), message }))}\n`)
  tell(message)
}

/** Whether --json was given, also in a command line that could not be parsed. */
function isJsonWanted(args: readonly string[]): boolean {
  const end = args.indexOf('--')
  return args.slice(0, end < 0 ? undefined : end).includes('--json')
}

type Found = { command?: Command | undefined; rest: readonly string[] }

/** Finds the command of the first words; none for a call for help. */
async function find(args: readonly string[]): Promise<Found> {
  const [first, second] = args
  if (first === undefined || first === '--help' || first === '-h' || first === 'help')
    return { rest: args.slice(1).filter((word) => !['--help', '-h'].includes(word)) }
  if (first === '--version') return { command: (await commandsOf('version'))[0], rest: args.slice(1) }
  const commands = await commandsOf(first)
  if (commands.length === 0)
    throw new CliError('usage', `there is no command ${first}${didYouMean(first, [...words, 'help'])}; see: benchd help`)
  const called = (words: string) => commands.find(({ name, aliases }) => name === words || aliases?.includes(words))
  const two = called(`${first} ${second}`)
  if (two) return { command: two, rest: args.slice(2) }
  if (second === '--help' && commands.length > 1) return { rest: [first] }
  const one = called(first)
  // In `devices shkae`, the second word is a mistyped command rather than an operand.
  if (one && (second === undefined || second.startsWith('-') || one.operands.length > 0 || commands.length === 1))
    return { command: one, rest: args.slice(1) }
  if (second === undefined || second === '--help') return { rest: [first] }
  const verbs = commands.map(({ name }) => name)
  throw new CliError(
    'usage',
    `there is no command ${first} ${second}${didYouMean(`${first} ${second}`, verbs)}; there is: ${verbs.join(', ')}`,
  )
}

async function help(topic: readonly string[]): Promise<number> {
  const { helpText } = await import('./help.ts')
  return print(await helpText(topic))
}

function print(text: string): number {
  return write(`${asTyped(text)}\n`)
}

function write(text: string): number {
  process.stdout.write(text)
  return 0
}
