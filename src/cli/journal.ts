// Reads the log of the service from systemd's journal with `journalctl`.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { CliError } from './exit.ts'

type JournalWish = { lines: number; errors?: boolean | undefined; follow?: boolean | undefined; unit?: string | undefined }

/** An entry of the journal, with journald's level: 3 and less are errors, 4 warnings. */
type JournalEntry = { at: number; level: number; message: string }

/** Yields the entries of the unit, oldest first. Throws `not_found` without a journal, and `failed` with the message of journalctl. */
export async function* journalOf({ lines, errors, follow, unit = 'benchd' }: JournalWish): AsyncGenerator<JournalEntry> {
  const words = [
    ...['--unit', unit, '--output', 'json', '--output-fields', 'MESSAGE,PRIORITY', '--no-pager', '--lines', String(lines)],
    ...(errors ? ['--priority', 'err'] : []),
    ...(follow ? ['--follow'] : []),
  ]
  const child = spawn('journalctl', words, { stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = once(child, 'close').catch((error) => Promise.reject(noJournal(error)))
  // Awaited below, after its output was read.
  ended.catch(() => undefined)
  const said = text(child.stderr)
  try {
    for await (const line of createInterface({ input: child.stdout })) yield* entryOf(line)
    const [code, signal] = (await ended) as [number | null, NodeJS.Signals | null]
    const complaint = (await said).trim()
    if (/No journal files were (found|opened)/.test(complaint)) throw noJournal(new Error(complaint))
    // Some versions of journalctl exit with 1 and print nothing if there is no entry.
    if (code !== 0 && !(code === 1 && complaint === '')) throw new CliError('failed', endOf({ code, signal, complaint }))
  } finally {
    child.kill()
  }
}

function endOf({ code, signal, complaint }: { code: number | null; signal: string | null; complaint: string }): string {
  const end = code === null ? `journalctl was ended by ${signal}` : `journalctl failed (exit code ${code})`
  return `${end}${complaint ? `: ${complaint}` : ''}; to see more: systemctl status benchd`
}

function noJournal(error: Error): CliError {
  const sentence =
    'there is no journal of systemd here, or you may not read it (sudo, or be in the group adm); where benchd was started by hand, its words are on its own stdout'
  return new CliError('not_found', sentence, { cause: error })
}

function* entryOf(line: string): Generator<JournalEntry> {
  const { MESSAGE, PRIORITY, __REALTIME_TIMESTAMP: us } = parsed(line)
  if (MESSAGE === undefined) return
  // A message that is not UTF-8 is an array of bytes.
  const words = Array.isArray(MESSAGE) ? Buffer.from(MESSAGE as number[]).toString() : String(MESSAGE)
  yield { at: Number(us) / 1e6, level: Number(PRIORITY ?? 6), message: plain(words) }
}

/** Returns the message of a line that the service wrote as JSON; any other line as it is. */
function plain(words: string): string {
  if (!words.startsWith('{')) return words
  const { message, cause } = parsed(words)
  return typeof message === 'string' ? `${message}${cause === undefined ? '' : `\n${cause}`}` : words
}

function parsed(line: string): Record<string, unknown> {
  try {
    return JSON.parse(line) as Record<string, unknown>
  } catch {
    return {}
  }
}
