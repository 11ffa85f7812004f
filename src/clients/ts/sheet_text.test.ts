import { test } from 'tap'
import { sheetText } from './sheet_text.ts'

test('a sheet is read in each encoding in which spreadsheets save it', async (t) => {
  const text = 'Gruppe;Menge [µl]\r\nPlatte ä;5\r\n'
  const bytes = (encoding: BufferEncoding, content: string) => new Uint8Array(Buffer.from(content, encoding))
  t.equal(sheetText(bytes('utf8', text)), text)
  t.equal(sheetText(bytes('utf8', `\uFEFF${text}`)), text)
  t.equal(sheetText(bytes('utf16le', `\uFEFF${text}`)), text)
  t.equal(sheetText(bytes('latin1', text)), text)
})
