// The hooks with which Node resolves and reads the modules of `modules.ts`. They run in the same thread, or in a hook thread on older Nodes.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

/** The used part of the type of Node's hooks, whose results may be promises. */
type Next<Context> = (what: string, context: Context) => unknown
type Resolving = { parentURL?: string | undefined }

/** Marks the URL of each module with its load, to which its imports belong too. */
export const mark = 'loaded'

/** False if Node supports TypeScript only behind an option. */
const readsTypeScript = Boolean((process.features as { typescript?: unknown }).typescript)

let names: Readonly<Record<string, string>> = {}

/** `given`: the packages that modules may import by name, with their URLs. */
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

/** Strips types with the package that newer Nodes have built in. Types become blanks, so that lines and columns stay right. */
function withoutTypes(path: string): string {
  const { transformSync } = stripper()
  try {
    return transformSync(readFileSync(path, 'utf8'), { mode: 'strip-only' }).code
  } catch (error) {
    // Amaro throws a string with the error and the marked line.
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
