import { appendFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type Test, test } from 'tap'
import { ChainedLines, verifyChain } from './chained_lines.ts'

const report = ({ message }: { message: string }) => {
  throw new Error(message)
}

async function begin(t: Test, more: { longest?: number; mostFiles?: number } = {}) {
  const path = `${t.testdir()}/audit.jsonl`
  const lines = new ChainedLines({ path, report, ...more })
  return { path, lines, read: () => readFileSync(path, 'utf8') }
}

test('what was written is whole, and goes on after a restart', async (t) => {
  const { path, lines } = await begin(t)
  await lines.add([{ a: 1 }, { a: 2 }])
  await lines.add([{ a: 3 }])
  await lines.close()
  const again = new ChainedLines({ path, report })
  await again.add([{ a: 4 }])
  await again.close()
  t.match(await verifyChain(path), { lines: 4, first_seq: 1, torn: 0, broken: [], head: again.head, has_wanted: null })
  t.same(
    again.newest.map(({ seq, entry }) => [seq, entry.a]),
    [
      [1, 1],
      [2, 2],
      [3, 3],
      [4, 4],
    ],
  )
  t.match(await verifyChain(path, { wanted: lines.head.hash }), { has_wanted: true })
})

test('each line that is changed, taken out, put in or moved is found', async (t) => {
  const { path, lines, read } = await begin(t)
  await lines.add(Array.from({ length: 6 }, (_, a) => ({ a })))
  await lines.close()
  const whole = read().trimEnd().split('\n')
  for (let i = 0; i < whole.length; i++) {
    const changed = whole.with(i, whole[i]!.replace(/"a":\d/, '"a":7'))
    const without = whole.toSpliced(i, 1)
    const doubled = whole.toSpliced(i, 0, whole[i]!)
    const moved = whole.toSpliced(i, 1).toSpliced((i + 1) % whole.length, 0, whole[i]!)
    for (const [how, all] of Object.entries({ changed, without, doubled, moved })) {
      writeFileSync(path, `${all.join('\n')}\n`)
      const { broken, has_wanted } = await verifyChain(path, { wanted: lines.head.hash })
      if (how === 'without' && i === whole.length - 1) t.equal(has_wanted, false, 'a cut end is seen by the head alone')
      else t.ok(broken.length > 0, `${how} ${i}`)
    }
  }
})

test('wherever a power cut tears the end, it goes on behind the last whole line', async (t) => {
  const { path, lines, read } = await begin(t)
  await lines.add([{ a: 1 }, { a: 2 }])
  await lines.close()
  const text = read()
  for (let cut = 0; cut <= text.length; cut++) {
    writeFileSync(path, text.slice(0, cut))
    const again = new ChainedLines({ path, report })
    await again.add([{ a: 'after' }])
    await again.close()
    const { broken, torn, lines: count } = await verifyChain(path)
    t.same(broken, [], `cut at ${cut}`)
    t.ok(torn <= 1 && count >= 1)
  }
  writeFileSync(path, text)
  appendFileSync(path, '\0'.repeat(4096))
  const told: string[] = []
  const zeroed = new ChainedLines({ path, report: ({ message }) => void told.push(message) })
  await zeroed.add([{ a: 3 }])
  await zeroed.close()
  t.match(await verifyChain(path), { files: 2, lines: 3, torn: 1, broken: [] })
  t.match(told, [/^audit\.jsonl is damaged \(there are zeros in it\).* kept as audit-000000000002\.jsonl/])
})

test('a file that is full is put aside, the newest are kept, and the chain goes through all of them', async (t) => {
  const { path, lines } = await begin(t, { longest: 300, mostFiles: 2 })
  for (let i = 0; i < 20; i++) await lines.add([{ i }])
  await lines.close()
  const names = readdirSync(t.testdirName)
  t.equal(names.length, 3)
  for (const name of names) t.match(name, /^audit(-\d{12})?\.jsonl$/)
  const found = await verifyChain(path)
  t.match(found, { files: 3, broken: [], head: { seq: 20 } })
  t.equal(found.first_seq! + found.lines - 1, 20)
  t.match(await verifyChain(`${t.testdirName}/${names[0]}`), { broken: [] }, 'and each by itself')
  const again = new ChainedLines({ path, report, longest: 300, mostFiles: 2 })
  await again.add([{ i: 20 }])
  await again.close()
  t.match(await verifyChain(path), { broken: [], head: { seq: 21 } })
})

