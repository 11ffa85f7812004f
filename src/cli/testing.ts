// `benchd` as a shell runs it: a process of its own, in a home that is empty.

import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'

const program = fileURLToPath(new URL('main.js', import.meta.url))

export type Outcome = { code: number | null; signal: string | null; stdout: string; stderr: string }

export type Running = {
  child: ChildProcessByStdio<null, Readable, Readable>
  /** The first line on stdout that matches; what the pattern's first group matched, else all. Rejects when there is none. */
  line(pattern: RegExp): Promise<string>
  ended: Promise<{ code: number | null; signal: string | null; stderr: string }>
}

/** Runs it to its end. */
export async function benchd(home: string, args: readonly string[], env: Record<string, string> = {}): Promise<Outcome> {
  const child = started(home, args, env)
  const [[code, signal], stdout, stderr] = await Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)])
  return { code, signal, stdout, stderr }
}

/** Starts it; it is killed at the end of the test. */
export function running(t: Test, home: string, args: readonly string[], env: Record<string, string> = {}): Running {
  const child = started(home, args, env)
  const closed = once(child, 'close')
  const said = text(child.stderr)
  t.teardown(() => child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    child,
    async line(pattern) {
      for (let next = await lines.next(); !next.done; next = await lines.next()) {
        const found = pattern.exec(next.value)
        if (found) return found[1] ?? found[0]
      }
      throw new Error(`it ended without a line like ${pattern}: ${await said}`)
    },
    ended: closed.then(async ([code, signal]) => ({ code, signal, stderr: await said })),
  }
}

function started(home: string, args: readonly string[], env: Record<string, string>) {
  const { PATH = '' } = process.env
  return spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'pipe'], env: { PATH, HOME: home, ...env } })
}
