// Makes foreign text safe to display: control characters, changes of the writing direction and invisible characters become escapes.

/**
 * Control characters (C0, C1) except tab and line feed, line separators, controls of the writing direction, and zero-width characters.
 * Two joiners and the variation selectors stay, because scripts and emoji need them, and alone they are harmless.
 */
const hidden = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}]/gu
const needed = /[\t\n\p{Join_Control}\p{Variation_Selector}]/u

/** Escapes such characters as JSON does, so that JSON keeps its meaning. */
export function withEscapes(text: string): string {
  return text.replace(hidden, (found) => (needed.test(found) ? found : escaped(found)))
}

function escaped(character: string): string {
  return Array.from({ length: character.length }, (_, i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`).join('')
}
