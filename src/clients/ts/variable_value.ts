// Parses the typed value of a variable, at the shell or on the page.

/**
 * Returns the value of a text. `type` is that of the variable; a text variable keeps the text. Without a type the text is taken for JSON only
 * if JSON writes the value back as it was typed, unlike `1E5` or a number of twenty digits.
 */
export function variableValue(text: string, type?: string): unknown {
  if (type === 'string') return text
  try {
    const value: unknown = JSON.parse(text)
    if (type !== undefined) return typeof value === type ? value : text
    return typeof value !== 'number' || String(value) === text.trim() ? value : text
  } catch {
    return text
  }
}
