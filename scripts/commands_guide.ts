// The guide to the commands, made from their table.

import { serviceOptions } from '../src/cli/client.ts'
import { type Command, commonOptions, type Option, type Section } from '../src/cli/command.ts'
import { environment } from '../src/cli/environment.ts'
import { exitCodes } from '../src/cli/exit.ts'

export function commandsGuide(sections: readonly Section[]): string {
  return `# Commands

\`benchd\` is the service and the command line that talks to it. \`benchd help COMMAND\` shows a command with its options, \`man benchd\` all of them; the package
installs completion for bash, zsh and fish (\`source <(benchd completion bash)\`). In a clone of the repository type \`npx benchd\`.

A command talks to the service on the same computer, over its control socket and without a key. Another service is named with \`--url\` and \`--key\`, with
\`BENCHD_URL\` and \`BENCHD_API_KEY\`, or in \`~/.config/benchd/credentials.json\` (\`{"url": "…", "api_key": "bk_…", "fingerprint": "…"}\`, mode 0600), in that order.

Every command takes \`--json\` (one document, or a line each for a stream), \`--quiet\` and \`--no-color\`. Commands that delete
something, or that initialize several devices, ask for confirmation; without a terminal they need \`--yes\`. A stop never asks: it passes over options that it cannot
use, says so on stderr, and stops. Ctrl-C leaves a device running, and says so. An id may be shortened to its
beginning; a run may be named by its workflow, a thread by its name. Times are in the zone of the computer where the command runs:
\`benchd events since 2026-11-28\` begins at midnight there, and each printed time names its zone, as \`09:00+01:00\`. JSON has Unix seconds.

\`runs follow\`, \`events tail\` and \`events since\` print what happens to labware and devices in words: steps with their values, moves, waits of more than five seconds, incidents; \`runs follow\`
also decisions, with who made them. \`--all\` prints every state of the engine too. \`--json\` always prints every event whole.

${sections.map(sectionText).join('\n')}
## Options of every command

${optionTable({ ...commonOptions })}

## Options of every command that asks a service

${optionTable(Object.fromEntries(Object.entries(serviceOptions).filter(([name]) => !(name in commonOptions))))}

## Environment

An option overrides the environment, the environment overrides the file, and the file overrides the default.

${table(
  ['variable', 'meaning'],
  Object.entries(environment).map(([name, what]) => [`\`${name}\``, what]),
)}

## Exit codes

${table(
  ['code', 'meaning'],
  Object.values(exitCodes).map(([code, meaning]) => [String(code), meaning]),
)}
`
}

function sectionText({ heading, commands }: Section): string {
  return `## ${heading}\n\n${table(['command', 'what it does', 'example'], commands.map(rowOf))}\n`
}

function rowOf({ name, operands, summary, example }: Command): string[] {
  return [`\`${[`benchd ${name}`, ...operands].join(' ')}\``, summary, example ? `\`${example}\`` : '']
}

function optionTable(options: Record<string, Option>): string {
  const rows = Object.entries(options).map(([name, { value, help }]) => [`\`--${name}${value ? ` ${value}` : ''}\``, help])
  return table(['option', 'meaning'], rows)
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}
