// Compares an existing stream of the broker with the one that benchd would make.

/** The settings of a stream, as the broker names them. Durations are in nanoseconds. */
export type Settings = { readonly [name: string]: unknown }

/** Settings without which a stream cannot be written or read. */
const needed: Settings = { allow_direct: true, no_ack: false, sealed: false }

/** The broker's defaults for settings that benchd does not set. */
const usual: Settings = {
  ...{ max_msgs: -1, max_bytes: -1, max_age: 0, max_msg_size: -1, max_msgs_per_subject: -1, max_consumers: -1 },
  ...{ duplicate_window: 120e9, retention: 'limits', discard: 'old', storage: 'file', num_replicas: 1 },
}
const durations = ['max_age', 'duplicate_window']

/** Returns the differences in words: `missing` prevents the lab from working, `other` is the choice of an administrator. */
export function differences(wanted: Settings, found: Settings): { missing: string[]; other: string[] } {
  const subjects = [found.subjects ?? []].flat()
  const differing = (all: Settings) =>
    Object.entries(all).flatMap(([name, value]) => {
      const is = found[name] ?? (typeof value === 'boolean' ? false : value)
      return is === value ? [] : [`${name} is ${shown(name, is)} in place of ${shown(name, value)}`]
    })
  return {
    missing: [
      ...[wanted.subjects ?? []].flat().flatMap((subject) => (subjects.includes(subject) ? [] : [`it does not take ${subject}`])),
      ...differing(needed),
    ],
    other: differing(Object.fromEntries(Object.entries(usual).map(([name, value]) => [name, wanted[name] ?? value]))),
  }
}

function shown(name: string, value: unknown): string {
  if (durations.includes(name) && value !== 0) return `${Number(value) / 1e9} s`
  return value === -1 || value === 0 ? 'unlimited' : String(value)
}
