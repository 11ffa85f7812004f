// What of a data folder goes into a backup, and which of it belongs together when it is put back.

/**
 * `setup`: what people have put in: teachpoints, workflows, and whatever is not named here. `runs`: what ran, what became of it, what
 * stands open, and where its labware is. `bench`: what is so of the instruments at this moment, and what was asked for once and for all.
 */
export type Kind = 'setup' | 'keys' | 'runs' | 'bench' | 'events' | 'audit'

/** Folders of which nothing is packed; a `before-restore-…` is another. */
const leftOut = ['backups/', 'swap/']
const beforeRestore = 'before-restore-'

const kinds: readonly (readonly [RegExp, Kind])[] = [
  [/^events\//, 'events'],
  [/^keys\.json(\.bak)?$/, 'keys'],
  [/^audit(-refused)?(-\d+)?\.jsonl$/, 'audit'],
  [/^(executions\/.*|records\.jsonl|incidents\.jsonl|labware\.json(\.bak)?)$/, 'runs'],
  [/^(latches\.json(\.bak)?|leases\.json(\.bak)?|runs\.jsonl|idempotency\.jsonl|operations\.jsonl)$/, 'bench'],
]

/** Half made, put aside, or worth nothing elsewhere. */
const passing = /(\.tmp|\.sock|\.torn|\.newer|\.corrupt-[^/]*)$|^(starts|event_ids)\.json(\.bak)?$/

/** undefined for what is never packed and never put back. A folder has a slash at its end. */
export function kindOf(name: string): Kind | undefined {
  if (passing.test(name) || name.startsWith(beforeRestore) || leftOut.some((folder) => `${name}/`.startsWith(folder))) return undefined
  return kinds.find(([pattern]) => pattern.test(name))?.[1] ?? 'setup'
}

/** What a reader takes of one file of the configuration, and of files in all: a maker packs no more. */
export const longestConfig = 4 * 1024 * 1024
export const mostFiles = 100_000

/** The folder that keeps what a restore of that moment has replaced. */
export function beforeRestoreName(at: Date): string {
  return beforeRestore + stampOf(at)
}

/** `20261120T171530Z`. */
export function stampOf(at: Date): string {
  return at.toISOString().replace(/\.\d+/, '').replace(/[-:]/g, '')
}

/** Unix seconds of such a stamp. */
export function momentOf(stamp: string): number {
  return Date.parse(stamp.replace(/^(....)(..)(..T..)(..)(..Z)$/, '$1-$2-$3:$4:$5')) / 1000
}
