// The values of an operation as text.

/** Formats what an operation returned as JSON, with each list of plain values on one line, such as a row of wells. */
export function valuesText(data: unknown): string {
  const oneLine = (list: string) => list.replace(/\n\s*/g, ' ').replace(/^\[ /, '[').replace(/ \]$/, ']')
  return JSON.stringify(data, null, 2).replace(/\[\n[^[\]{}]*\]/g, oneLine)
}
