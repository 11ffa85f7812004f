import fc from 'fast-check'
import { test } from 'tap'
import { parseCsv, separatorOf } from '../kit/csv_reader.ts'
import { csvLine } from './csv.ts'

const cellsOf = (text: string) => parseCsv(text, 'a.csv').map(({ cells }) => cells)

test('what is written is read again, whatever is in the cells', async (t) => {
  const cell = fc.oneof(
    fc.string(),
    fc.stringMatching(/^[",\r\na;\tsep=]*$/),
    fc.stringMatching(/^'{0,3}[=+\-@\t\r\n＝＋－＠]?[1e.a"]{0,3}$/),
  )
  const row = fc.array(cell, { minLength: 2, maxLength: 5 })
  fc.assert(
    fc.property(fc.array(row), (rows) => {
      t.strictSame(cellsOf(rows.map(csvLine).join('')), rows)
    }),
    { numRuns: 200 },
  )
})

test('no cell begins as a formula does, but for numbers, which stay what they are', async (t) => {
  // biome-ignore format: a list to look through
  const formulas = ['=1+1', '+a', '-a', '@SUM(A1)', '\t=1', '\r=1', '\n=1', '＝1', '＋1', '－1', '＠a', '=HYPERLINK("http://bench.example")', '-1+1', '+1-', '-1e', '- 1']
  for (const text of formulas) {
    const [, cell] = /^"?([\s\S]*?)"?\r\n$/.exec(csvLine([text])) ?? []
    t.equal(cell, `'${text.replaceAll('"', '""')}`)
    t.same(cellsOf(csvLine([text, 'b'])), [[text, 'b']])
    t.same(cellsOf(csvLine([`'${text}`, 'b'])), [[`'${text}`, 'b']], 'its own apostrophe stays')
  }
  for (const text of ['-12.5', '+3', '-0.000001', '1e+21', '-1e-7', '12', "'a", "it's", 'a=b'])
    t.equal(csvLine([text, 'b']), `${text},b\r\n`)
})

test('what a terminal obeys and what nobody sees is escaped, as in JSON', async (t) => {
  t.equal(csvLine(['a\u009b31m', 'b\u202ec', 'd\u001b[8m', 'e\nf']), 'a\\u009b31m,b\\u202ec,d\\u001b[8m,"e\nf"\r\n')
  const context = { note: '\u009b\u202e\u001b \\u202e' }
  t.same(JSON.parse(cellsOf(csvLine([JSON.stringify(context), '']))[0]![0]!), context)
})

test('line breaks of any system, a byte order mark, an empty line and a last line without its end are read', async (t) => {
  for (const text of ['a,b\r\nc,\r\n', 'a,b\nc,', '\uFEFFa,b\n\nc,\n', 'a,b\rc,\r', '"a",b\r\n"c",""'])
    t.same(
      cellsOf(text),
      [
        ['a', 'b'],
        ['c', ''],
      ],
      JSON.stringify(text),
    )
  t.same(cellsOf(''), [])
})

test('semicolons and tabs part the cells where the first line has them, or a line before it says so', async (t) => {
  const rows = [
    ['a', 'b,c'],
    ['1,5', ''],
  ]
  for (const text of ['a;"b,c"\n1,5;\n', 'a\t"b,c"\r\n1,5\t', 'sep=;\r\na;b,c\r\n1,5;', '\uFEFF"sep=;"\na;b,c\n1,5;'])
    t.same(cellsOf(text), rows, JSON.stringify(text))
  t.equal(separatorOf('"a;b;c",d\n1;2;3;4'), ',')
  t.same(
    parseCsv('sep=;\na;b\n', 'a.csv').map(({ line }) => line),
    [2],
  )
})

test('a row knows the line on which it begins, also behind a cell of several lines', async (t) => {
  t.same(
    parseCsv('a,"1\n2\r\n3"\r\nb,x\n', 'a.csv').map(({ line }) => line),
    [1, 4],
  )
})

test('what is no CSV is refused with its line', async (t) => {
  for (const [text, sentence] of [
    ['a,b\n"c,d\ne', /^a\.csv: line 2: a quote is not closed$/],
    ['a,b\nc"d,e', /^a\.csv: line 2: a quote stands in a cell that does not begin with one$/],
    ['"a"b,c', /^a\.csv: line 1: something stands behind a closing quote$/],
  ] as const)
    t.throws(() => parseCsv(text, 'a.csv'), { message: sentence, code: 'invalid' }, text)
})
