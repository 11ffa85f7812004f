// Runs programs of the system; undefined if a program is missing or prints nothing.

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)
const patience_ms = 5000

/** Reads the properties that `systemctl show` or `timedatectl show` prints. */
export async function properties(program: string, args: readonly string[]): Promise<Record<string, string> | undefined> {
  const said = await run(program, [...args], { timeout: patience_ms }).then(
    ({ stdout }) => stdout,
    () => undefined,
  )
  const lines = said?.split('\n').filter((line) => line.includes('=')) ?? []
  return lines.length
    ? Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]))
    : undefined
}
