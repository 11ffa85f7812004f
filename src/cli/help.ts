// `benchd help`, made from the table of commands. The overview is stored as text, so that it loads no command.

import { readShipped } from '../kit/shipped.ts'
import { commonOptions, helpOf, helpOfAll, type Section } from './command.ts'
import { table } from './commands.ts'
import { environment } from './environment.ts'
import { CliError, exitCodes } from './exit.ts'

/** Returns the help for the words: the overview, a noun, a command, or `exit-codes`. */
export async function helpText(words: readonly string[]): Promise<string> {
  const topic = words.join(' ')
  if (topic === '') return new TextDecoder().decode(await readShipped(new URL('./help.txt', import.meta.url)))
  if (topic === 'exit-codes') return exitCodeText()
  const commands = (await table()).flatMap((section) => section.commands)
  const found = commands.filter(({ name }) => name === topic || name.startsWith(`${topic} `))
  const [first, ...more] = found
  if (!first) throw new CliError('usage', `there is no command ${topic}; see: benchd help`)
  return more.length ? helpOfAll(found) : helpOf(first)
}

/** Lists all commands; `npm run generate` writes it into help.txt. */
export function overviewOf(parts: readonly Section[]): string {
  const usage = ({ name, operands }: { name: string; operands: readonly string[] }) => [name, ...operands].join(' ')
  const width = Math.max(...parts.flatMap(({ commands }) => commands.map((command) => usage(command).length))) + 2
  const lines = parts.flatMap(({ heading, commands }) => [
    '',
    heading,
    ...commands.map((command) => `  ${usage(command).padEnd(width)}${command.summary}`),
  ])
  return [
    'Usage: benchd <command> [options]',
    ...lines,
    '',
    `  ${'help [command]'.padEnd(width)}Show the help of a command; also: help exit-codes`,
    '',
    `Every command: ${Object.keys(commonOptions)
      .map((option) => `--${option}`)
      .join(' ')} --help`,
    `Environment: ${Object.keys(environment).join(' ')}`,
    'A flag overrides the environment, the environment overrides the file, and the file overrides the defaults.',
  ].join('\n')
}

function exitCodeText(): string {
  return Object.values(exitCodes)
    .map(([code, meaning]) => `${String(code).padStart(3)}  ${meaning}`)
    .join('\n')
}
