// Waiting for what the kernel or another process does, where nothing tells when it is done.

import { setTimeout as pause } from 'node:timers/promises'

/**
 * Resolves with the milliseconds that it took until `holds`; rejects, with `what`, after `within_ms`. It looks again after an eighth of the time
 * that it has waited, but within `longest_ms`: a guest that only waits costs its host nothing, and what it waits for goes on sooner. For the same
 * reason it pauses three times as long as a look takes, which may be that of a program that it starts.
 */
export async function until(what: string, holds: () => unknown, within_ms = 20_000, longest_ms = 250): Promise<number> {
  const from = performance.now()
  for (;;) {
    const looks_at = performance.now()
    if (await holds()) return performance.now() - from
    const now = performance.now()
    const waited_ms = now - from
    if (waited_ms > within_ms) throw new Error(`not within ${within_ms} ms: ${what}`)
    await pause(Math.max(Math.min(longest_ms, 10 + waited_ms / 8), 3 * (now - looks_at)))
  }
}
