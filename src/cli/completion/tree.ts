// What can stand where in a command line: first words, second words, options, and what may be their values.

import { type Command, type Option, optionsOf } from '../command.ts'

export type Word = { name: string; summary: string }

/** `nothing` that a shell could know. */
export type Values = { kind: 'words'; words: readonly string[] } | { kind: 'files' | 'folders' | 'devices' | 'nothing' }

/** A command by one of its names. */
export type Named = Word & {
  /** With their dashes; those that want a value have some. */
  options: readonly (Word & { values: Values | undefined })[]
  /** In order. */
  operands: readonly Values[]
}

export type Tree = {
  firsts: readonly Word[]
  /** By first word. */
  seconds: ReadonlyMap<string, readonly Word[]>
  /** Commands of two words, then of one: the first that fits is the one that was typed. */
  commands: readonly Named[]
}

/** `known` are the words that stand for a placeholder of that name. */
export function tree(commands: readonly Command[], known: Readonly<Record<string, readonly string[]>>): Tree {
  const all = commands.flatMap((command) => [command.name, ...(command.aliases ?? [])].map((name) => named(command, name, known)))
  const seconds = new Map<string, Word[]>()
  const firsts = new Map<string, Word>()
  for (const { name, summary } of all) {
    const [first = '', second] = name.split(' ')
    if (!firsts.has(first)) firsts.set(first, { name: first, summary: second ? `${first} …` : summary })
    if (second) seconds.set(first, [...(seconds.get(first) ?? []), { name: second, summary }])
  }
  const help = { name: 'help', summary: 'Say more' }
  const topics: Values = { kind: 'words', words: [...firsts.keys(), 'exit-codes'] }
  const isTwo = ({ name }: Named) => name.includes(' ')
  return {
    firsts: [...firsts.values(), help],
    seconds,
    commands: [...all.filter(isTwo), ...all.filter((one) => !isTwo(one)), { ...help, options: [], operands: [topics] }],
  }
}

function named(command: Command, name: string, known: Readonly<Record<string, readonly string[]>>): Named {
  const options = Object.entries<Option>({ ...optionsOf(command), help: { type: 'boolean', help: 'Say more' } })
  return {
    name,
    summary: command.summary,
    options: options.map(([option, its]) => ({
      name: `--${option}`,
      summary: its.help,
      values: its.type === 'string' ? (wordsOr(its.one_of) ?? valuesOf(its.value ?? '', command.name, known)) : undefined,
    })),
    operands: command.operands.map((operand) => valuesOf(operand.replace(/^\[|\]$/g, ''), command.name, known)),
  }
}

function wordsOr(words: readonly string[] | undefined): Values | undefined {
  return words && { kind: 'words', words }
}

/** By the name of the placeholder. An ID is a device's in the commands of devices, but for the one that adds it. */
function valuesOf(placeholder: string, name: string, known: Readonly<Record<string, readonly string[]>>): Values {
  if (known[placeholder]) return { kind: 'words', words: known[placeholder] }
  if (/^FILE(\.deb)?$|^PORT$/.test(placeholder)) return { kind: 'files' }
  if (placeholder === 'DIR') return { kind: 'folders' }
  const isOfDevice = placeholder === 'ID' && /^(devices|stop)\b/.test(name) && name !== 'devices add'
  return { kind: placeholder === 'DEVICE' || isOfDevice ? 'devices' : 'nothing' }
}

/** What is to be done in which cases, the cases of the same thing together. An option that is the same everywhere is said once. */
export function casesOf(commands: readonly Named[], doing: (values: Values) => string): { pattern: string; action: string }[] {
  const byAction = new Map<string, Set<string>>()
  const add = (action: string, pattern: string) => byAction.set(action, (byAction.get(action) ?? new Set()).add(pattern))
  const everywhere = new Map<string, Set<string>>()
  const each = commands.flatMap(({ name, options }) => options.map((option) => ({ ...option, of: name })))
  for (const { name, values } of each) if (values) everywhere.set(name, (everywhere.get(name) ?? new Set()).add(doing(values)))
  for (const { name, values, of } of each) {
    if (values) add(doing(values), everywhere.get(name)?.size === 1 ? `*' ${name}'` : `'${of} ${name}'`)
  }
  for (const { name, operands } of commands) for (const [i, values] of operands.entries()) add(doing(values), `'${name} ${i + 1}'`)
  return [...byAction].map(([action, patterns]) => ({ pattern: [...patterns].join('|'), action }))
}

/** The options that are followed by a value, of whichever command. */
export function valued(commands: readonly Named[]): string[] {
  return [...new Set(commands.flatMap(({ options }) => options.filter(({ values }) => values).map(({ name }) => name)))]
}

/** Between single quotes in any of the three shells. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", '’')}'`
}

/** The ids of the devices, from whichever service answers soon. */
export const devices = `benchd devices list --timeout 2 2>/dev/null | sed '1d; s/ .*//'`
