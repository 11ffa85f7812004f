// Waiting for what the kernel or another process does, where nothing tells when it is done.

import { setTimeout as pause } from 'node:timers/promises'

/**
 * Resolves with the milliseconds that it took until `holds`; rejects, with `what`, after `within_ms`. It looks again after an eighth of the time
 * that it has waited, but within `longest_ms`: a guest that only waits costs its host nothing, and what it waits for goes on sooner.
 */
export async function until(what: string, holds: () => unknown, within_ms = 20_000, longest_ms = 250): Promise<number> {
  const from = performance.now()
  while (!(await holds())) {
    const waited_ms = performance.now() - from
    if (waited_ms > within_ms) throw new Error(`not within ${within_ms} ms: ${what}`)
    await pause(Math.min(longest_ms, 10 + waited_ms / 8))
  }
  return performance.now() - from
}
