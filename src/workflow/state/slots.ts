// The names of the slots of storages.

/** Returns the number of a slot by the name of its position, such as `incubator/slot-12`; null for the name of another position. */
export function slotOf(position: string | undefined): number | null {
  const [, number] = position?.match(/\/slot-(\d+)$/) ?? []
  return number === undefined ? null : Number(number)
}
