// Remembers on whose behalf code runs, across timers and promises, so that an error which nobody caught finds the plug-in or driver that it comes from.

import { AsyncLocalStorage } from 'node:async_hooks'
import { fileURLToPath } from 'node:url'
import { LabError } from '../errors.ts'

/** A part of the service whose code is not ours. `fault` takes note of an error that nobody caught. */
export type Owner = {
  fault(error: unknown): void
  /** The name of the driver while its module is loaded, and of what the module has begun. */
  readonly driver?: string
}

/** Costs nothing before its first use. */
const owners = new AsyncLocalStorage<Owner>()

/** Calls the function; what it starts runs on behalf of the owner too. */
export function onBehalfOf<Value>(owner: Owner, call: () => Value): Value {
  return owners.run(owner, call)
}

/** Calls the function on nobody's behalf. */
export function onOurOwn<Value>(call: () => Value): Value {
  return owners.exit(call)
}

/**
 * Returns the owner of the code that threw, for the handler of errors that nobody caught. Undefined for an error whose stack is in code of the service, which is a
 * fault of ours, unless it is a `LabError`: then somebody has forgotten to wait for a promise.
 */
export function ownerBlamed(error: unknown): Owner | undefined {
  const owner = owners.getStore()
  return owner && (error instanceof LabError || !isOurs(error)) ? owner : undefined
}

/** The folder of the package. */
const ours = fileURLToPath(import.meta.url).replace(/\/dist\/.*$/s, '/')

/** Whether the stack of an error names a file of the service. Files with a mark are those that `modules.ts` has loaded. */
function isOurs(error: unknown): boolean {
  const stack = error instanceof Error ? String(error.stack ?? '') : ''
  const lines = stack.split('\n').filter((line) => /^ +at /.test(line))
  return lines.some((line) => line.includes(ours) && !line.includes('?loaded='))
}
