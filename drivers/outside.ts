// Finds and loads drivers by the names in a configuration: those of the catalogue, and those of the lab's own, which lie beside the configuration as a folder
// `drivers/NAME` or as an installed package `benchd-driver-NAME`. Nothing is loaded that no configuration names.

import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import * as v from 'valibot'
import { LabError, messageOf } from '../src/errors.ts'
import { onBehalfOf, ownerBlamed } from '../src/kit/blame.ts'
import { statOf } from '../src/kit/disk.ts'
import { stampOf } from '../src/kit/durable.ts'
import { namesIn, readText } from '../src/kit/files.ts'
import { isFile } from '../src/kit/folder.ts'
import { parseJson } from '../src/kit/json.ts'
import { loadExports } from '../src/kit/modules.ts'
import { treeOf } from '../src/kit/tree.ts'
import { mustBeTrusted } from '../src/kit/trusted_folder.ts'
import { type AnyDriver, isOnPins, type LineDriver } from './driver.ts'
import { mustBeProfile } from './guarded_device.ts'
import { type DriverName, drivers } from './index.ts'
import { mustBeType, ownOf } from './own_operations.ts'
import type { Simulate, Simulator } from './transports/simulator.ts'

/** The place of a driver of the lab's own. */
export type Place = { source: 'folder' | 'package'; path: string }
/** A driver, or the reason why it could not be loaded. `stamp` changes with its files. */
export type OutsideDriver = Place & { name: string; version: string | null; stamp: string } & ({ driver: AnyDriver } | { why: string })

/** The names that folders and packages may have. */
const nameForm = /^[a-z][a-z0-9_-]{0,62}$/
const prefix = 'benchd-driver-'
const entries = ['driver.ts', 'driver.js', 'driver.mjs']
/** Larger folders are no drivers. */
const mostFiles = 1000
/** The longest time to load one, for a module that awaits something at its top. */
const load_ms = 10_000

/** The last state of each, so that code is run anew only when its files have changed. */
const loaded = new Map<string, OutsideDriver>()

/** Returns the place of a driver of the lab's own. A folder comes before a package; undefined where there is none. `folder` is that of the configuration. */
export function placeOf(name: string, folder: string | undefined): Place | undefined {
  if (folder === undefined || !nameForm.test(name)) return undefined
  const [path, installed] = [join(folder, 'drivers', name), join(folder, 'drivers', 'node_modules', prefix + name)]
  if (entries.some((entry) => isFile(join(path, entry)))) return { source: 'folder', path }
  return isFile(join(installed, 'package.json')) ? { source: 'package', path: installed } : undefined
}

/** Lists the names of the drivers beside a configuration, without loading them. */
export async function outsideNames(folder: string): Promise<string[]> {
  const [folders, packages] = await Promise.all([namesIn(join(folder, 'drivers')), namesIn(join(folder, 'drivers', 'node_modules'))])
  const installed = packages.flatMap((name) => (name.startsWith(prefix) ? [name.slice(prefix.length)] : []))
  return [...new Set([...folders, ...installed])].filter((name) => placeOf(name, folder)).sort()
}

/** Returns a driver of the catalogue; undefined for another name. */
export async function shippedDriver(name: string): Promise<AnyDriver | undefined> {
  return Object.hasOwn(drivers, name) ? drivers[name as DriverName]() : undefined
}

/** Loads a driver of the lab's own, unless it is loaded and its files are the same. Never rejects. */
export async function outsideDriver(name: string, place: Place): Promise<OutsideDriver> {
  const its = { ...place, name, version: null, stamp: '' }
  try {
    const stamp = await checkedStamp(place.path)
    const known = loaded.get(place.path)
    if (known?.stamp === stamp) return known
    const found = { ...its, stamp, ...(await attempted({ ...place, name })) }
    loaded.set(place.path, found)
    return found
  } catch (error) {
    return { ...its, why: messageOf(error) }
  }
}

/** Loads the driver in a folder that somebody names, whatever its name. */
export function driverIn(path: string): Promise<OutsideDriver> {
  const name = path.replace(/\/+$/, '').split('/').at(-1)!.replace(prefix, '')
  const source = entries.some((entry) => isFile(join(path, entry))) ? ('folder' as const) : ('package' as const)
  return outsideDriver(name, { source, path })
}

/** Returns the name of the driver whose code is on the stack of an error; undefined if it is none of the lab's own. */
export function driverBlamed(error: unknown): string | undefined {
  for (const { path, name } of loaded.values()) if (isIn(path, error)) return name
  for (const [path, name] of loading) if (isIn(path, error)) return name
  return undefined
}

type Attempt = { version: string | null } & ({ driver: AnyDriver } | { why: string })

/** The drivers that are being loaded, by their paths. */
const loading = new Map<string, string>()

/** Rejects with an error that the module throws where nobody waits for it, as in a promise of its own. */
async function watched<Value>({ name, path }: Place & { name: string }, work: () => Promise<Value>): Promise<Value> {
  let fail: (error: unknown) => void = () => {}
  const stray = new Promise<never>((_, reject) => {
    fail = reject
  })
  const owner = { fault: fail, driver: name }
  const heard = (error: unknown) => {
    if (ownerBlamed(error) === owner || isIn(path, error)) return fail(error)
    if (process.listenerCount('uncaughtException') > 1) return
    process.stderr.write(`${error instanceof Error ? error.stack : messageOf(error)}\n`)
    process.exit(1)
  }
  loading.set(path, name)
  process.on('uncaughtException', heard)
  try {
    // Node reports a rejected promise after the turn in which the promise was rejected.
    const done = onBehalfOf(owner, work).then((value) => new Promise<Value>((resolve) => setImmediate(() => resolve(value))))
    return await Promise.race([done, stray])
  } finally {
    process.off('uncaughtException', heard)
    loading.delete(path)
    stray.catch(() => undefined)
  }
}

