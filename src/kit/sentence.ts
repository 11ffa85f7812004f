// Fills templates of sentences, which tables of words hold.

/** A sentence in the two forms in which reports need it: `Set shaker-1 to 37 °C`, and `set shaker-1 to 37 °C`. */
export type Sentence = { past: string; infinitive: string }

/** The most characters of a member in a sentence. */
const longestMember = 60

/**
 * Fills a template such as `Shook|shake {device}[ at {speed} rpm]`: the verb in the past and as infinitive, then the rest. A part in brackets is left out
 * where one of its members is missing; a missing member outside of brackets becomes `…`.
 */
export function sentence(template: string, members: Readonly<Record<string, unknown>>): Sentence {
  const [, past = '', infinitive = '', rest = ''] = /^(\w+)\|(\w+)(.*)$/s.exec(template) ?? []
  const filled = filledIn(rest, members)
  return { past: past + filled, infinitive: infinitive + filled }
}

function filledIn(text: string, members: Readonly<Record<string, unknown>>): string {
  const isThere = (name: string) => shown(members[name]) !== undefined
  const whole = text.replace(/\[([^\]]*)\]/g, (_, part: string) =>
    [...part.matchAll(/\{(\w+)\}/g)].every(([, name]) => isThere(name!)) ? part : '',
  )
  return whole.replace(/\{(\w+)\}/g, (_, name: string) => shown(members[name]) ?? '…')
}

/** Words a member; undefined for one that is missing or empty. */
function shown(value: unknown): string | undefined {
  if (value === undefined || value === null || value === '') return undefined
  const text = Array.isArray(value) ? value.map((item) => shown(item) ?? '…').join(', ') : typeof value === 'object' ? '…' : String(value)
  const letters = [...text.slice(0, 2 * longestMember + 2)]
  return letters.length > longestMember ? `${letters.slice(0, longestMember - 1).join('')}…` : text
}
