// `benchd help`: all from the table of commands.

import { helpOf } from './command.ts'
import { commands } from './commands.ts'
import { CliError, exitCodes } from './exit.ts'

/** The help for some words: all of it, a noun, a command, or `exit-codes`. */
export function helpText(words: readonly string[]): string {
  const topic = words.join(' ')
  if (topic === '') return overview()
  if (topic === 'exit-codes') return exitCodeText()
  const found = commands.filter(({ name }) => name === topic || name.startsWith(`${topic} `))
  if (found.length === 0) throw new CliError('usage', `there is no command ${topic}; see: benchd help`)
  return found.map(helpOf).join('\n\n')
}

function overview(): string {
  const usages = commands.map(({ name, operands }) => [name, ...operands].join(' '))
  const width = Math.max(...usages.map(({ length }) => length)) + 2
  const lines = commands.map(({ summary }, i) => `  ${usages[i]!.padEnd(width)}${summary}`)
  return [
    'Usage: benchd <command> [options]',
    '',
    ...lines,
    `  ${'help [command]'.padEnd(width)}Say more; also: help exit-codes`,
    '',
    'Environment: BENCHD_CONFIG BENCHD_DATA_DIR BENCHD_TOPOLOGIES BENCHD_HOST BENCHD_PORT BENCHD_URL BENCHD_API_KEY NO_COLOR',
    'A flag goes before the environment, that before the file, that before the default.',
  ].join('\n')
}

function exitCodeText(): string {
  return Object.values(exitCodes)
    .map(([code, meaning]) => `${String(code).padStart(3)}  ${meaning}`)
    .join('\n')
}
