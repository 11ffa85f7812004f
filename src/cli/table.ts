// What people read at a shell: columns, and dates.

/** Each column as wide as it must be. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, ...rows]
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]!.length)))
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** `2026-01-31T08:00`, of Unix time. */
export function date(seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(0, 16)
}

export function print(text: string): void {
  process.stdout.write(`${text}\n`)
}
