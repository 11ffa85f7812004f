// The audit trail: one line per request that changes something in `audit.jsonl`, and one per refused request in `audit-refused.jsonl`, both chained by
// hashes. No request waits for it. The heads of both chains are logged, so that the system's journal can prove that no end was cut off.

import type { Head } from '../kit/chained_lines.ts'
import { type Clock, systemClock } from '../kit/clock.ts'
import type { Report } from '../kit/json_file.ts'
import type { Log } from '../kit/log.ts'
import { TokenBuckets } from '../kit/token_buckets.ts'
import type { AuditDetails, AuditEntry } from './audit_entry.ts'
import { AuditFile } from './audit_file.ts'
import { withoutSecrets } from './secret.ts'

/** An entry for the audit trail; absent members are null. */
type Said = { client?: string; confirmation?: string }
type Deed = { what: string; details?: AuditDetails; operator?: string | undefined; said?: Said | undefined } & Partial<
  Omit<AuditEntry, 'at' | 'what' | 'operator' | keyof Said | 'left_out' | 'times' | keyof AuditDetails>
>

/** The author of entries about the service itself. */
export const byService = { key_id: 'service', name: 'service' } as const

/** The two chains: requests that were carried out, and refused ones, so that a flood of refusals cannot push out the others. */
export const auditFiles = { done: 'audit.jsonl', refused: 'audit-refused.jsonl' } as const
export const auditOutcomes = ['done', 'refused'] as const
type AuditOutcome = (typeof auditOutcomes)[number]

const refusedLongest = 4 * 1024 * 1024
const refusedFiles = 3
const headEveryMs = 3_600_000
/** The limit for `what`, and for `text`, in bytes of JSON. */
const longestWhat = 300
/** The rate of lines for the refusals of one key (or of all requests without a key), and for one key's repeats of a request. */
const lines = { burst: 20, perSecond: 1 }
/** After this time, the number of folded entries is written. */
const foldedFor_ms = 10_000

type Options = { folder: string; log: Log; report: Report; clock?: Clock; now?: () => number }

export class Audit {
  readonly #files: Record<AuditOutcome, AuditFile>
  readonly #log: Log
  readonly #clock: Clock
  readonly #now: () => number
  readonly #refusals: TokenBuckets
  readonly #repeats: TokenBuckets
  /** Repeats of a request that already has a line; they are folded into one line. */
  readonly #folded = new Map<string, { entry: AuditEntry; times: number }>()
  #cancelHead = () => {}
  #cancelTelling: (() => void) | undefined
  #isClosed = false

  /** `now` in Unix seconds. */
  constructor({ folder, log, report, clock = systemClock, now = () => Date.now() / 1000 }: Options) {
    const file = (name: string, size: object = {}) => new AuditFile({ path: `${folder}/${name}`, ...size, clock, report })
    this.#files = { done: file(auditFiles.done), refused: file(auditFiles.refused, { longest: refusedLongest, mostFiles: refusedFiles }) }
    this.#log = log
    this.#clock = clock
    this.#now = now
    this.#refusals = new TokenBuckets({ ...lines, now: () => clock.now() })
    this.#repeats = new TokenBuckets({ ...lines, now: () => clock.now() })
    this.#tellHourly()
  }

