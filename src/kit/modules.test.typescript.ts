// Whether tests of workflows in TypeScript can run here.

import { createRequire } from 'node:module'

/** For `skip` of a test: false where this Node strips types, or the optional package amaro does it; else the reason. */
export const noTypeScript: string | false = hasStripper() ? false : 'this Node strips no types, and the optional package amaro is not there'

function hasStripper(): boolean {
  if ((process.features as { typescript?: unknown }).typescript) return true
  try {
    createRequire(import.meta.url).resolve('amaro')
    return true
  } catch {
    return false
  }
}
