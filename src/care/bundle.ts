// A support bundle: the information that helps to understand a bench remotely, in one archive with a table of contents. It holds no secrets:
// keys, their hashes and passwords are removed from every text.

import { type Part, pack, packedBytes } from '../kit/archive.ts'
import { indented, parseJsonWithComments } from '../kit/json.ts'

/** A file of the bundle. */
export type BundleFile = {
  name: string
  /** The description of the file for people. */
  what: string
  text: string
}

export type Bundle = {
  pieces: readonly BundleFile[]
  /** The parts that are missing, each with the reason. */
  missing: readonly { name: string; why: string }[]
}

const hidden = '(taken out)'
const secretNames = /key|secret|token|passw|credential|auth/i

/** Packs the bundle into a file. Rejects with `storage`, and leaves no file then. */
export function writeBundle(path: string, bundle: Bundle, at: Date): Promise<void> {
  return pack(path, partsOf(bundle, at))
}

export function bundleName(at: Date): string {
  return `benchd-bundle-${at.toISOString().replace(/[-:]|\.\d+/g, '')}.tar.gz`
}

/** Packs the bundle in memory, because the disk may be full. */
export function packedBundle(bundle: Bundle, at: Date): Promise<Uint8Array> {
  return packedBytes(partsOf(bundle, at))
}

function partsOf({ pieces, missing }: Bundle, at: Date): Part[] {
  const clean = pieces.map(({ text, ...its }) => ({ ...its, text: withoutSecrets(text) }))
  const readme = { name: 'README.txt', text: withoutSecrets(contentsOf({ pieces: clean, missing }, at)) }
  return [readme, ...clean.map(({ name, text }) => ({ name, text }))]
}

/** Writes the table of contents. */
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

/** Returns a configuration without comments and without the values of members that are named as secrets. Throws `invalid` for text that is not JSON. */
export function configWithoutSecrets(text: string, origin: string): string {
  return indented(hiddenSecrets(parseJsonWithComments(text, origin)))
}

/** Returns a JSON value without the values of members that are named as secrets. */
export function hiddenSecrets(config: unknown): unknown {
  const hide = (name: string, value: unknown) => {
    if (secretNames.test(name) && typeof value !== 'object') return hidden
    return Object.hasOwn(hiders, name) ? hiders[name]?.(value) : value
  }
  return JSON.parse(JSON.stringify(config, hide))
}

/** Keyed by name of a member that contains secrets under other names: the function that removes them. */
const hiders: Record<string, (value: unknown) => unknown> = {
  ...{ notify: withoutAddresses, cameras: withoutUrls, command: withoutArguments, plugins: withoutSettings },
}

/** Removes the values of the settings of plug-ins, which can be passwords and addresses with tokens. The list of plug-ins of the API has none. */
function withoutSettings(plugins: unknown): unknown {
  if (typeof plugins !== 'object' || plugins === null || Array.isArray(plugins)) return plugins
  const entries = Object.entries(plugins as Record<string, { settings?: object } | null>)
  return Object.fromEntries(
    entries.map(([name, entry]) => {
      const settings = Object.fromEntries(Object.keys(entry?.settings ?? {}).map((setting) => [setting, hidden]))
      return [name, { ...entry, settings }]
    }),
  )
}

/** Removes the arguments of a bridge's program, which can be tokens and passwords. */
function withoutArguments(command: unknown): unknown {
  return Array.isArray(command) && command.length > 1 ? [command[0], hidden] : command
}

/** Removes the addresses of cameras, which can hold passwords and tokens. */
function withoutUrls(cameras: unknown): unknown {
  return Array.isArray(cameras) ? cameras.map((camera: object) => ({ ...camera, url: hidden })) : hidden
}

/** Removes the paths and headers of webhooks, which give access to them. */
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

/** Removes API keys, their hashes, private keys, and passwords in addresses from a text. */
export function withoutSecrets(text: string): string {
  return secrets.reduce((clean, [pattern, instead]) => clean.replace(pattern, instead), text)
}
