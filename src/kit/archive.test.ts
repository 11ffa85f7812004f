import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { gunzipSync, gzipSync } from 'node:zlib'
import { test } from 'tap'
import { Archive, contentOf, pack, saveAs } from './archive.ts'
import { writeOpen } from './open_file.ts'
import { bytesOf } from './tree.ts'

const long = `${'folder/'.repeat(15)}${'n'.repeat(90)}`

async function read(path: string): Promise<Map<string, string>> {
  const archive = await Archive.open(path)
  const found = new Map<string, string>()
  try {
    await archive.read(async (file, content) => void found.set(file.name, (await contentOf(file, content, 1e6)).toString()))
  } finally {
    await archive.close()
  }
  return found
}

test('what was packed is read out as it was, by us and by tar', async (t) => {
  const folder = t.testdir({ a: 'x'.repeat(1000), empty: '', out: {} })
  const path = `${folder}/it.tar.gz`
  let told: readonly object[] = []
  const parts = [
    { name: 'state/a', path: `${folder}/a` },
    { name: 'gone', path: `${folder}/gone` },
    { name: 'state/empty', path: `${folder}/empty` },
    { name: long, text: 'long' },
  ]
  await pack(path, parts, (packed) => {
    told = [...packed]
    return { name: 'list', text: 'ä' }
  })
  t.same(
    [...(await read(path))],
    [
      ['state/a', 'x'.repeat(1000)],
      ['state/empty', ''],
      [long, 'long'],
      ['list', 'ä'],
    ],
  )
  t.match(told, [{ name: 'state/a', size: 1000, sha256: createHash('sha256').update('x'.repeat(1000)).digest('hex') }, {}, {}])
  t.equal(statSync(path).mode & 0o777, 0o600)
  execFileSync('tar', ['-xzf', path, '-C', `${folder}/out`])
  t.equal(readFileSync(`${folder}/out/state/a`, 'utf8'), 'x'.repeat(1000))
  t.equal(readFileSync(`${folder}/out/${long}`, 'utf8'), 'long')
  t.same(readdirSync(folder).sort(), ['a', 'empty', 'it.tar.gz', 'out'])
})

test('a file that grows while it is packed is in it as long as it was', async (t) => {
  const folder = t.testdir({ log: 'a line\n'.repeat(50_000) })
  const path = `${folder}/it.tar.gz`
  const packing = pack(path, [{ name: 'log', path: `${folder}/log` }])
  let isDone = false
  const done = packing.then(() => {
    isDone = true
  })
  let lines = 0
  while (!isDone) {
    appendFileSync(`${folder}/log`, 'another line\n')
    lines++
    await new Promise(setImmediate)
  }
  await done
  t.ok(lines > 2, `${lines} lines were added`)
  const text = (await read(path)).get('log') ?? ''
  t.ok(readFileSync(`${folder}/log`, 'utf8').startsWith(text))
  t.ok(text.length >= 350_000)
})

test('an archive that cannot be written is not there at all, nor one that is given up', async (t) => {
  const folder = t.testdir({ a: 'x'.repeat(300_000) })
  await t.rejects(pack(`${folder}/none/it.tar.gz`, [{ name: 'a', path: `${folder}/a` }]), { code: 'storage' })
  await t.rejects(pack(`${folder}/it.tar.gz`, [{ name: 'a', path: `${folder}` }]), { code: 'storage' })
  await t.rejects(pack(`${folder}/it.tar.gz`, [{ name: 'n'.repeat(300), text: '' }]), { code: 'invalid' })
  const signal = AbortSignal.abort(new Error('given up'))
  await t.rejects(pack(`${folder}/it.tar.gz`, [{ name: 'a', path: `${folder}/a` }], undefined, signal))
  t.same(readdirSync(folder), ['a'])
})

