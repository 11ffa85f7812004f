// Loads user modules in TypeScript or JavaScript on every Node, anew each time, with their relative imports.

import * as nodeModule from 'node:module'
import { pathToFileURL } from 'node:url'
import { LabError, messageOf } from '../errors.ts'
import * as hooks from './module_hooks.ts'

let loadings = 0
let areHooked = false

/**
 * Runs the file and returns its default export, undefined if it has none. `names` are the packages that it may import, with their
 * URLs; those of the first call are used. Throws `invalid`. Loaded modules stay in memory, so do not call it in a loop.
 */
export async function loadModule(path: string, names: Readonly<Record<string, string>>): Promise<unknown> {
  if (!areHooked) hook(names)
  areHooked = true
  const url = pathToFileURL(path)
  url.searchParams.set(hooks.mark, String(++loadings))
  try {
    return ((await import(url.href)) as { default?: unknown }).default
  } catch (error) {
    throw new LabError('invalid', `${path} cannot be loaded: ${messageOf(error)}`, { cause: error })
  }
}

/** Registers the hooks: since Node 22.15 in this thread, by `registerHooks`. */
function hook(names: Readonly<Record<string, string>>): void {
  if ('registerHooks' in nodeModule) {
    hooks.initialize(names)
    const { registerHooks } = nodeModule as unknown as { registerHooks(given: object): void }
    registerHooks({ resolve: hooks.resolve, load: hooks.load })
  } else {
    nodeModule.register('./module_hooks.js', import.meta.url, { data: names })
  }
}
