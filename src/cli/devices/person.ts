// What a bench with a person who carries labware still needs after its configuration.

/** Returns what to do next about a person who was added to the configuration. */
export function nextForPerson(device_id: string): string {
  return `${device_id} carries labware between the positions that a topology names, without teachpoints: write "transporters": {"${device_id}": {"positions": ["…"]}}, then benchd topology load NAME`
}
