// Loads user modules in TypeScript or JavaScript on every Node, anew each time, with their relative imports.

import { createHash } from 'node:crypto'
import { readFile, realpath } from 'node:fs/promises'
import * as nodeModule from 'node:module'
import { dirname, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { LabError, messageOf } from '../errors.ts'
import * as hooks from './module_hooks.ts'

/** The modules of the service that user modules import by name, with their URLs. All are given to the hooks at once, because a hook thread takes no more later. */
const names: Readonly<Record<string, string>> = {
  'benchd/workflow': new URL('../workflow/plans/author.js', import.meta.url).href,
  'benchd/plugin': new URL('../plugins/author.js', import.meta.url).href,
  'benchd/driver': new URL('../../drivers/module.js', import.meta.url).href,
  'benchd/driver-test': new URL('../conformance/module.js', import.meta.url).href,
}

let loadings = 0
let areHooked = false

/**
 * Runs the file and returns its default export, undefined if it has none. Throws `invalid`. Loaded modules stay in memory, so do not call it in a loop.
 */
export async function loadModule(path: string): Promise<unknown> {
  return (await loadExports(path)).default
}

/** Runs the file as `loadModule` does, and returns all that it exports, by name. */
export async function loadExports(path: string): Promise<Readonly<Record<string, unknown>>> {
  if (!areHooked) hook()
  areHooked = true
  const url = pathToFileURL(path)
  url.searchParams.set(hooks.mark, String(++loadings))
  try {
    return (await import(url.href)) as Record<string, unknown>
  } catch (error) {
    throw new LabError('invalid', `${path} cannot be loaded: ${messageOf(error)}`, { cause: error })
  }
}

/** The most files of one module that are hashed. */
const mostImported = 200
const relativeImport = /\b(?:from|import)\s*\(?\s*['"](\.{1,2}\/[^'"\n]+)['"]/g

/** Resolves with the paths of the files that a module imports by relative paths, directly or through others; links are followed. */
export async function importedPaths(path: string): Promise<string[]> {
  const real = await realpath(path)
  return Object.keys(await importedFiles(real)).map((imported) => join(dirname(real), imported))
}

/** Returns the SHA-256 of the files that a module imports by relative paths, directly or through others; keyed by their paths beside the module. */
export async function importedFiles(path: string): Promise<Record<string, string>> {
  const hashes = new Map<string, string>()
  const waiting = [path]
  for (let next = waiting.pop(); next !== undefined && hashes.size < mostImported; next = waiting.pop()) {
    const file = next
    const bytes = await readFile(file).catch(() => undefined)
    if (!bytes) continue
    hashes.set(file, createHash('sha256').update(bytes).digest('hex'))
    const imported = [...bytes.toString().matchAll(relativeImport)].map(([, specifier]) => join(dirname(file), specifier!))
    waiting.push(...imported.filter((one) => !hashes.has(one)))
  }
  hashes.delete(path)
  return Object.fromEntries([...hashes].map(([file, sha256]) => [relative(dirname(path), file), sha256]).sort())
}

/** Registers the hooks: since Node 22.15 in this thread, by `registerHooks`. */
function hook(): void {
  if ('registerHooks' in nodeModule) {
    hooks.initialize(names)
    const { registerHooks } = nodeModule as unknown as { registerHooks(given: object): void }
    registerHooks({ resolve: hooks.resolve, load: hooks.load })
  } else {
    nodeModule.register('./module_hooks.js', import.meta.url, { data: names })
  }
}
