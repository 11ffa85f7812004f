// Text of others made safe to look at: what a terminal obeys, what turns the direction of writing, and what nobody sees is written as an escape.

/**
 * Control characters (C0, C1) but tab and line feed, line separators, controls of the direction of writing, and characters without a width.
 * Two joiners and the variation selectors stay: scripts and emoji need them, and alone they show nothing false.
 */
const hidden = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}]/gu
const needed = /[\t\n\p{Join_Control}\p{Variation_Selector}]/u

/** Writes such characters as JSON writes them, so that JSON says the same as before. */
export function withEscapes(text: string): string {
  return text.replace(hidden, (found) => (needed.test(found) ? found : escaped(found)))
}

function escaped(character: string): string {
  return Array.from({ length: character.length }, (_, i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`).join('')
}
