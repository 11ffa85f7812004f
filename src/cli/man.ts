// `benchd man`: the manual page, from the table of commands.

import { packageVersion } from '../kit/package_version.ts'
import { serviceOptions } from './client.ts'
import { type Command, command, commonOptions, type Option, type Section } from './command.ts'
import { environment } from './environment.ts'
import { exitCodes } from './exit.ts'

const man = command({
  name: 'man',
  summary: 'Print the manual page',
  no_json: 'its output is for man',
  example: 'benchd man | man -l -',
  async run({ table }) {
    process.stdout.write(manPage(await table()))
  },
})

export const commands = [man]

function manPage(table: readonly Section[]): string {
  return [
    `.TH BENCHD 1 "" "benchd ${packageVersion()}" "User Commands"`,
    '.SH NAME',
    'benchd \\- drives the instruments of a lab bench, and offers them to the LAN',
    '.SH SYNOPSIS',
    '.B benchd',
    '.I command',
    '[\\fIoptions\\fR]',
    '.SH DESCRIPTION',
    plain(
      'The service of a lab bench, and the command line that talks to it: over its control socket on the same machine, or over the network with a key.',
    ),
    plain(
      'The stop of this service is not a safety function: it can be late or lost. Keep a hard-wired red button within reach, and use that one first.',
    ),
    '.SH COMMANDS',
    ...table.flatMap(({ heading, commands }) => [`.SS ${heading}`, ...commands.flatMap(commandText)]),
    '.SH OPTIONS',
    plain('Of every command, where it makes sense:'),
    ...Object.entries(commonOptions).flatMap(optionText),
    '.PP',
    plain('Of every command that asks a service:'),
    ...Object.entries(serviceOptions)
      .filter(([name]) => name !== 'json')
      .flatMap(optionText),
    '.SH ENVIRONMENT',
    ...Object.entries(environment).flatMap(([name, what]) => ['.TP', `.B ${plain(name)}`, plain(what)]),
    '.PP',
    'A flag overrides the environment, the environment overrides the file, and the file overrides the defaults.',
    '.SH FILES',
    ...Object.entries(files).flatMap(([name, what]) => ['.TP', `.I ${plain(name)}`, plain(what)]),
    '.SH EXIT STATUS',
    ...Object.values(exitCodes).flatMap(([code, meaning]) => ['.TP', `.B ${code}`, plain(meaning)]),
    '',
  ].join('\n')
}

const files = {
  '/etc/benchd/config.json': 'The configuration; else ~/.config/benchd/config.json.',
  '/var/lib/benchd': 'The state; else ~/.local/state/benchd.',
  '/run/benchd/control.sock': 'The service on this machine, for members of the group benchd.',
  '~/.config/benchd/credentials.json': 'A service and a key to it, {"url": "…", "api_key": "…"}; for nobody else to read (0600).',
}

function commandText({ name, operands, summary, aliases = [], example, options }: Command): string[] {
  const own = Object.entries(options).filter(([, option]) => !Object.values<Option>(serviceOptions).includes(option))
  return [
    '.TP',
    `\\fBbenchd ${plain(name)}\\fR ${operands.map((operand) => `\\fI${plain(operand)}\\fR`).join(' ')}`.trimEnd(),
    plain(summary),
    ...(aliases.length ? [plain(`(Also: ${aliases.map((alias) => `benchd ${alias}`).join(', ')})`)] : []),
    ...(example ? ['.br', `Example: \\fB${plain(example)}\\fR`] : []),
    ...(own.length ? ['.RS', ...own.flatMap(optionText), '.RE'] : []),
  ]
}

function optionText([name, { value, help }]: [string, Option]): string[] {
  return ['.TP', `\\fB${plain(`--${name}`)}\\fR${value ? ` \\fI${plain(value)}\\fR` : ''}`, plain(help)]
}

/** Escapes characters that have a meaning in roff. */
function plain(text: string): string {
  return text.replaceAll('\\', '\\e').replaceAll('-', '\\-').replaceAll("'", '\\(aq').replaceAll('…', '\\&...').replace(/^\./, '\\&.')
}
