import { appendFileSync, existsSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { test } from 'tap'
import { KeyedJournal, keptIn, readKeyedJournal } from './keyed_journal.ts'

test('the last value of a key counts, and null takes it away', async (t) => {
  const path = `${t.testdir()}/runs/a.jsonl`
  const journal = new KeyedJournal(path)
  journal.put(
    new Map([
      ['a', '1'],
      ['b', '{"x":2}'],
    ]),
  )
  await journal.written()
  journal.put(
    new Map([
      ['a', '3'],
      ['b', null],
    ]),
  )
  await journal.synced()
  t.same([...(await readKeyedJournal(path)).keys], [['a', 3]])
})

test('changes made together are there together, wherever the file was cut', async (t) => {
  const path = `${t.testdir()}/a.jsonl`
  const journal = new KeyedJournal(path)
  for (let i = 1; i <= 5; i++) {
    journal.put(
      new Map([
        ['a', `${i}`],
        ['b', `${i}`],
      ]),
    )
    await journal.written()
  }
  const text = readFileSync(path, 'utf8')
  for (let cut = 0; cut <= text.length; cut++) {
    const { keys, damage } = keptIn(text.slice(0, cut))
    t.equal(keys.get('a'), keys.get('b'))
    t.equal(damage, undefined, `cut at ${cut}`)
  }
  t.equal(keptIn(text).keys.get('a'), 5)
})

test('after a torn end it goes on', async (t) => {
  const path = `${t.testdir()}/a.jsonl`
  const journal = new KeyedJournal(path)
  journal.put(new Map([['a', '1']]))
  await journal.written()
  appendFileSync(path, '{"key":"a","val')
  const next = new KeyedJournal(path)
  next.put(new Map([['b', '2']]))
  await next.written()
  t.same(
    [...(await readKeyedJournal(path)).keys],
    [
      ['a', 1],
      ['b', 2],
    ],
  )
  truncateSync(path, 0)
  t.same([...(await readKeyedJournal(path)).keys], [])
})

test('changes that were cut off, wherever that was, do not take those after them along', async (t) => {
  const path = `${t.testdir()}/a.jsonl`
  const group = '\n{"key":"torn","value":1}\n{"key":"a","value":2}\n{"together":2}'
  for (let cut = 0; cut < group.length; cut++) {
    writeFileSync(path, `\n{"key":"a","value":1}\n{"together":1}\n${group.slice(0, cut)}`)
    const next = new KeyedJournal(path)
    next.put(new Map([['b', '3']]))
    await next.written()
    const expected = { a: 1, b: 3 }
    t.same(Object.fromEntries((await readKeyedJournal(path)).keys), expected, `cut at ${cut}`)
  }
})

test('what is put while it writes goes with the next, and what failed is tried again', async (t) => {
  const folder = t.testdir({ taken: 'a file' })
  const journal = new KeyedJournal(`${folder}/taken/a.jsonl`)
  journal.put(new Map([['a', '1']]))
  await t.rejects(journal.written(), { code: 'storage' })
  rmSync(`${folder}/taken`)
  journal.put(new Map([['b', '2']]))
  await journal.written()
  t.same([...(await readKeyedJournal(`${folder}/taken/a.jsonl`)).keys.keys()].sort(), ['a', 'b'])
  const good = new KeyedJournal(`${folder}/good.jsonl`)
  good.put(new Map([['a', '1']]))
  good.put(new Map([['b', '2']]))
  await good.written()
  good.put(new Map([['c', '3']]))
  await good.written()
  t.same([...(await readKeyedJournal(`${folder}/good.jsonl`)).keys.keys()], ['a', 'b', 'c'])
})

test('one that is not there is empty; one that was removed is not there', async (t) => {
  const path = `${t.testdir()}/a.jsonl`
  t.same([...(await readKeyedJournal(path)).keys], [])
  const journal = new KeyedJournal(path)
  journal.put(new Map([['a', '1']]))
  await journal.remove()
  t.same([...(await readKeyedJournal(path)).keys], [])
})

test('a file that has grown to many times what stands begins anew with that, over a restart too', async (t) => {
  const folder = t.testdir()
  const path = `${folder}/a.jsonl`
  const most = 1_048_576 + 100_000
  let journal = new KeyedJournal(path)
  journal.put(new Map([['first', '"stays"']]))
  const text = JSON.stringify('x'.repeat(20_000))
  for (let i = 0; i < 200; i++) {
    if (i % 30 === 0) {
      await journal.synced()
      journal = new KeyedJournal(path)
    }
    journal.put(
      new Map([
        [`key ${i % 5}`, text],
        ['last', `${i}`],
        ['gone', i === 0 ? '1' : null],
      ]),
    )
    await journal.written()
    t.ok(statSync(path).size < most, `${statSync(path).size} bytes`)
  }
  await journal.synced()
  const { keys } = await readKeyedJournal(path)
  t.same([...keys.keys()].sort(), ['first', 'key 0', 'key 1', 'key 2', 'key 3', 'key 4', 'last'])
  t.equal(keys.get('last'), 199)
  t.same(readdirSync(folder), ['a.jsonl'])
})

test('where nearly all of it stands the file grows on', async (t) => {
  const path = `${t.testdir()}/a.jsonl`
  const journal = new KeyedJournal(path)
  const inodes = new Set<number>()
  for (let i = 0; i < 30; i++) {
    journal.put(new Map([[`key ${i}`, JSON.stringify('x'.repeat(100_000))]]))
    await journal.written()
    inodes.add(statSync(path).ino)
  }
  t.equal(inodes.size, 1)
  t.equal((await readKeyedJournal(path)).keys.size, 30)
  t.ok(statSync(path).size > 3_000_000)
})

test('a byte that is flipped anywhere is told as damage, or costs nothing', async (t) => {
  const path = `${t.testdir()}/a.jsonl`
  const journal = new KeyedJournal(path)
  for (let i = 1; i <= 3; i++) {
    journal.put(
      new Map([
        ['a', `{"n":${i}}`],
        [`b ${i}`, `${i}`],
      ]),
    )
    await journal.written()
  }
  const whole = readFileSync(path)
  const { keys: wanted } = keptIn(whole.toString())
  t.equal(wanted.size, 4)
  for (let at = 0; at < whole.length; at++) {
    for (const mask of [1 << (at % 8), 0x0a ^ whole[at]!]) {
      const flipped = Buffer.from(whole)
      flipped[at] = flipped[at]! ^ mask
      const { keys, damage } = keptIn(flipped.toString())
      if (damage === undefined) t.same(keys, wanted, `byte ${at}`)
    }
  }
  for (const [from, to] of [
    [0, whole.length],
    [10, 20],
    [whole.length - 5, whole.length],
  ]) {
    const zeroed = Buffer.from(whole)
    zeroed.fill(0, from, to)
    t.match(keptIn(zeroed.toString()).damage, /./)
  }
  t.match(keptIn(`${whole}${'\0'.repeat(100)}`).damage, /zeros/)
})

test('changes that a full disk cut off in the middle are no damage once others follow', async (t) => {
  const path = `${t.testdir()}/a.jsonl`
  const journal = new KeyedJournal(path)
  journal.put(new Map([['a', '1']]))
  await journal.written()
  const text = readFileSync(path, 'utf8')
  const old = text.replaceAll(/,"crc":"[0-9a-f]{8}"/g, '')
  for (const before of [text, old]) {
    for (const torn of ['\n{"key":"b","va', '\n{"key":"b","value":1}\n', '\n', '\n{"key":"b","value":1}\n{"together":1']) {
      writeFileSync(path, before + torn)
      t.same(await readKeyedJournal(path), { keys: new Map([['a', 1]]), damage: undefined })
      const next = new KeyedJournal(path)
      next.put(new Map([['c', '2']]))
      await next.written()
      const { keys, damage } = await readKeyedJournal(path)
      t.same([Object.fromEntries(keys), damage], [{ a: 1, c: 2 }, undefined])
    }
    // As versions before left it in the middle of a file.
    writeFileSync(path, `${old}\n{"key":"b","va${old}`)
    t.same((await readKeyedJournal(path)).damage, undefined)
    writeFileSync(path, `${text}\n{"key":"b","va${text}`)
    t.match((await readKeyedJournal(path)).damage, /not as they were written/)
  }
})

test('one that is no file any more is damaged', async (t) => {
  const path = t.testdir({ 'a.jsonl': {} })
  t.same(await readKeyedJournal(`${path}/a.jsonl`), { keys: new Map(), damage: 'it is a folder' })
  writeFileSync(`${path}/b.jsonl`, '')
  truncateSync(`${path}/b.jsonl`, 700 * 1024 * 1024)
  t.same(await readKeyedJournal(`${path}/b.jsonl`), { keys: new Map(), damage: 'it is larger than any file of the service' })
})

test('an end that is no torn one of its own lines is damage', async (t) => {
  const path = `${t.testdir()}/a.jsonl`
  const journal = new KeyedJournal(path)
  journal.put(new Map([['a', '1']]))
  await journal.written()
  const text = readFileSync(path, 'utf8')
  for (const torn of ['{', '{"ke', '{"key":"b","va', '{"together":1,"cr']) {
    writeFileSync(path, text + torn)
    t.same((await readKeyedJournal(path)).damage, undefined, torn)
  }
  for (const strange of ['x', '{"x', 'x'.repeat(10_000)]) {
    writeFileSync(path, text + strange)
    t.match((await readKeyedJournal(path)).damage, /not as they were written/, strange.slice(0, 10))
  }
})

test('nothing is written before what must be known elsewhere is', async (t) => {
  const path = `${t.testdir()}/a.jsonl`
  let know = () => {}
  const known = new Promise<void>((resolve) => {
    know = resolve
  })
  const journal = new KeyedJournal(path, () => known)
  journal.put(new Map([['a', '1']]))
  await new Promise(setImmediate)
  t.notOk(existsSync(path))
  journal.put(new Map([['a', '2']]))
  know()
  await journal.written()
  t.equal((await readKeyedJournal(path)).keys.get('a'), 2)
})
