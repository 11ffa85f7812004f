import { test } from 'tap'
import * as v from 'valibot'
import { Barcode, byCodePoint, byName, Host, Id, Name } from './name.ts'

test('a name is any well-formed text of 1 to 128 code points without control characters', async (t) => {
  for (const good of ['a', 'Schüttler/links', '機械', '😀'.repeat(128), '...', '.a', 'a b', 'e\u0301', '__proto__', '%2e']) {
    t.ok(v.is(Name, good), JSON.stringify(good))
  }
  for (const bad of [
    '',
    '.',
    '..',
    ' ',
    '  . ',
    'a\nb',
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

test('white space at the ends of a name is taken off', async (t) => {
  t.equal(v.parse(Name, '  x y\u00a0\n'), 'x y')
  t.same(v.parse(byName(v.number()), { ' pad_1 ': 1 }), { pad_1: 1 })
})

test('a barcode is kept in one form, without what a scanner or a table adds at its ends', async (t) => {
  for (const read of ['00123', '00123\r\n', ' 00123\t', '\u000200123\u0003', '\ufeff00123\u200b', '\u00a000123'])
    t.equal(v.parse(Barcode, read), '00123', JSON.stringify(read))
  t.equal(v.parse(Barcode, 'e\u0301'), '\u00e9')
  // The separator of fields of GS1.
  t.equal(v.parse(Barcode, '10A\u001d21B\r'), '10A\u001d21B')
  t.equal(v.parse(Barcode, `${'x'.repeat(128)}\r\n`).length, 128)
  for (const bad of ['', ' \r\n', 'x'.repeat(129), 7]) t.notOk(v.is(Barcode, bad), JSON.stringify(bad))
})

test('two names that look alike are refused side by side', async (t) => {
  const alike = [
    ['\u00e9', 'e\u0301'],
    ['pad', 'pa\u200bd'],
    ['pad 1', 'pad\u00a01'],
  ]
  for (const [one = '', other = ''] of alike)
    t.match(v.safeParse(byName(v.number()), { [one]: 1, [other]: 2 }).issues, [{ message: /which look alike/ }], JSON.stringify(other))
  t.ok(v.is(byName(v.number()), { pad_1: 1, 'pad 1': 2, Pad_1: 3 }))
})

test('two names that differ in white space at their ends alone are refused where they would become one', async (t) => {
  const refused = v.safeParse(v.object({ positions: byName(v.number()) }), { positions: { pad: 1, 'pad ': 2 } })
  t.match(refused.issues?.[0], { message: 'has "pad" and "pad ", which look alike: a person would take one for the other' })
  t.match(v.safeParse(byName(v.number()), { pad: 'x' }).issues, [{}])
  t.equal(v.is(byName(v.number()), 7), false)
})

test('a host is an address, or a name that can be one', async (t) => {
  const good = [
    '0.0.0.0',
    '192.168.1.20',
    '::',
    '::1',
    'fe80::1%eth0',
    'fe80::1%br_lan',
    'localhost',
    'bench-1',
    'bench-1.local',
    'box.lab.',
    '3com',
    'a_b',
    'x--y.z',
  ]
  for (const host of good) t.ok(v.is(Host, host), host)
  const bad = [
    '0.0.0.0x',
    '0.0.0',
    '256.1.1.1',
    '1.2.3.4.5',
    '80',
    '',
    'http://box',
    'box:80',
    '[::1]',
    'a b',
    '-a',
    'a..b',
    '.',
    ':::',
    'fe80::1%',
    '10.0.0.1%eth0',
    'bench%eth0',
    'a'.repeat(64),
  ]
  for (const host of bad) t.notOk(v.is(Host, host), host)
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
