// The words about a person who was added to the configuration.

/** Says what to do next. */
export function nextForPerson(device_id: string): string {
  return `${device_id} carries labware between the positions that a topology names, without teachpoints: write "transporters": {"${device_id}": {"positions": ["…"]}}, then benchd topology load NAME`
}
