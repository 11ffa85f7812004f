// Parses the typed value of a variable, at the shell or on the page.

/**
 * Returns the value of a text. `type` is that of the variable; a text variable keeps the text. Without a type the text is taken for JSON only
 * if JSON writes the value back as it was typed, unlike `1E5` or a number of twenty digits. An array may be typed as a list with commas.
 */
export function variableValue(text: string, type?: string): unknown {
  if (type === 'string') return text
  try {
    const value: unknown = JSON.parse(text)
    const isList = Array.isArray(value)
    if (type === 'array' && !isList) return listIn(text)
    if (type !== undefined) return (isList ? 'array' : typeof value) === (type === 'integer' ? 'number' : type) ? value : text
    return typeof value !== 'number' || String(value) === text.trim() ? value : text
  } catch {
    return type === 'array' && !/^\s*\[/.test(text) ? listIn(text) : text
  }
}

/** Returns the values between the commas of a text. */
function listIn(text: string): unknown[] {
  return text.split(',').map((part) => variableValue(part.trim()))
}
