// The text of a sheet of samples that a spreadsheet has saved, at the shell or on the page.

/** Returns the text of the bytes: UTF-8, or UTF-16 with its mark, as Excel's "Unicode text", or Windows-1252, as Excel's "CSV" without UTF-8. */
export function sheetText(bytes: Uint8Array): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder('utf-16le').decode(bytes)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return new TextDecoder('windows-1252').decode(bytes)
  }
}