test('a file that is missing between two others is found', async (t) => {
  const { path, lines } = await begin(t, { longest: 300, mostFiles: 5 })
  for (let i = 0; i < 8; i++) await lines.add([{ i }])
  await lines.close()
  const [first, second] = readdirSync(t.testdirName).sort()
  const { rmSync } = await import('node:fs')
  rmSync(`${t.testdirName}/${second}`)
  t.ok(first && (await verifyChain(path)).broken.length > 0)
})

test('a digit that was flipped is told when the file is begun again, and stays where who verifies it finds it', async (t) => {
  const { path, lines, read } = await begin(t)
  await lines.add([{ a: 1 }, { a: 2 }, { a: 3 }])
  await lines.close()
  writeFileSync(path, read().replace('"a":2', '"a":7'))
  const told: string[] = []
  const tell = ({ message }: { message: string }) => void told.push(message)
  const again = new ChainedLines({ path, report: tell })
  await again.add([{ a: 4 }])
  await again.close()
  t.match(told, [/^audit\.jsonl is damaged \(line 2: .*\): .* kept as audit-000000000003\.jsonl/])
  t.equal(again.newest.length, 4)
  t.match(await verifyChain(path), { files: 2, lines: 4, broken: [{ line: 2 }], head: { seq: 4 } })
  const next = new ChainedLines({ path, report: tell })
  await next.add([{ a: 5 }])
  await next.close()
  t.equal(told.length, 1)
})

test('a file that holds nothing but zeros, or a folder in its place, is set aside', async (t) => {
  for (const damage of ['zeros', 'folder']) {
    const path = `${t.testdir(damage === 'folder' ? { 'audit.jsonl': {} } : { 'audit.jsonl': '\0'.repeat(9000) })}/audit.jsonl`
    const told: string[] = []
    const lines = new ChainedLines({ path, report: ({ message }) => void told.push(message) })
    await lines.add([{ a: 1 }])
    await lines.close()
    t.match(told, [/kept as audit\.jsonl\.corrupt-/])
    t.match(await verifyChain(path), { files: 1, lines: 1, broken: [] })
  }
})

test('a line that is none of the chain, whole or torn, is told, and the chain goes on behind the last whole one', async (t) => {
  for (const [strange, kept] of [
    ['x'.repeat(5000), /is damaged \(line 3 is none of its lines\).* kept as audit-000000000002\.jsonl/],
    [undefined, /is damaged \(line 1 is none of its lines\).* kept as audit\.jsonl\.corrupt-/],
  ] as const) {
    const { path, lines } = await begin(t)
    await lines.add([{ a: 1 }, { a: 2 }])
    await lines.close()
    if (strange === undefined) writeFileSync(path, 'y'.repeat(5000))
    else appendFileSync(path, strange)
    const told: string[] = []
    const again = new ChainedLines({ path, report: ({ message }) => void told.push(message) })
    await again.add([{ a: 3 }])
    await again.close()
    t.match(told, [kept])
    t.match(await verifyChain(path), { broken: [] })
  }
})

test('files whose names begin alike are put aside and thrown away apart from each other', async (t) => {
  const folder = t.testdir()
  const report = () => undefined
  const [few, many] = ['audit.jsonl', 'audit-refused.jsonl'].map(
    (name) => new ChainedLines({ path: `${folder}/${name}`, longest: 300, mostFiles: 1, report }),
  )
  for (let i = 0; i < 4; i++) await few!.add([{ i }])
  const before = readdirSync(folder).filter((name) => !name.includes('refused'))
  for (let i = 0; i < 20; i++) await many!.add([{ i }])
  await Promise.all([few!.close(), many!.close()])
  t.same(
    readdirSync(folder).filter((name) => !name.includes('refused')),
    before,
  )
  t.match(await verifyChain(`${folder}/audit.jsonl`), { broken: [], head: { seq: 4 } })
  t.match(await verifyChain(`${folder}/audit-refused.jsonl`), { broken: [], head: { seq: 20 } })
})

test('a file that is deleted while it is open is reported, and what comes after is there and continues the chain', async (t) => {
  const path = `${t.testdir()}/audit.jsonl`
  const reports: string[] = []
  const lines = new ChainedLines({ path, report: ({ message }) => reports.push(message) })
  await lines.add([{ a: 1 }, { a: 2 }])
  rmSync(path)
  await lines.add([{ a: 3 }])
  await lines.add([{ a: 4 }])
  await lines.close()
  t.match(reports, [/audit\.jsonl was deleted while the service ran/])
  t.equal(reports.length, 1)
  t.match(await verifyChain(path), { lines: 2, first_seq: 3, broken: [], head: lines.head })
})
