// The errors of a document with their places: `workflow seal-and-spin: threads.plate.steps[1].method: there is no method shke_it`.

import { LabError } from '../../errors.ts'
import { didYouMeanOrAmong } from '../../kit/did_you_mean.ts'

/** Makes an error. `where` is the document and the place in it. */
export function wrong(where: string, what: string): LabError {
  return new LabError('invalid', `${where}: ${what}`)
}

/** Throws unless the word is known. `kind` names the kind of word. */
export function mustBeKnown(kind: string, word: string, known: Iterable<string>, where: string): void {
  const words = [...known]
  if (!words.includes(word)) throw wrong(where, `there is no ${kind} ${word}${didYouMeanOrAmong(word, words)}`)
}

/** Throws as `mustBeKnown` does, about a part that its owner lacks: `shaker-1 has no operation shaek`. */
export function mustHave(owner: string, kind: string, { word, known }: { word: string; known: Iterable<string> }, where: string): void {
  const words = [...known]
  if (!words.includes(word)) throw wrong(where, `${owner} has no ${kind} ${word}${didYouMeanOrAmong(word, words)}`)
}

/** Throws for a list with a repeated word. */
export function mustBeOnce(words: readonly string[], where: string): void {
  const seen = new Set<string>()
  words.forEach((word, i) => {
    if (seen.has(word)) throw wrong(`${where}[${i}]`, `${word} is there twice`)
    seen.add(word)
  })
}

/** Adds the place to an error of `work`. */
export function located<Value>(where: string, work: () => Value): Value {
  try {
    return work()
  } catch (error) {
    if (error instanceof LabError && error.code === 'invalid') throw wrong(where, error.message)
    throw error
  }
}

/** Makes a path such as `threads.plate`, or `cases["not done"]` for a key that is not a word. */
export function member(path: string, key: string): string {
  return /^[A-Za-z0-9_-]+$/.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`
}
