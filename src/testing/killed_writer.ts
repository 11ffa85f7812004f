// For tests: a process that writes and says what was acknowledged, and is killed in the midst of it.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** `lines`: the kill comes after so many lines of its output, and so many `turns` of the event loop. */
type When = { lines: number; turns: number }

/** Returns what the process had said when it was dead. Rejects if it ended by itself. */
export async function killedAfter(program: URL, args: readonly string[], when: When): Promise<string[]> {
  const child = spawn(process.execPath, [fileURLToPath(program), ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'close')
  const lines: string[] = []
  const kill = async () => {
    for (let turn = 0; turn < when.turns; turn++) await new Promise(setImmediate)
    child.kill('SIGKILL')
  }
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (lines.push(line) === when.lines) void kill()
  })
  const [code, signal] = await ended
  if (signal !== 'SIGKILL') throw new Error(`the writer ended by itself with ${code ?? signal}`)
  return lines
}