  /** Records an entry, without waiting for the disk. */
  note(deed: Deed): void {
    if (this.#isClosed) return
    const entry = entryOf(deed, this.#now())
    if (isRefusal(entry)) this.#noteRefusal(entry)
    else this.#noteDone(entry)
  }

  /**
   * Returns the newest entries of both files, or of one, by time, and the heads of both. With `device_id`, only entries about this device or about every
   * device. Waits for earlier notes, unless the disk refuses them.
   */
  async newest(
    limit: number,
    outcome?: AuditOutcome,
    device_id?: string,
  ): Promise<{ head: Head; refused_head: Head; entries: (AuditEntry & Head & { file: string })[] }> {
    await this.#settled()
    const [done, refused] = await Promise.all([this.#files.done.newest(), this.#files.refused.newest()])
    const of = ({ lines }: typeof done, its: AuditOutcome) =>
      outcome === undefined || outcome === its
        ? lines.map(({ seq, hash, entry }) => ({ file: auditFiles[its], seq, hash, ...withText(entry as AuditEntry) }))
        : []
    const all = merged(of(done, 'done'), of(refused, 'refused'))
    const entries = device_id === undefined ? all : all.filter((entry) => isAbout(entry, device_id))
    return { head: done.head, refused_head: refused.head, entries: entries.slice(-limit) }
  }

  /** Logs the heads a last time. Resolves when everything is on the disk, or was refused. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#cancelHead()
    await this.#settled()
    this.#tellHeads()
    await Promise.all(Object.values(this.#files).map((file) => file.close()))
  }

  async #settled(): Promise<void> {
    const settled = () => Promise.all(Object.values(this.#files).map((file) => file.settled()))
    await settled()
    this.#tellFolded()
    await settled()
  }

  #noteRefusal(entry: AuditEntry): void {
    if (this.#refusals.take(entry.key_id ?? 'strangers')) this.#files.refused.add(entry)
    else {
      this.#files.refused.leaveOut(entry)
      this.#tellLater()
    }
  }

  #noteDone(entry: AuditEntry): void {
    // A confirmation is for one request, which therefore has a line of its own.
    const who = `${entry.key_id} ${entry.operator ?? ''} ${entry.client ?? ''} ${entry.confirmation ?? ''}`
    const name = `${who} ${entry.status} ${entry.what}`
    if (this.#repeats.take(name)) this.#files.done.add(entry)
    else {
      this.#fold(name, entry)
      this.#tellLater()
    }
  }

  #fold(name: string, entry: AuditEntry): void {
    const before = this.#folded.get(name)
    if (before && before.entry.from !== entry.from) entry.from = null
    this.#folded.set(name, { entry, times: (before?.times ?? 0) + 1 })
  }

  #tellLater(): void {
    this.#cancelTelling ??= this.#clock.after(foldedFor_ms, () => this.#tellFolded())
  }

  #tellFolded(): void {
    this.#cancelTelling?.()
    this.#cancelTelling = undefined
    for (const { entry, times } of this.#folded.values()) this.#files.done.add(times > 1 ? { ...entry, times } : entry)
    this.#folded.clear()
    this.#files.done.tellLeftOut()
    this.#files.refused.tellLeftOut()
  }

  #tellHourly(): void {
    this.#cancelHead = this.#clock.after(headEveryMs, () => {
      this.#tellHeads()
      this.#tellHourly()
    })
  }

  #tellHeads(): void {
    this.#files.done.tellHead('audit', this.#log)
    this.#files.refused.tellHead('audit of refusals', this.#log)
  }
}

/** Whether a request had no effect. An operation that began counts as done however it ended, and 500 means that something was tried. */
function isRefusal({ status, reason, operation_id }: AuditEntry): boolean {
  // What the disk does not keep may have happened all the same.
  const mayHaveHappened = status === 500 || (status === 503 && reason === 'storage')
  return status !== null && status >= 400 && !mayHaveHappened && operation_id === null
}

/** Adds the text that lines of earlier versions lack. */
function withText(entry: AuditEntry): AuditEntry {
  return { ...entry, text: entry.text ?? entry.what }
}

/** Lines of earlier versions name the device in `what` alone. */
function isAbout({ device_id, operation, what }: AuditEntry, asked: string): boolean {
  if (device_id !== undefined || operation !== undefined) return device_id === asked || device_id === '*'
  return what.includes(`/api/devices/${asked}/`) || what === 'POST /api/stop' || what.startsWith(`device ${asked} `)
}

/** Merges two lists by time. Keeps the order of each, because the system clock may have been set meanwhile. */
function merged<Entry extends { at: number }>(some: readonly Entry[], others: readonly Entry[]): Entry[] {
  const all: Entry[] = []
  let next = 0
  for (const entry of some) {
    while (next < others.length && others[next]!.at < entry.at) all.push(others[next++]!)
    all.push(entry)
  }
  return [...all, ...others.slice(next)]
}

/** Makes an entry. Member by member, because a spread costs ten times as much and stops also come here. */
function entryOf(
  {
    what,
    key_id = null,
    name = null,
    operator,
    said,
    scope = null,
    from = null,
    status = null,
    reason = null,
    operation_id = null,
    request_id = null,
    details,
  }: Deed,
  at: number,
): AuditEntry {
  const clean = shortened(withoutSecrets(what))
  const text = details ? shortened(withoutSecrets(details.text)) : clean
  // JSON leaves out members that are undefined.
  const more = details as Omit<AuditEntry, 'text'> | undefined
  return {
    at,
    key_id,
    name,
    ...(operator !== undefined && { operator }),
    ...said,
    scope,
    from,
    what: clean,
    status,
    reason,
    operation_id,
    request_id,
    ...more,
    text,
  }
}

/** Shortens a text to `longestWhat` bytes of JSON, in which escapes and non-ASCII letters are longer. */
function shortened(text: string): string {
  if (text.length * 6 <= longestWhat || bytesOf(text.slice(0, longestWhat + 1)) <= longestWhat) return text
  let [cut, bytes] = ['', 0]
  for (const letter of text) {
    bytes += bytesOf(letter)
    if (bytes > longestWhat - 3) break
    cut += letter
  }
  return `${cut}…`
}

function bytesOf(text: string): number {
  return Buffer.byteLength(JSON.stringify(text)) - 2
}
