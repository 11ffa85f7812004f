// Suggests the intended word.

const mostListed = 20
/** The shortest beginning that counts as a match. */
const shortestBeginning = 3

/** Returns `; did you mean "speed"?` if a known word is near enough, else nothing. */
export function didYouMean(word: string, known: readonly string[]): string {
  const meant = nearest(word, known)
  return meant === undefined ? '' : `; did you mean ${JSON.stringify(meant)}?`
}

/** Lists words, as far as they fit into a sentence. */
export function inSentence(words: readonly string[]): string {
  const more = words.length > mostListed ? `, and ${words.length - mostListed} more` : ''
  return words.slice(0, mostListed).join(', ') + more
}

/** Returns the suggestion with the known or listed words, as far as they fit into a sentence. */
export function didYouMeanAmong(word: string, known: readonly string[], listed = known): string {
  const list = listed.length === 0 ? '' : `; there is: ${inSentence(listed)}`
  return `${didYouMean(word, known)}${list}`
}

/** Returns the suggestion, or all known words if none is near. */
export function didYouMeanOrAmong(word: string, known: readonly string[]): string {
  return didYouMean(word, known) || didYouMeanAmong(word, known)
}

/** Finds the nearest known word, if it is near enough, or the only one of which one is the beginning of the other: `variables` means `var`. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const [best] = known.map((other) => ({ other, away: distance(word.toLowerCase(), other.toLowerCase()) })).sort((a, b) => a.away - b.away)
  const shorter = best ? Math.min(word.length, best.other.length) : 0
  // A word of one letter has no similar word.
  if (best && best.away <= Math.ceil(shorter / 3) && (best.away < shorter || best.away === 0)) return best.other
  const [begun, ...others] = known.filter((other) => isBeginning(word, other) || isBeginning(other, word))
  return others.length === 0 ? begun : undefined
}

function isBeginning(part: string, whole: string): boolean {
  return part.length >= shortestBeginning && whole.toLowerCase().startsWith(part.toLowerCase())
}

/** Returns the Levenshtein distance over the first 64 characters. */
function distance(a: string, b: string): number {
  const [from, to] = [a.slice(0, 64), b.slice(0, 64)]
  let row = Array.from({ length: to.length + 1 }, (_, i) => i)
  for (let i = 1; i <= from.length; i++) {
    const next = [i]
    for (let j = 1; j <= to.length; j++) {
      const changed = row[j - 1]! + (from[i - 1] === to[j - 1] ? 0 : 1)
      next.push(Math.min(changed, row[j]! + 1, next[j - 1]! + 1))
    }
    row = next
  }
  return row[to.length]!
}
