// Lists names in a sentence.

/** Returns the names with commas; of many only the first, and how many more there are: `a, b, and 3 more`. */
export function fewOf(names: readonly string[], most = 20): string {
  const more = names.length > most ? `, and ${names.length - most} more` : ''
  return `${names.slice(0, most).join(', ')}${more}`
}
