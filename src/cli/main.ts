#!/usr/bin/env node
// `benchd …` at a shell.

import { messageOf } from '../errors.ts'
import { didYouMean } from '../kit/did_you_mean.ts'
import { helpOf, parse } from './command.ts'
import { commands } from './commands.ts'
import { CliError, exitOf } from './exit.ts'
import { helpText } from './help.ts'

process.stdout.on('error', onPrintError)
process.exitCode = await run(process.argv.slice(2))

async function run(args: readonly string[]): Promise<number> {
  try {
    const { command, rest } = find(args)
    if (!command) return print(helpText(rest))
    const given = parse(command, rest)
    return given.options.help ? print(helpOf(command)) : await command.run(given as Parameters<typeof command.run>[0])
  } catch (error) {
    process.stderr.write(`benchd: ${messageOf(error)}\n`)
    return exitOf(error)
  }
}

/** Who reads along may have had enough: `benchd events export | head`. */
function onPrintError(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error
  process.exit(0)
}

/** The command that the first words name; none for a call for help. */
function find(args: readonly string[]) {
  const [first, second] = args
  if (first === undefined || first === '--help' || first === '-h' || first === 'help') return { rest: args.slice(1) }
  if (first === '--version') return { command: commands.find(({ name }) => name === 'version'), rest: [] }
  const two = commands.find(({ name }) => name === `${first} ${second}`)
  if (two) return { command: two, rest: args.slice(2) }
  const one = commands.find(({ name }) => name === first)
  if (one) return { command: one, rest: args.slice(1) }
  const verbs = commands.filter(({ name }) => name.startsWith(`${first} `)).map(({ name }) => name)
  if (verbs.length) {
    if (second === undefined || second === '--help') return { rest: [first] }
    throw new CliError('usage', `there is no command ${first} ${second}; there is: ${verbs.join(', ')}`)
  }
  const words = commands.flatMap(({ name }) => name.split(' ')[0] ?? [])
  throw new CliError('usage', `there is no command ${first}${didYouMean(first, [...words, 'help'])}; see: benchd help`)
}

function print(text: string): number {
  process.stdout.write(`${text}\n`)
  return 0
}
