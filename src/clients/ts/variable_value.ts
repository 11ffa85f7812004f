// The value of a variable that a person typed, at the shell or on the page.

/**
 * Returns the value that a text stands for. `type` is that of the variable: text stays text. Without a type the text is taken for JSON only
 * where JSON writes the value back as it was typed: `1E5` and a number of twenty digits would become others.
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