/** Whether code of the folder is on the stack of an error. */
function isIn(path: string, error: unknown): boolean {
  const stack = error instanceof Error ? String(error.stack ?? '') : ''
  return stack
    .split('\n')
    .slice(1)
    .some((line) => line.includes(`${pathToFileURL(path).href}/`))
}

async function attempted(place: Place & { name: string }): Promise<Attempt> {
  const manifest = await manifestOf(place.path)
  const version = manifest?.version ?? null
  try {
    return { version, driver: await watched(place, () => load(place, entryOf(place, manifest))) }
  } catch (error) {
    return { version, why: messageOf(error) }
  }
}

async function load({ path }: Place, entry: string): Promise<AnyDriver> {
  ;(globalThis as Record<symbol, unknown>)[Symbol.for('benchd/driver')] ??= await import('./author.ts')
  const { driver = undefined, default: usual } = await inTime(loadExports(join(path, entry)), entry)
  const found = driver ?? usual
  if (typeof found !== 'object' || found === null)
    throw new LabError('invalid', `${entry} exports no driver: export const driver = serialDriver({…})`)
  return checkedDriver(found as AnyDriver, entry)
}

/** The members without which a record is no driver. */
const needed = {
  about: 'object',
  settings: 'object',
  typical: 'object',
  profile: 'function',
  open: 'function',
  simulate: 'function',
} as const

/** Throws `invalid`, naming the member, for a record that is no driver. */
function checkedDriver(driver: AnyDriver, entry: string): AnyDriver {
  const its = driver as unknown as Record<string, unknown>
  for (const [name, type] of Object.entries(needed)) {
    const is = typeof its[name] === type || (name === 'settings' && typeof its[name] === 'function')
    if (!is || its[name] === null) throw new LabError('invalid', `${entry}: the driver has no ${name}, or it is no ${type}`)
  }
  mustBeType(driver.type)
  if (typeof driver.about.instrument !== 'string')
    throw new LabError('invalid', `${entry}: about.instrument names the maker and the instrument`)
  if (isOnPins(driver))
    throw new LabError('invalid', `${entry}: it hangs on pins; only drivers of instruments on a line can be outside of benchd`)
  if (!driver.serial && !driver.tcp) throw new LabError('invalid', `${entry}: the driver has neither serial nor tcp`)
  const usual = v.safeParse(driver.settings, {})
  if (!usual.success) throw new LabError('invalid', `${entry}: its settings must all have defaults: ${usual.issues[0].message}`)
  ownOf(driver, usual.output)
  const profile = (settings: unknown) => mustBeProfile(driver.profile(settings))
  profile(usual.output)
  const simulate: Simulate<unknown> = (at) => {
    const made = (driver as LineDriver).simulate(at) as Simulator | undefined
    if (typeof made?.receive === 'function' && typeof made.powerOff === 'function') return made
    throw new LabError('invalid', `${entry}: its simulate returned no simulator, which has receive(bytes) and powerOff()`)
  }
  return { ...driver, profile, simulate } as AnyDriver
}

type Manifest = { version?: string; main?: string; exports?: unknown }

async function manifestOf(path: string): Promise<Manifest | undefined> {
  const file = join(path, 'package.json')
  if (!isFile(file)) return undefined
  const manifest = parseJson(await readText(file), file) as Manifest
  return typeof manifest === 'object' && manifest !== null ? manifest : undefined
}

/** Returns the path of the file to load, below the folder. */
function entryOf({ source, path }: Place, manifest: Manifest | undefined): string {
  const entry =
    source === 'folder' ? entries.find((name) => isFile(join(path, name))) : (exported(manifest?.exports) ?? manifest?.main ?? 'index.js')
  if (entry === undefined || !isFile(join(path, entry))) throw new LabError('not_found', `${path} has no ${entry ?? entries.join(' or ')}`)
  if (source === 'package' && entry.endsWith('.ts'))
    throw new LabError(
      'invalid',
      `${path}: a package holds JavaScript, for Node reads no TypeScript in node_modules; build it before it is published`,
    )
  return entry
}

/** Returns the file of the main entry of `exports`. */
function exported(exports: unknown): string | undefined {
  if (typeof exports === 'string') return exports
  if (typeof exports !== 'object' || exports === null) return undefined
  const { '.': main, import: imported, default: usual } = exports as Record<string, unknown>
  return exported(main ?? imported ?? usual)
}

/** Returns a stamp of the files of a folder. Throws `config` if others than root and the user of this process could change one of them. */
async function checkedStamp(path: string): Promise<string> {
  const { files, others } = await treeOf(path, (name) => !/(^|\/)(node_modules|\.git|trials)\/$/.test(name))
  if (files.length > mostFiles) throw new LabError('invalid', `${path} has more than ${mostFiles} files, which is no driver`)
  await mustBeTrusted(path)
  const hash = createHash('sha256')
  for (const name of [...files.map((file) => file.name), ...others]) {
    const file = join(path, name)
    await mustBeTrusted(file)
    hash.update(`${name} ${stampOf(await statOf(file))}\n`)
  }
  return hash.digest('hex').slice(0, 16)
}

/** Rejects when a module is not loaded in time. */
function inTime<Value>(work: Promise<Value>, entry: string): Promise<Value> {
  let timer: NodeJS.Timeout
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new LabError('invalid', `${entry} was not loaded within ${load_ms / 1000} s; see what it awaits at its top`)),
      load_ms,
    )
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}
