// The twenty newest versions of each teachpoint, which `restore` goes back to; a deletion is a version too. They are kept in a file beside the
// points. Where the two files differ, after a crash between two writes or an edit by hand, the present point is a version of an unknown author.

import { createHash } from 'node:crypto'
import * as v from 'valibot'
import { type Author, authorText } from '../kit/author.ts'
import { described } from '../kit/described.ts'
import type { Report } from '../kit/json_file.ts'
import { LineFile } from '../kit/json_lines.ts'
import { SerialQueue } from '../kit/serial_queue.ts'
import { StoredTeachpoint, Teachpoint } from './teachpoint.ts'

export const Version = v.strictObject({
  version: described(v.string(), 'The version that `restore` takes. It is the ETag of the point, and differs for another content'),
  at: described(v.nullable(v.number()), 'Unix time of the change; null where it is not known', 's'),
  by: described(
    v.nullable(v.string()),
    'Whose key it was, with the name that the person gave (`tablet, said to be Ann`); null where it is not known',
  ),
  point: described(v.nullable(Teachpoint), 'null where the point was deleted'),
})
export type Version = v.InferOutput<typeof Version>

const Line = v.strictObject({ key: v.string(), ...Version.entries, point: v.nullable(StoredTeachpoint) })
type Line = v.InferOutput<typeof Line>

/** A point before and after a change; undefined where there is none. */
export type TeachpointChange = { key: string; before: Teachpoint | undefined; after: Teachpoint | undefined }

const mostVersions = 20
/** The most points with versions; the one that was changed longest ago is dropped first. */
const mostKept = 10_000
const mostWaiting = 64

export class TeachpointHistory {
  readonly #file: LineFile<Line>
  readonly #report: Report
  readonly #queue = new SerialQueue(mostWaiting)
  /** Oldest first; the point that was changed last is the last one. */
  readonly #versions = new Map<string, Version[]>()

  static async open({ folder, report }: { folder: string; report: Report }): Promise<TeachpointHistory> {
    const loss = 'earlier versions of teachpoints may be missing; the points themselves are whole'
    const file = new LineFile({ path: `${folder}/teachpoint_history.jsonl`, schema: Line, report, loss })
    return new TeachpointHistory(file, await file.read(), report)
  }

  private constructor(file: LineFile<Line>, lines: readonly Line[], report: Report) {
    this.#file = file
    this.#report = report
    for (const { key, ...version } of lines) this.#put(key, version)
  }

  /** Lists the versions, the newest first; the first is the present point. */
  of(key: string, now: Teachpoint | undefined): Version[] {
    const versions = this.#versions.get(key) ?? []
    const all = isLast(versions, now) ? versions : [...versions, unknown(now)]
    return all.toReversed()
  }

  /** Resolves when the versions are on the disk. A disk that refuses them is only reported, since the points themselves are stored. */
  async add(changes: readonly TeachpointChange[], { by, operator }: Author): Promise<void> {
    const at = Date.now() / 1000
    // In one text, because earlier versions take a line with a member that they do not know for damage.
    const author = authorText(by, operator) || null
    const lines = changes.flatMap(({ key, before, after }) => {
      const known = this.#versions.get(key) ?? []
      const missed = before !== undefined && !isLast(known, before) ? [{ key, ...unknown(before) }] : []
      return [...missed, { key, version: versionOf(after), at, by: author, point: after ?? null }]
    })
    for (const { key, ...version } of lines) this.#put(key, version)
    const write = () => this.#file.write(lines, { isSynced: true, all: () => this.#all() })
    await this.#queue.run(write).catch((error) => this.#report({ kind: 'storage', message: `${error.message}` }))
  }

  async close(): Promise<void> {
    await this.#queue.run(() => this.#file.close())
  }

  #all(): Line[] {
    return [...this.#versions].flatMap(([key, versions]) => versions.map((version) => ({ key, ...version })))
  }

  #put(key: string, version: Version): void {
    const versions = [...this.#taken(key), version].slice(-mostVersions)
    this.#versions.set(key, versions)
    const [oldest] = this.#versions.keys()
    if (this.#versions.size > mostKept && oldest !== undefined) this.#taken(oldest)
  }

  #taken(key: string): Version[] {
    const versions = this.#versions.get(key) ?? []
    this.#versions.delete(key)
    return versions
  }
}

/** The tag of a content: equal for equal points; `deleted` for none. */
export function versionOf(point: Teachpoint | undefined): string {
  return point ? createHash('sha256').update(JSON.stringify(point)).digest('hex').slice(0, 32) : 'deleted'
}

function isLast(versions: readonly Version[], point: Teachpoint | undefined): boolean {
  const last = versions.at(-1)
  return last ? last.version === versionOf(point) : point === undefined
}

function unknown(point: Teachpoint | undefined): Version {
  return { version: versionOf(point), at: null, by: null, point: point ?? null }
}
