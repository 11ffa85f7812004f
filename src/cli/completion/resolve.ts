// Finds the completions of a command line, for the scripts of all shells: `benchd completion --resolve WORD…`.

import { ask, serviceOf } from '../client.ts'
import { type Command, type Option, optionsOf } from '../command.ts'
import { commandsOf, table } from '../commands.ts'
import { shells } from './shells.ts'

/** A possible word, with its meaning. */
type Offer = { word: string; summary?: string }

/** The possible words; or `:files` or `:folders`, which the shell completes by itself. */
type Offered = readonly Offer[] | ':files' | ':folders'

const helpOption: Option = { type: 'boolean', help: 'Say more' }
const timeout_s = '2'

/** Returns the answer to a script: one line for each word, with its meaning after a tab. */
export async function resolved(words: readonly string[]): Promise<string> {
  const offered = await offeredAt(words)
  if (typeof offered === 'string') return `${offered}\n`
  return offered.map(({ word, summary }) => `${word}${summary === undefined ? '' : `\t${summary}`}\n`).join('')
}

/** `words` follow `benchd`; the last one is being typed, and may be empty. */
async function offeredAt(words: readonly string[]): Promise<Offered> {
  const [first = '', second = ''] = words
  if (words.length <= 1) return firstWords()
  if (first === 'help') return words.length === 2 ? [...(await firstWords()), { word: 'exit-codes' }] : []
  const commands = await commandsOf(first)
  const named = (name: string) => commands.find((command) => namesOf(command).includes(name))
  const two = words.length > 2 ? named(`${first} ${second}`) : undefined
  const command = two ?? named(first)
  const typed = words.slice(two ? 2 : 1)
  const current = typed.at(-1) ?? ''
  const option = optionBefore(typed, command)
  if (option) return valuesOf(option, command!)
  if (current.startsWith('-')) return command ? Object.entries(allOptions(command)).map(([name, { help }]) => offer(`--${name}`, help)) : []
  const seconds = words.length === 2 ? secondWords(first, commands) : []
  if (seconds.length || !command) return seconds
  const operand = command.operands[operandsIn(typed.slice(0, -1), command)]
  return operand === undefined ? [] : valuesOf({ value: operand.replace(/^\[|\]$/g, '') }, command)
}

async function firstWords(): Promise<Offer[]> {
  const commands = (await table()).flatMap((section) => section.commands)
  const offers = new Map<string, Offer>()
  for (const { name, summary } of commands) {
    const [first = '', second] = name.split(' ')
    if (!offers.has(first)) offers.set(first, offer(first, second ? `${first} …` : summary))
  }
  return [...offers.values(), offer('help', helpOption.help)]
}

function secondWords(first: string, commands: readonly Command[]): Offer[] {
  const pairs = commands.flatMap((command) => namesOf(command).map((name) => [name.split(' '), command.summary] as const))
  return pairs.flatMap(([[word, second], summary]) => (word === first && second ? offer(second, summary) : []))
}

/** Returns the option whose value is being typed: `--mode PU`, `--mode=PU`. */
function optionBefore(typed: readonly string[], command: Command | undefined): Option | undefined {
  if (!command) return undefined
  const [current = '', before = ''] = [typed.at(-1), typed.at(-2)]
  const name = /^--[^=]+(?==)/.exec(current)?.[0] ?? (current.startsWith('-') ? '' : before)
  const option = allOptions(command)[name.slice(2)]
  return name.startsWith('--') && option?.type === 'string' ? option : undefined
}

/** Counts the words that are neither options nor their values. */
function operandsIn(typed: readonly string[], command: Command): number {
  return typed.filter((word, i) => !word.startsWith('-') && !optionBefore(typed.slice(0, i + 1), command)).length
}

/** Returns the values of an option, or of an operand, by the name of its placeholder. */
async function valuesOf({ one_of, value = '' }: Pick<Option, 'one_of' | 'value'>, { name }: Command): Promise<Offered> {
  if (one_of) return one_of.map((word) => offer(word))
  if (/^FILE(\.deb)?$|^PORT$/.test(value)) return ':files'
  if (value === 'DIR') return ':folders'
  // In the commands of devices, ID is a device, except in `devices add`.
  if (value === 'DEVICE' || (value === 'ID' && /^(devices|stop)\b/.test(name) && name !== 'devices add')) return deviceIds()
  return ((await known[value]?.()) ?? []).map((word) => offer(word))
}

const known: Record<string, () => readonly string[] | Promise<readonly string[]>> = {
  DRIVER: async () => [...(await import('../../../drivers/index.ts')).driverNames, 'external'],
  DECISION: async () => (await import('../../workflow/threads/recovery.ts')).decisions,
  SHELL: () => shells,
}

/** Returns the ids of the devices, if a service answers in time. */
async function deviceIds(): Promise<Offer[]> {
  const asked = ask<{ devices: { device_id: string; name: string }[] }>(serviceOf({ timeout: timeout_s }), 'GET', '/api/devices')
  const { devices } = await asked.catch(() => ({ devices: [] }))
  return devices.map(({ device_id, name }) => offer(device_id, name))
}

function allOptions(command: Command): Record<string, Option> {
  return { ...optionsOf(command), help: helpOption }
}

function namesOf({ name, aliases = [] }: Command): string[] {
  return [name, ...aliases]
}

function offer(word: string, summary?: string): Offer {
  return summary === undefined ? { word } : { word, summary }
}
