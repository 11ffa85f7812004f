// Waiting for what the kernel or another process does, where nothing tells when it is done.

import { setTimeout as pause } from 'node:timers/promises'

/** Resolves with the milliseconds that it took until `holds`; rejects, with `what`, after `within_ms`. */
export async function until(what: string, holds: () => unknown, within_ms = 20_000): Promise<number> {
  const from = performance.now()
  while (!(await holds())) {
    if (performance.now() - from > within_ms) throw new Error(`not within ${within_ms} ms: ${what}`)
    await pause(10)
  }
  return performance.now() - from
}
