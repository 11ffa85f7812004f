import fc from 'fast-check'
import { test } from 'tap'
import { csvLine, parseCsv, separatorOf } from './csv.ts'

const cellsOf = (text: string) => parseCsv(text, 'a.csv').map(({ cells }) => cells)

test('what is written is read again, whatever is in the cells', async (t) => {
  const cell = fc.oneof(fc.string(), fc.stringMatching(/^[",\r\na;\tsep=]*$/))
  const row = fc.array(cell, { minLength: 2, maxLength: 5 })
  fc.assert(
    fc.property(fc.array(row), (rows) => {
      t.strictSame(cellsOf(rows.map(csvLine).join('')), rows)
    }),
    { numRuns: 200 },
  )
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
    t.throws(() => parseCsv(text, 'a.csv'), { message: sentence, exit: 'usage' }, text)
})
