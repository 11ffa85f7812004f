import { test } from 'tap'
import { lineReader, nextLine } from './text_lines.ts'

test('a line ends in CR, LF or both', (t) => {
  t.same(nextLine(Buffer.from('500.0 4 \r\nx')), { used: 9, frame: '500.0 4' })
  t.same(nextLine(Buffer.from('\nx\r')), { used: 1 })
  t.same(nextLine(Buffer.from('RUN\rQ')), { used: 4, frame: 'RUN' })
  t.equal(nextLine(Buffer.from('RUN')), undefined)
  t.end()
})

test('lines are put together from pieces, and noise does not pile up', (t) => {
  const read = lineReader(8)
  t.same(read(Buffer.from('IN_')), [])
  t.same(read(Buffer.from('NAME\r\nA\n\r\n')), ['IN_NAME', 'A'])
  read(Buffer.from('x'.repeat(1000)))
  t.same(read(Buffer.from('\r')), ['xxxxxxxx'])
  t.end()
})
