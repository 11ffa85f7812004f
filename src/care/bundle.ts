// A bundle for a support mail: what helps to understand a bench from afar, in one archive, with a page that says what is in it. No secret
// is: keys, their hashes and passwords are taken out of every text that goes in.

import { type Part, pack, packedBytes } from '../kit/archive.ts'
import { indented, parseJsonWithComments } from '../kit/json.ts'

/** A file of the bundle. */
export type BundleFile = {
  name: string
  /** For people. */
  what: string
  text: string
}

export type Bundle = {
  pieces: readonly BundleFile[]
  /** The parts that could not be had, each with the reason. */
  missing: readonly { name: string; why: string }[]
}

const hidden = '(taken out)'
const secretNames = /key|secret|token|passw|credential|auth/i

/** Packs it. Rejects with `storage`; then there is no such file. */
export function writeBundle(path: string, bundle: Bundle, at: Date): Promise<void> {
  return pack(path, partsOf(bundle, at))
}

export function bundleName(at: Date): string {
  return `benchd-bundle-${at.toISOString().replace(/[-:]|\.\d+/g, '')}.tar.gz`
}

/** Packs it in memory: a full disk is one of the reasons to want it. */
export function packedBundle(bundle: Bundle, at: Date): Promise<Uint8Array> {
  return packedBytes(partsOf(bundle, at))
}

function partsOf({ pieces, missing }: Bundle, at: Date): Part[] {
  const clean = pieces.map(({ text, ...its }) => ({ ...its, text: withoutSecrets(text) }))
  const readme = { name: 'README.txt', text: withoutSecrets(contentsOf({ pieces: clean, missing }, at)) }
  return [readme, ...clean.map(({ name, text }) => ({ name, text }))]
}

/** The page at the front. */
export function contentsOf({ pieces, missing }: Bundle, at: Date): string {
  const width = Math.max(0, ...[...pieces, ...missing].map(({ name }) => name.length)) + 2
  return [
    `This benchd wrote this report on ${at.toISOString()}, for the people who are asked for help.`,
    'API keys, their hashes and whatever else is named like a secret were taken out.',
    '',
    ...pieces.map(({ name, what, text }) => `${name.padEnd(width)}${what}, ${Buffer.byteLength(text)} bytes`),
    ...(missing.length ? ['', 'Left out:'] : []),
    ...missing.map(({ name, why }) => `${name.padEnd(width)}${why}`),
    '',
  ].join('\n')
}

/** A configuration without its comments, and without what its names call a secret. Throws `invalid` for what is no JSON. */
export function configWithoutSecrets(text: string, origin: string): string {
  return indented(hiddenSecrets(parseJsonWithComments(text, origin)))
}

/** A value as JSON has it, without what its names call a secret. */
export function hiddenSecrets(config: unknown): unknown {
  const hide = (name: string, value: unknown) => {
    if (secretNames.test(name) && typeof value !== 'object') return hidden
    return Object.hasOwn(hiders, name) ? hiders[name]?.(value) : value
  }
  return JSON.parse(JSON.stringify(config, hide))
}

/** Keyed by the names of members of a configuration, whose values hold secrets under no such name. */
const hiders: Record<string, (value: unknown) => unknown> = { notify: withoutAddresses, command: withoutArguments }

/** The arguments of a bridge's program can be tokens and passwords. */
function withoutArguments(command: unknown): unknown {
  return Array.isArray(command) && command.length > 1 ? [command[0], hidden] : command
}

/** The path of a webhook's address and its headers are what lets one write there. */
function withoutAddresses(notify: unknown): unknown {
  if (!Array.isArray(notify)) return hidden
  return notify.map(({ on, format, every_s }) => ({ url: hidden, on, format, headers: hidden, every_s }))
}

const secrets: readonly (readonly [RegExp, string])[] = [
  [/(bk_[a-z0-9]{8}_)[A-Za-z0-9_-]+/gi, `$1${hidden}`],
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|$)/g, hidden],
  [/(\\?"(?:sha256|api_key|request_secret)\\?"\s*:\s*\\?")[^"\\]*/g, `$1${hidden}`],
  [/(x-(?:api-key|request-secret)\s*[:=]\s*)[^\s"',;]+/gi, `$1${hidden}`],
  [/(\/\/)[^\s/@"]+:[^\s/@"]+@/g, `$1${hidden}@`],
]

/** The text without keys of ours, their hashes, private keys, and passwords in addresses. */
export function withoutSecrets(text: string): string {
  return secrets.reduce((clean, [pattern, instead]) => clean.replace(pattern, instead), text)
}
