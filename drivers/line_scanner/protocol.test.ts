import { test } from 'tap'
import { bytesOf, isEscaped, LineCutter, readLine } from './protocol.ts'

const hex = (text: string) => bytesOf(text).toString('hex')

test('a text of the settings gives the bytes that its escapes name', (t) => {
  t.equal(hex(String.raw`\x16T\r`), '16540d')
  t.equal(hex(String.raw`LON\r\n`), '4c4f4e0d0a')
  t.equal(hex(String.raw`a\\r\t`), '615c7209')
  t.equal(hex('\x16T\r'), '16540d', 'control characters that JSON itself has escaped')
  t.equal(hex(''), '')
  for (const good of ['LON', String.raw`\x16T\r`, String.raw`\\`]) t.ok(isEscaped(good), good)
  for (const bad of [String.raw`\q`, String.raw`\x1`, '\\', String.raw`\\\ `]) t.notOk(isEscaped(bad), bad)
  t.end()
})

test('lines end with CR, LF or both, in pieces of any size', (t) => {
  const cutter = new LineCutter(bytesOf(''))
  const lines = [...Buffer.from('A1\r\nB2\nC3\rD')].flatMap((byte) => cutter.take(Buffer.of(byte)))
  t.same(
    lines.map(String).filter((line) => line !== ''),
    ['A1', 'B2', 'C3'],
  )
  t.equal(cutter.unended, 1)
  cutter.forget()
  t.same(cutter.take(Buffer.from('E5\r')).map(String), ['E5'])
  t.end()
})

test('with a suffix of the settings nothing else ends a code', (t) => {
  const cutter = new LineCutter(bytesOf(String.raw`\x03\r`))
  t.same(cutter.take(Buffer.from('A\rB\nC\x03')).map(String), [])
  t.same(cutter.take(Buffer.from('\rD\x03\r')).map(String), ['A\rB\nC', 'D'])
  t.end()
})

test('a code is text without the white space and control characters around it', (t) => {
  for (const [bytes, read] of [
    [Buffer.from(' PLATE-1 '), { code: 'PLATE-1' }],
    [Buffer.from('\x02PLATE-1\x03'), { code: 'PLATE-1' }],
    [Buffer.from('0104\x1d10A'), { code: '0104\x1d10A' }],
    [Buffer.from('Größe 1'), { code: 'Größe 1' }],
    [Buffer.from('A\x07B'), { isStrange: true }],
    [Buffer.from([0x50, 0xd0, 0x80, 0xff]), { isStrange: true }],
    [Buffer.from(''), undefined],
    [Buffer.from('\0 '), undefined],
  ] as const)
    t.same(readLine(bytes), read, bytes.toString('hex'))
  t.end()
})