test('an archive cut anywhere, or with a byte of it flipped, is found out', async (t) => {
  const folder = t.testdir({ a: 'some text that is not very long' })
  await pack(`${folder}/it.tar.gz`, [{ name: 'state/a', path: `${folder}/a` }], () => ({ name: 'list', text: 'end' }))
  const whole = readFileSync(`${folder}/it.tar.gz`)
  for (let length = 0; length < whole.length; length++) {
    writeFileSync(`${folder}/cut`, whole.subarray(0, length))
    await t.rejects(read(`${folder}/cut`), { code: 'storage' }, `cut to ${length}`)
  }
  const good = await read(`${folder}/it.tar.gz`)
  let same = 0
  for (let at = 0; at < whole.length; at++) {
    const bytes = Buffer.from(whole)
    bytes[at]! ^= 0x10
    writeFileSync(`${folder}/flipped`, bytes)
    // Of the head of the zip there are bytes that mean nothing, its time as an example.
    const outcome = await read(`${folder}/flipped`).catch((error) => error)
    if (outcome instanceof Map) {
      t.same([...outcome], [...good], `byte ${at}`)
      same++
    } else t.equal(outcome.code, 'storage', `byte ${at}: ${outcome.message}`)
  }
  // How many depends on how the times in it compress.
  t.ok(same < 16, `${same} bytes mean nothing`)
})

test('what tar packs besides plain files is refused, and so is what stands behind the end', async (t) => {
  const folder = t.testdir({ in: { plain: 'x' } })
  const inside = `${folder}/in`
  symlinkSync('/etc/passwd', `${inside}/link`)
  execFileSync('ln', [`${inside}/plain`, `${inside}/twin`])
  execFileSync('mkfifo', [`${inside}/pipe`])
  mkdirSync(`${inside}/folder`)
  const tar = (...words: string[]) => {
    execFileSync('tar', ['-C', inside, '-czf', `${folder}/it.tar.gz`, ...words])
    return read(`${folder}/it.tar.gz`)
  }
  t.same([...(await tar('--format=ustar', 'plain'))], [['plain', 'x']])
  for (const name of ['link', 'pipe', 'folder']) await t.rejects(tar('--format=ustar', name), { message: /is no plain file/ }, name)
  await t.rejects(tar('--format=ustar', 'plain', 'twin'), { message: /"twin" in it is no plain file/ })
  await t.rejects(tar('--format=pax', '--pax-option=comment=x', 'plain'), { message: /is no plain file/ })
  writeFileSync(`${inside}/${'n'.repeat(150)}`, '')
  await t.rejects(tar('--format=gnu', 'n'.repeat(150)), { message: /no archive of benchd|no plain file/ })

  await tar('--format=ustar', 'plain')
  const bytes = gunzipSync(readFileSync(`${folder}/it.tar.gz`))
  writeFileSync(`${folder}/it.tar.gz`, gzipSync(Buffer.concat([bytes, Buffer.from('more')])))
  await t.rejects(read(`${folder}/it.tar.gz`), { message: /behind its end/ })
  writeFileSync(`${folder}/it.tar.gz`, gzipSync(Buffer.concat([bytes, Buffer.alloc(10_000_000)])))
  await t.rejects(read(`${folder}/it.tar.gz`), { message: /too much stands behind its end/ })
  await t.rejects(Archive.open(folder), { code: 'not_found' })
  await t.rejects(Archive.open(`${folder}/none`), { code: 'not_found' })
})

test('a copy goes to a new file that nobody else may read, or into a folder under its own name', async (t) => {
  const folder = t.testdir({ a: 'content', into: {} })
  const copy = (from: string) => (to: number) => writeOpen(to, bytesOf(from))
  t.equal(await saveAs(`${folder}/copy`, 'name', copy(`${folder}/a`)), `${folder}/copy`)
  t.equal(await saveAs(`${folder}/into`, 'name', copy(`${folder}/a`)), `${folder}/into/name`)
  t.equal(readFileSync(`${folder}/into/name`, 'utf8'), 'content')
  t.equal(statSync(`${folder}/copy`).mode & 0o777, 0o600)
  await t.rejects(saveAs(`${folder}/copy`, 'name', copy(`${folder}/a`)), { code: 'exists' })
  await t.rejects(saveAs(`${folder}/more`, 'name', copy(`${folder}/none`)), { code: 'storage' })
  t.notOk(existsSync(`${folder}/more`))
})
