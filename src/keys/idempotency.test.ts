import { appendFileSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { type Test, test } from 'tap'
import { Idempotency, type IdempotentRequest } from './idempotency.ts'
import { bounds, longestAnswer } from './idempotency_table.ts'

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

/** Carries out so many requests of an API key, `0` and on. */
async function many(once: Idempotency, count: number, key_id = 'aaaaaaaa', of = answer) {
  for (let i = 0; i < count; i++) {
    await once.begin({ ...asked(`${i}`), key_id })
    await once.end({ ...asked(`${i}`), key_id }, of, 'keep')
  }
}

const noLongerStored = { code: 'conflict', message: /was sent before, by 2001-09-09 01:46 UTC, and is not done again/ }

test('the newest thousand answers of an API key are kept, what runs longer, and of older requests that they were made, in a file that does not grow for ever', async (t) => {
  const { once, folder, open, time } = await begin(t)
  await once.begin(asked('first, and still running'))
  await many(once, 2600)
  const looked = async (at: Idempotency) => {
    t.same(await at.begin(asked('2599')), answer)
    t.same(await at.begin(asked('1700')), answer)
    for (const old of ['0', '1000', '1599']) await t.rejects(at.begin(asked(old)), noLongerStored)
  }
  await looked(once)
  await t.rejects(once.begin(asked('first, and still running')), { code: 'in_progress' })
  t.ok(readFileSync(`${folder}/idempotency.jsonl`, 'utf8').split('\n').length < 4100)
  time.now += 24 * 3600 - 1
  await looked(await open())
  time.now += 2
  for (const at of [once, await open()]) t.equal(await at.begin(asked('0')), undefined, 'a day later it is forgotten')
})

test('the requests of other API keys, however many, leave those of a key as they are', async (t) => {
  const { once, open } = await begin(t)
  await once.begin(asked('a'))
  await once.end(asked('a'), answer, 'keep')
  const long = { ...answer, body: 'x'.repeat(15_000) }
  for (const key_id of ['bbbbbbbb', 'cccccccc']) await many(once, 700, key_id, long)
  for (const at of [once, await open()]) {
    t.same(await at.begin(asked('a')), answer)
    t.same(await at.begin({ ...asked('699'), key_id: 'bbbbbbbb' }), long)
    await t.rejects(at.begin({ ...asked('0'), key_id: 'bbbbbbbb' }), noLongerStored, 'whose answers take the most gives some up')
  }
})

test('an API key of which no more requests can be remembered is refused new ones, and others are not', async (t) => {
  const { once, time, open, folder } = await begin(t)
  await once.close()
  const past = (count: number) => Array.from({ length: count }, (_, i) => `past ${i}`)
  const lines = [
    { key_id: 'aaaaaaaa', at: time.now, past: past(bounds.past) },
    ...past(bounds.answers).map((id) => ({ id, key_id: 'aaaaaaaa', sha256: '', at: time.now, state: 'ended', answer })),
  ]
  writeFileSync(`${folder}/idempotency.jsonl`, `{"format":1}\n${lines.map((line) => `${JSON.stringify(line)}\n`).join('')}`)
  const full = await open()
  time.now += 3600
  const refused = { code: 'overloaded', message: /this API key has sent 21000 .* nothing was done/, retry_after_s: 23 * 3600 }
  await t.rejects(full.begin(asked('new')), refused)
  t.equal(await full.begin({ ...asked('new'), key_id: 'bbbbbbbb' }), undefined)
  time.now += 23 * 3600 + 1
  t.equal(await full.begin(asked('new')), undefined)
})

test('an API key with long answers is refused new requests too when no more can be remembered', async (t) => {
  const { once, time, open, folder } = await begin(t)
  await once.close()
  const past = { key_id: 'aaaaaaaa', at: time.now, past: Array.from({ length: bounds.past }, (_, i) => `past ${i}`) }
  writeFileSync(`${folder}/idempotency.jsonl`, `{"format":1}\n${JSON.stringify(past)}\n`)
  const full = await open()
  const long = { ...answer, body: 'x'.repeat(longestAnswer) }
  const fitting = Math.floor(bounds.bytes / (longestAnswer + 512))
  t.ok(fitting < bounds.answers, 'the bytes are used up before the number of answers')
  await many(full, fitting, 'aaaaaaaa', long)
  await t.rejects(full.begin(asked('new')), { code: 'overloaded', message: new RegExp(`this API key has sent ${bounds.past + fitting} `) })
  t.same(await full.begin(asked('0')), long)
  t.equal(await full.begin({ ...asked('new'), key_id: 'bbbbbbbb' }), undefined, 'others are not')
})

test('where no more requests of all API keys can be remembered, each key has the room for its answers still', async (t) => {
  const { once, time, open, folder } = await begin(t)
  await once.close()
  const lines = Array.from({ length: bounds.allPast / 10_000 }, (_, key) => ({
    key_id: `other${key}`,
    at: time.now,
    past: Array.from({ length: 10_000 }, (_, i) => `${key} ${i}`),
  }))
  writeFileSync(`${folder}/idempotency.jsonl`, `{"format":1}\n${lines.map((line) => `${JSON.stringify(line)}\n`).join('')}`)
  const full = await open()
  await many(full, bounds.answers)
  await t.rejects(full.begin(asked('new')), { code: 'overloaded', message: /other API keys have sent 200000/ })
  t.same(await full.begin(asked('0')), answer)
})

test('requests of before the file named their API keys are answered as then', async (t) => {
  const { once, open, folder, time } = await begin(t)
  await once.begin(asked('a'))
  await once.end(asked('a'), answer, 'keep')
  await once.close()
  const path = `${folder}/idempotency.jsonl`
  const lines = readFileSync(path, 'utf8').split('\n').slice(2, -1)
  const older = lines.map((line) => JSON.stringify({ ...JSON.parse(line), crc: undefined, key_id: undefined }))
  writeFileSync(path, `{"format":1}\n${older.join('\n')}\n`)
  const after = await open()
  t.same(await after.begin(asked('a')), answer)
  await many(after, 10)
  t.same(await (await open()).begin(asked('a')), answer)
  time.now += 24 * 3600 + 1
  t.equal(await after.begin(asked('a')), undefined)
})

test('requests that a clock which was ahead has dated do not keep others from being forgotten', async (t) => {
  const { once, time, open } = await begin(t)
  time.set = 365 * 24 * 3600
  await once.begin(asked('ahead'))
  await once.end(asked('ahead'), answer, 'keep')
  time.set = 0
  await once.begin(asked('a'))
  await once.end(asked('a'), answer, 'keep')
  time.now += 24 * 3600 + 1
  const after = await open()
  t.equal(await after.begin(asked('a')), undefined)
  t.same(await after.begin(asked('ahead')), answer, 'for one more day')
  time.now += 24 * 3600 + 1
  t.equal(await after.begin(asked('ahead')), undefined)
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
