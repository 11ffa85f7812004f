import fc from 'fast-check'
import { test } from 'tap'
import { anyCharacter } from '../testing/any_character.ts'
import { attachmentOf, safeFileName } from './file_name.ts'

test('a name is made safe: no path, no controls, nothing hidden, no dot in front', (t) => {
  for (const [given, safe] of [
    ['plate-1.csv', 'plate-1.csv'],
    ['../../etc/passwd', 'passwd'],
    ['C:\\data\\plate 1.xlsx', 'plate 1.xlsx'],
    ['.bashrc', 'bashrc'],
    ['Platte Ä 37 °C.csv', 'Platte Ä 37 °C.csv'],
    ['a\r\nX-A: b', 'a__X-A_ b'],
    ['photo\u202egnp.exe', 'photo_gnp.exe'],
    ['\ud800.csv', '\ufffd.csv'],
  ] as const)
    t.equal(safeFileName(given), safe)
  for (const given of ['', '.', '..', '/', 'a/', '\u0000', ' . ']) t.throws(() => safeFileName(given), { code: 'invalid' }, given)
  t.equal(safeFileName(`${'ä'.repeat(500)}.csv`).slice(-6), 'ää.csv')
  t.end()
})

test('whatever the name, it is one header line, a plain file name, and itself again', (t) => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter, maxLength: 300 }), (given) => {
      let name: string
      try {
        name = safeFileName(given)
      } catch {
        return true
      }
      const header = attachmentOf(name)
      const [, told] = /filename\*=UTF-8''(.*)$/.exec(header) ?? /filename="(.*)"$/.exec(header) ?? []
      const isSafe = !/[/\\\p{Cc}]/u.test(name) && Buffer.byteLength(name) <= 200 && safeFileName(name) === name
      return isSafe && /^[\x20-\x7e]+$/.test(header) && decodeURIComponent(told!) === name
    }),
  )
  t.end()
})
