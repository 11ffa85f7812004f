import { test } from 'tap'
import * as v from 'valibot'
import { byCodePoint, Id, Name } from './name.ts'

test('a name is any well-formed text of 1 to 128 code points without control characters', async (t) => {
  for (const good of ['a', 'Schüttler/links', '機械', '😀'.repeat(128), '...', '.a', ' ', 'e\u0301', '__proto__', '%2e']) {
    t.ok(v.is(Name, good), JSON.stringify(good))
  }
  for (const bad of [
    '',
    '.',
    '..',
    'a\n',
    'a\u0000b',
    '\u0085',
    '\u007f',
    '\ud83d',
    'a\udc00b',
    'a'.repeat(129),
    '😀'.repeat(129),
    7,
    null,
  ]) {
    t.notOk(v.is(Name, bad), JSON.stringify(bad))
  }
})

test('an id has nothing in it that means something in a path or in an event name', async (t) => {
  for (const good of ['shaker-1', 'A_b', '7', 'a'.repeat(64)]) t.ok(v.is(Id, good), good)
  for (const bad of ['', 'a.b', 'a/b', 'a b', 'ä', 'a'.repeat(65), 'a\n']) t.notOk(v.is(Id, bad), bad)
})

test('names are ordered as the bytes of their UTF-8 are', async (t) => {
  const names = ['b', 'a', '\uffee', '😀', '\ue000', 'ab', '', '😀a', '機', '\ud7ff']
  const bytewise = names.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
  t.same(names.toSorted(byCodePoint), bytewise)
})
