// Lists in sentences.

const mostListed = 5

/** Returns the clauses; of a long list only the first ones, and how many more there are. */
export function someOf(clauses: readonly string[]): string[] {
  const more = clauses.length - mostListed
  return more > 1 ? [...clauses.slice(0, mostListed), `and ${more} more`] : [...clauses]
}
