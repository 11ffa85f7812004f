// Words why a package with native code does not load.

import { messageOf } from '../errors.ts'

/** Returns the reason in one sentence; the package `bindings` would list the thirteen paths that it tried. */
export function whyNotLoaded(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException
  const said = messageOf(error)
  const here = `Node ${process.version} on ${process.platform} ${process.arch}`
  if (said.startsWith('Could not locate the bindings file')) return `it was not built for ${here}`
  if (said.includes('NODE_MODULE_VERSION') || said.includes('different Node.js version'))
    return `it was built for another version of Node than ${process.version}`
  if (code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND') return 'it is not installed'
  return said.split('\n')[0] ?? ''
}
