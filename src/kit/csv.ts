// Writes CSV as in RFC 4180.

const lineEnd = '\r\n'

export function csvHead(columns: readonly string[]): string {
  return `${columns.join(',')}${lineEnd}`
}

/** Returns the line of a row. Arrays and objects become JSON; null and missing members become empty fields. */
export function csvLine(columns: readonly string[], row: Readonly<Record<string, unknown>>): string {
  return `${columns.map((name) => field(row[name])).join(',')}${lineEnd}`
}

function field(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  // A spreadsheet would calculate a text that begins with one of these signs.
  const plain = /^[=+@\t\r-]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain
}
