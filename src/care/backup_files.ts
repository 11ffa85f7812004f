// The files of a data folder that go into a backup, and which of them belong together in a restore.

/**
 * `setup`: what people have put in, and what was learned of how long things take. `runs`: what ran, what became of it, what stands open, and
 * where its labware is. `bench`: what is so of the instruments at this moment, and what was asked for once and for all.
 */
export type Kind = 'setup' | 'keys' | 'runs' | 'bench' | 'events' | 'audit'

/**
 * Names the history of the event log for the lab. No backup holds it, and a restore takes it away: what is restored is another history.
 */
export const epochFile = 'fleet.json'

/** Folders of which nothing is packed; a `before-restore-…` is another. */
const leftOut = ['backups/', 'swap/']
const beforeRestore = 'before-restore-'

const kinds: readonly (readonly [RegExp, Kind])[] = [
  [/^events\/[^/]*$/, 'events'],
  [/^keys\.json(\.bak)?$/, 'keys'],
  [/^audit(-refused)?(-\d+)?\.jsonl$/, 'audit'],
  [/^((teachpoints|workflows|durations|descriptions)\.json(\.bak)?|teachpoint_history\.jsonl)$/, 'setup'],
  [/^(executions\/[^/]*|records\.jsonl|incidents\.jsonl|labware\.json(\.bak)?)$/, 'runs'],
  [/^(latches\.json(\.bak)?|leases\.json(\.bak)?|runs\.jsonl|idempotency\.jsonl|operations\.jsonl)$/, 'bench'],
]

/** Half made, put aside, or worth nothing elsewhere. */
const passing = /(\.tmp|\.sock|\.torn|\.newer|\.corrupt-[^/]*)$|^notify\.jsonl$|^(starts|event_ids|fleet)\.json(\.bak)?$/

/**
 * undefined for what no version has ever packed; `unknown` for a file that is none of benchd's, a `.bashrc` as an example: older versions
 * packed it, this one neither packs it nor puts it back. A folder has a slash at its end.
 */
export function kindOf(name: string): Kind | 'unknown' | undefined {
  if (passing.test(name) || name.startsWith(beforeRestore) || leftOut.some((folder) => `${name}/`.startsWith(folder))) return undefined
  return kinds.find(([pattern]) => pattern.test(name))?.[1] ?? 'unknown'
}

/** Whether version control, package managers or shells keep it beside a topology, and secrets in it. A folder has a slash at its end. */
export function isOfTools(name: string): boolean {
  return /(^|\/)(\.[^/]*|node_modules)(\/|$)/.test(name)
}

/** The limits of a reader, in bytes: a maker packs no more. The configuration is read into memory. */
export const longestConfig = 4 * 1024 * 1024
export const longestConfigs = 16 * 1024 * 1024
export const mostConfigs = 1000
/** The largest number of files. */
export const mostFiles = 20_000
/** The longest list at the end, in bytes. */
export const longestManifest = 8 * 1024 * 1024

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
