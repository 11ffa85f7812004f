// The files of a data folder that go into a backup, and the kinds that a restore treats together.

/**
 * `setup`: what people have entered, and learned durations. `runs`: open and ended runs, the queue of runs, and
 * the places of labware. `files`: the files that are attached to runs, and pictures of cameras. `bench`: the present state of the instruments, and requests that must not be repeated.
 */
export type Kind = 'setup' | 'keys' | 'runs' | 'files' | 'bench' | 'events' | 'audit'

/**
 * The file with the epoch of the event log. No backup holds it, and a restore removes it, because a restored log is another history.
 */
export const epochFile = 'fleet.json'

/** Folders that are not packed; neither is a `before-restore-…`. Plug-ins write as much into theirs as they like. */
const leftOut = ['backups/', 'swap/', 'plugins/']
const beforeRestore = 'before-restore-'

const kinds: readonly (readonly [RegExp, Kind])[] = [
  [/^events\/[^/]*$/, 'events'],
  [/^(executions\/[^/]*\/files\/([0-9a-f]{64})?|pictures\/[^/]*)$/, 'files'],
  [/^(keys|trial_key)\.json(\.bak)?$/, 'keys'],
  [/^audit(-refused)?(-\d+)?\.jsonl$/, 'audit'],
  [
    /^((teachpoints|workflows|durations|descriptions|device_notes|presets)\.json(\.bak)?|photos\/([A-Za-z0-9_-]{1,64})?|teachpoint_history\.jsonl|versions\.jsonl|versions\/([0-9a-f]{64})?)$/,
    'setup',
  ],
  [
    /^(executions\/([^/]*|[^/]*\/(record\.jsonl|forecast\.json|[0-9a-f]{64})?)|records\.jsonl|incidents\.jsonl|(labware|queue)\.json(\.bak)?)$/,
    'runs',
  ],
  [/^(latches\.json(\.bak)?|leases\.json(\.bak)?|runs\.jsonl|idempotency\.jsonl|operations\.jsonl)$/, 'bench'],
]

/** Temporary files, files that were set aside, and files without a use on another computer. */
const passing = /(\.tmp|\.sock|\.torn|\.newer|\.corrupt-[^/]*)$|^notify\.jsonl$|^(starts|event_ids|fleet)\.json(\.bak)?$/

/**
 * Returns the kind of a file or, with a slash at its end, a folder: undefined for one that no version has packed; `unknown` for a file that is not benchd's, such as `.bashrc`. Older versions
 * packed such files; this one neither packs nor restores them.
 */
export function kindOf(name: string): Kind | 'unknown' | undefined {
  if (passing.test(name) || name.startsWith(beforeRestore) || leftOut.some((folder) => `${name}/`.startsWith(folder))) return undefined
  return kinds.find(([pattern]) => pattern.test(name))?.[1] ?? 'unknown'
}

/** Whether version control, package managers or shells keep the file beside topologies, possibly with secrets. A folder has a slash at its end. */
export function isOfTools(name: string): boolean {
  return /(^|\/)(\.[^/]*|node_modules)(\/|$)/.test(name)
}

/** The most bytes of the configuration, which a restore reads into memory; a backup packs no more. */
export const longestConfig = 4 * 1024 * 1024
export const longestConfigs = 16 * 1024 * 1024
export const mostConfigs = 1000
/** The most files. */
export const mostFiles = 120_000
/** The most long values of runs, and the most files that are attached to runs: further ones are left out, and the rest of the backup is made. */
export const mostOfRuns = { value: 100_000, file: 5000 } as const
export type MostOfRuns = Readonly<Record<keyof typeof mostOfRuns, number>>
/** The most bytes of the manifest, in which a long value takes 230. */
export const longestManifest = 32 * 1024 * 1024

/** Returns the folder for the files that a restore at that moment replaces. */
export function beforeRestoreName(at: Date): string {
  return beforeRestore + stampOf(at)
}

/** Formats a moment as `20261120T171530Z`. */
export function stampOf(at: Date): string {
  return at.toISOString().replace(/\.\d+/, '').replace(/[-:]/g, '')
}

/** Parses such a stamp to Unix seconds. */
export function momentOf(stamp: string): number {
  return Date.parse(stamp.replace(/^(....)(..)(..T..)(..)(..Z)$/, '$1-$2-$3:$4:$5')) / 1000
}
