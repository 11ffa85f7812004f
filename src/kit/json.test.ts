import { test } from 'tap'
import { isDeeper, parseJson, parseJsonWithComments } from './json.ts'

test('a number that no double can hold is refused', (t) => {
  t.throws(() => parseJson('{"a": [1e999]}', 'the body'), { code: 'invalid', message: /too large/ })
  t.throws(() => parseJson('vm\n', 'the body'), { message: /^the body is not JSON: .*$/ })
  t.throws(() => parseJson('{"a": NaN}', 'the body'), { code: 'invalid', message: /the body is not JSON/ })
  t.end()
})

test('half a surrogate pair is refused', (t) => {
  t.throws(() => parseJson('{"a": ["\\ud800"]}', 'it'), { code: 'invalid', message: /surrogate/ })
  t.throws(() => parseJson('{"\\udc00": 1}', 'it'), { code: 'invalid', message: /surrogate/ })
  t.same(parseJson('"\\ud83d\\ude00"', 'it'), '😀')
  t.end()
})

test('a member with a name that JavaScript keeps for itself is refused and named, however deep it is', (t) => {
  for (const name of ['__proto__', 'constructor', 'prototype'])
    for (const text of [`{"${name}": 1}`, `{"a": [{"b": {"${name}": {}}}]}`, `{"${name.replace('o', '\\u006f')}": null}`]) {
      const refusal = { code: 'invalid', message: `the body has a member called ${name}, which no member may be; give it another name` }
      t.throws(() => parseJson(text, 'the body'), refusal, text)
      t.throws(() => parseJsonWithComments(text, 'the body'), refusal, text)
    }
  const plain = { toString: 1, hasOwnProperty: 2, a: '__proto__' }
  t.same(parseJson(JSON.stringify(plain), 'it'), plain)
  t.end()
})

test('nesting ends at 32', (t) => {
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
  t.doesNotThrow(() => parseJson(nested(32), 'it'))
  t.throws(() => parseJson(nested(33), 'it'), { code: 'invalid', message: /deeper than 32/ })
  t.throws(() => parseJson(nested(100_000), 'it'), { code: 'invalid' })
  t.same(
    [isDeeper(1, 0), isDeeper([], 0), isDeeper(null, 0), isDeeper({ a: [1, { b: 1 }] }, 3), isDeeper({ a: [1, { b: 1 }] }, 2)],
    [false, true, false, false, true],
  )
  t.ok(isDeeper(JSON.parse(nested(400_000)), 64))
  t.end()
})

test('what looks like a comment inside a string is none', (t) => {
  t.same(parseJsonWithComments('{"a": "x // y", "b": "/* z */", "c": "\\"//", } // end', 'it'), { a: 'x // y', b: '/* z */', c: '"//' })
  t.end()
})

test('what is no JSON is told with its line and column, comments and a byte order mark before it or not', async (t) => {
  t.throws(() => parseJsonWithComments('\uFEFF{\n  // here\n  "a": [1 2]\n}', 'it'), { message: /line 3 column 11/ })
  t.same(parseJsonWithComments('\uFEFF{ "a": 1 }', 'it'), { a: 1 })
})
