// How Node finds and reads the modules that `modules.ts` loads. Runs beside it, or in a thread of its own where Node wants that.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

/** The part of the type of Node's hooks that is used here; the answers may be promises there. */
type Next<Context> = (what: string, context: Context) => unknown
type Resolving = { parentURL?: string | undefined }

/** Marks the address of each of these modules with the loading to which it belongs; its imports belong to the same. */
export const mark = 'loaded'

/** False where Node has it and does not use it unasked. */
const readsTypeScript = Boolean((process.features as { typescript?: unknown }).typescript)

let names: Readonly<Record<string, string>> = {}

/** `given`: what they may import by a name, and its address. */
export function initialize(given: Readonly<Record<string, string>>): void {
  names = given
}

export function resolve(specifier: string, context: Resolving, next: Next<Resolving>): unknown {
  const loading = context.parentURL === undefined ? null : new URL(context.parentURL).searchParams.get(mark)
  if (loading === null) return next(specifier, context)
  if (Object.hasOwn(names, specifier)) return next(names[specifier]!, context)
  if (!/^\.\.?\//.test(specifier)) return next(specifier, context)
  const url = new URL(specifier, context.parentURL)
  url.searchParams.set(mark, loading)
  return next(url.href, context)
}

export function load(address: string, context: object, next: Next<object>): unknown {
  const url = address.startsWith('file:') ? new URL(address) : undefined
  if (!url?.searchParams.has(mark) || !url.pathname.endsWith('.ts')) return next(address, context)
  if (readsTypeScript) return next(address, { ...context, format: 'module-typescript' })
  return { format: 'module', source: withoutTypes(fileURLToPath(url)), shortCircuit: true }
}

type Amaro = { transformSync(source: string, options: { mode: 'strip-only' }): { code: string } }

/** With the stripper that newer Nodes have built in. Blanks stand where types were, so that lines and columns stay true. */
function withoutTypes(path: string): string {
  const { transformSync } = stripper()
  try {
    return transformSync(readFileSync(path, 'utf8'), { mode: 'strip-only' }).code
  } catch (error) {
    // Amaro throws a text: the error, and the line with a mark under it.
    throw typeof error === 'string' ? new SyntaxError(error.trim()) : error
  }
}

function stripper(): Amaro {
  try {
    return createRequire(import.meta.url)('amaro')
  } catch (error) {
    throw new Error('this Node reads no TypeScript; install the optional package amaro, or take Node 22.18', { cause: error })
  }
}
