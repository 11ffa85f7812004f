// `benchd workflows history …` and `benchd topology history …`: the versions of workflows and topologies, and how they differ.

import { authorText } from '../kit/author.ts'
import { readUtf8 } from '../kit/files.ts'
import { parseJsonWithComments } from '../kit/json.ts'
import type { VersionInfo } from '../workflow/version.ts'
import { shows } from './asking.ts'
import { ask, type Service, serviceOf, serviceOptions } from './client.ts'
import { type Command, command } from './command.ts'
import { CliError } from './exit.ts'
import { refuseForeign } from './foreign_files.ts'
import { date, print, table } from './table.ts'
import { mustBeSure, note, noteNone, yesOption } from './terminal.ts'

type Noun = 'workflow' | 'topology'
type Whole = VersionInfo & { document: object; text: string | null }
type Compared = {
  name: string
  from: number | null
  to: number | null
  is_same: boolean
  changes: { text: string }[]
  text_changes: string[]
}

const words = { workflow: { command: 'workflows', path: '/api/workflows' }, topology: { command: 'topology', path: '/api/topologies' } }

/** The option of commands that make a version. */
export const noteOption = { note: { type: 'string', value: 'TEXT', help: 'Words about this version, for its history' } } as const

/** Makes the commands `history`, `diff` and `restore` of a noun. */
export function versionCommands(of: Noun): Command[] {
  return [history(of), diff(of), restore(of)]
}

function history(of: Noun): Command {
  return shows({
    name: `${words[of].command} history`,
    summary: `List the versions of a ${of}, the newest first, also of one that was deleted`,
    operands: ['NAME'],
    options: {
      version: { type: 'string', value: 'N', help: 'Print the document of this version: JSON, or the text of its TypeScript file' },
    },
    example: of === 'workflow' ? 'benchd workflows history just-shake' : 'benchd topology history demo',
    path: ({ options: { version }, operands: [name = ''] }) =>
      `${pathOf(of, name)}/versions${version === undefined ? '' : `/${numberOf(version)}`}`,
    text: (shown: { versions: VersionInfo[] } | Whole) => ('versions' in shown ? listed(shown.versions) : documentText(shown)),
    also(shown, { operands: [name = ''] }) {
      if ('versions' in shown)
        noteNone(
          shown.versions,
          `${of} ${name} comes with the program; its versions are kept from the first run on the instruments or simulators on`,
        )
    },
  })
}

function listed(versions: readonly VersionInfo[]): string {
  return table(['VERSION', 'AT', 'BY', 'NOTE'], versions.map(row))
}

function row({ version, at, deleted, note = '', ...its }: VersionInfo): string[] {
  const gone = deleted && `deleted ${date(deleted.at, 'seconds')} by ${authorText(deleted.by, deleted.operator) || 'somebody unknown'}`
  return [String(version), date(at, 'seconds'), whoOf(its), [note, gone].filter(Boolean).join('; ')]
}

function whoOf({ source, by, operator, file }: Pick<VersionInfo, 'source' | 'by' | 'operator' | 'file'>): string {
  if (source === 'file') return `file ${file ?? ''}`.trim()
  if (source === 'example') return 'the program'
  return authorText(by, operator) || 'not known'
}

export function documentText({ document, text }: { document: object; text: string | null }): string {
  return text ?? JSON.stringify(document, null, 2)
}

function diff(of: Noun): Command {
  return command({
    name: `${words[of].command} diff`,
    summary: `Compare two versions of a ${of}: by default the last two; or a file and the present one`,
    operands: ['NAME', '[A]', '[B]'],
    options: serviceOptions,
    example: of === 'workflow' ? 'benchd workflows diff just-shake ./just-shake.json' : 'benchd topology diff demo 1 2',
    async run({ options, operands: [name = '', a, b] }) {
      const service = serviceOf(options)
      const compared = await compare(service, of, { name, a, b })
      if (options.json) return print(JSON.stringify(compared))
      const lines = [...compared.changes.map(({ text }) => text), ...compared.text_changes]
      if (lines.length > 0) print(lines.join('\n'))
      if (compared.is_same) note(`${sideOf(compared.from)} and ${b ?? a ?? sideOf(compared.to)} mean the same`)
    },
  })
}

type Sides = { name: string; a: string | undefined; b: string | undefined }

async function compare(service: Service, of: Noun, { name, a, b }: Sides): Promise<Compared> {
  const path = `${pathOf(of, name)}/diff`
  if (a !== undefined && b === undefined && !isNumber(a)) return ask<Compared>(service, 'POST', path, await documentIn(a, of))
  const [from, to] = b === undefined ? [undefined, a] : [a, b]
  const asked = Object.entries({ from, to }).flatMap(([side, version]) => (version === undefined ? [] : [`${side}=${numberOf(version)}`]))
  return ask<Compared>(service, 'GET', asked.length > 0 ? `${path}?${asked.join('&')}` : path)
}

function sideOf(version: number | null): string {
  return version === null ? 'the present document' : `version ${version}`
}

/** Reads a document in its JSON form. */
async function documentIn(file: string, of: Noun): Promise<object> {
  const text = await readUtf8(file)
  refuseForeign(text, file)
  const document = parseJsonWithComments(text, file)
  if (typeof document === 'object' && document !== null && !Array.isArray(document)) return document
  throw new CliError('usage', `${file} is no ${of}; name a file with a ${of} in its JSON form, or a version`)
}

function restore(of: Noun): Command {
  return command({
    name: `${words[of].command} restore`,
    summary:
      of === 'workflow'
        ? 'Restore the document of a version, as a new version'
        : 'Show which file to change to go back to a version of a topology',
    operands: ['NAME', 'N'],
    options: { ...(of === 'workflow' ? noteOption : {}), ...yesOption, ...serviceOptions },
    example: of === 'workflow' ? 'benchd workflows restore just-shake 2 --note "the faster one jammed"' : 'benchd topology restore demo 1',
    async run({ options, operands: [name = '', number = ''] }) {
      const service = serviceOf(options)
      const version = numberOf(number)
      const path = `${pathOf(of, name)}/versions/${version}`
      await ask(service, 'GET', path)
      if (of === 'workflow' && !options.yes) await mustBeSure(options, `put version ${version} of ${name} in the place of the present one`)
      const words = (options as { note?: string }).note
      const restored = await ask<{ version: number | null }>(service, 'POST', `${path}/restore`, words === undefined ? {} : { note: words })
      print(
        options.json ? JSON.stringify(restored) : `workflow ${name} is as in version ${version}, and is now version ${restored.version}`,
      )
    },
  })
}

function pathOf(of: Noun, name: string): string {
  return `${words[of].path}/${encodeURIComponent(name)}`
}

function isNumber(text: string): boolean {
  return /^\d+$/.test(text)
}

function numberOf(text: string): string {
  if (isNumber(text)) return text
  throw new CliError('usage', `${text} is no version; write its number, as the history lists it`)
}
