import { appendFileSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { type Test, test } from 'tap'
import { Idempotency, type IdempotentRequest } from './idempotency.ts'

const answer = { status: 200, headers: { 'content-type': 'application/json' }, body: '{"success":true}' }
const asked = (idempotency_key: string): IdempotentRequest => ({
  key_id: 'aaaaaaaa',
  method: 'POST',
  path: '/api/x',
  idempotency_key,
  body: Buffer.from('{}'),
})

async function begin(t: Test) {
  const folder = t.testdir()
  const time = { now: 1e9, set: 0 }
  const opened: Idempotency[] = []
  const told: string[] = []
  const operator = { hasLooked: false }
  t.teardown(() => Promise.all(opened.map((once) => once.close())))
  const tellLost = (message: string) => {
    told.push(message)
    return () => operator.hasLooked
  }
  const open = async (isUsed = opened.length > 0) => {
    const once = await Idempotency.open({ folder, isUsed, now: () => time.now, wall: () => time.now + time.set, tellLost })
    opened.push(once)
    return once
  }
  return { folder, time, open, told, operator, once: await open() }
}

test('an answer is kept for a day', async (t) => {
  const { once, time, open } = await begin(t)
  t.equal(await once.begin(asked('a')), undefined)
  await once.end(asked('a'), answer, 'keep')
  time.now += 24 * 3600 - 1
  t.same(await once.begin(asked('a')), answer)
  t.same(await (await open()).begin(asked('a')), answer)
  time.now += 2
  t.equal(await once.begin(asked('a')), undefined)
  t.equal(await (await open()).begin(asked('b')), undefined)
})

test('an answer outlasts a restart after the clock of a board without a battery was set', async (t) => {
  const { once, time, open } = await begin(t)
  time.set = 60 * 3600
  await once.begin(asked('a'))
  await once.end(asked('a'), answer, 'keep')
  t.same(await once.begin(asked('a')), answer)
  time.now += 60 * 3600
  time.set = 0
  t.same(await (await open()).begin(asked('a')), answer)
})

test('on the first day of 1970 nothing is said to be lost', async (t) => {
  const told: string[] = []
  const tellLost = (message: string) => {
    told.push(message)
    return () => false
  }
  const once = await Idempotency.open({ folder: t.testdir(), isUsed: false, now: () => 10, tellLost })
  t.teardown(() => once.close())
  t.same(told, [])
  t.equal(await once.begin(asked('a')), undefined)
})

test('the newest thousand are kept, what runs longer than that, and a file that does not grow for ever', async (t) => {
  const { once, folder, open } = await begin(t)
  await once.begin(asked('first, and still running'))
  for (let i = 0; i < 2100; i++) {
    await once.begin(asked(`${i}`))
    await once.end(asked(`${i}`), answer, 'keep')
  }
  t.same(await once.begin(asked('2099')), answer)
  t.same(await once.begin(asked('1200')), answer)
  await t.rejects(once.begin(asked('first, and still running')), { code: 'in_progress' })
  t.equal(await once.begin(asked('1000')), undefined)
  t.ok(readFileSync(`${folder}/idempotency.jsonl`, 'utf8').split('\n').length < 4100)
  t.same(await (await open()).begin(asked('2099')), answer)
})

test('a long answer is not kept, but what it answered is not done again', async (t) => {
  const { once } = await begin(t)
  await once.begin(asked('a'))
  await once.end(asked('a'), { ...answer, body: 'x'.repeat(20_000) }, 'keep')
  await t.rejects(once.begin(asked('a')), { code: 'conflict', message: /carried out, and its answer was not kept/ })
})

const damages: Record<string, (path: string) => void> = {
  zeros: (path) => writeFileSync(path, Buffer.alloc(readFileSync(path).length)),
  'a flipped digit': (path) => writeFileSync(path, readFileSync(path, 'utf8').replace('"state":"running"', '"state":"runninf"')),
  'nothing left': (path) => writeFileSync(path, ''),
  'a folder': (path) => {
    rmSync(path)
    mkdirSync(path)
  },
  'the file removed': (path) => rmSync(path),
  'its last lines cut off': (path) => truncateSync(path, readFileSync(path).lastIndexOf('{"crc"')),
  'its last line cut in two': (path) => truncateSync(path, readFileSync(path).length - 20),
  'only its format left': (path) => writeFileSync(path, '{"format":3}\n'),
  'its format flipped': (path) => writeFileSync(path, '{"format":7}\n'),
}

test('where nothing was ever done, nothing is missing', async (t) => {
  const { once, open, told, folder } = await begin(t)
  await once.close()
  rmSync(`${folder}/idempotency.jsonl`)
  t.equal(await (await open(false)).begin(asked('a')), undefined)
  t.same(told, [])
})

for (const [what, damage] of Object.entries(damages)) {
  test(`after ${what} in the file nothing is done that may have been done, until somebody has looked or a day is over`, async (t) => {
    const { once, time, open, folder, told, operator } = await begin(t)
    const path = `${folder}/idempotency.jsonl`
    await once.begin(asked('lost'))
    await once.close()
    damage(path)
    const refused = (of: Idempotency, key: string) =>
      t.rejects(of.begin(asked(key)), { code: 'conflict', message: /may have been carried out before/ })
    const after = await open()
    t.match(told, [/^idempotency\.jsonl is damaged \(.*\): requests with an Idempotency-Key may be forgotten/])
    await refused(after, 'lost')
    await refused(after, 'new')
    await after.close()
    time.now += 12 * 3600
    const next = await open()
    t.match(told[1], /^idempotency\.jsonl was damaged at 2001-09-09 01:46 UTC/)
    await refused(next, 'lost')
    time.now += 12 * 3600 + 1
    t.equal(await next.begin(asked('lost')), undefined, 'a day later it would not be known anyway')
    await next.close()
    t.equal(told.length, 2)
    await open()
    t.equal(told.length, 2, 'and the file has forgotten it')
    damage(path)
    const again = await open()
    await refused(again, 'lost')
    operator.hasLooked = true
    t.equal(await again.begin(asked('new')), undefined)
    await again.end(asked('new'), answer, 'keep')
    await again.close()
    operator.hasLooked = false
    const last = await open()
    t.same(await last.begin(asked('new')), answer)
    t.equal(await last.begin(asked('lost')), undefined)
    t.equal(told.length, 3)
  })
}

test('what is whole in a damaged file is answered as before', async (t) => {
  const { once, open, folder } = await begin(t)
  const path = `${folder}/idempotency.jsonl`
  for (const key of ['a', 'b', 'c']) {
    await once.begin(asked(key))
    await once.end(asked(key), answer, 'keep')
  }
  await once.close()
  const lines = readFileSync(path, 'utf8').split('\n')
  // Of b that it began, and what it came to.
  writeFileSync(path, lines.map((line, i) => (i === 4 || i === 5 ? line.replace('"at":', '"aт":') : line)).join('\n'))
  const after = await open()
  t.same(await after.begin(asked('a')), answer)
  t.same(await after.begin(asked('c')), answer)
  await t.rejects(after.begin(asked('b')), { code: 'conflict' })
})

test('a line that the power cut off is no damage: nobody was told that it is there', async (t) => {
  const { once, open, folder, told } = await begin(t)
  await once.begin(asked('a'))
  await once.end(asked('a'), answer, 'keep')
  appendFileSync(`${folder}/idempotency.jsonl`, '{"crc":"00000000","id":"b')
  const after = await open()
  t.equal(await after.begin(asked('b')), undefined)
  t.same(told, [])
})
