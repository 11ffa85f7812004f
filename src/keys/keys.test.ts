import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { type Test, test } from 'tap'
import { VirtualClock } from '../kit/clock.ts'
import { allows, Keys, scopes } from './keys.ts'

test('a key opens what it was made for, and its secret is nowhere but with its owner', async (t) => {
  const { keys, open, folder } = await begin(t)
  const { api_key, ...record } = await keys.create({ name: 'Dashboard', scope: 'operate' })
  t.match(api_key, /^bk_[a-z0-9]{8}_[A-Za-z0-9_-]{43}$/)
  t.same(record, {
    key_id: api_key.slice(3, 11),
    name: 'Dashboard',
    scope: 'operate',
    created_at: 1e9,
    expires_at: null,
    revoked_at: null,
    last_used_at: null,
  })
  t.same(keys.check(api_key), record)
  t.same((await open()).check(api_key)?.key_id, record.key_id)
  const [listed] = keys.list()
  t.match(listed, { key_id: record.key_id, scope: 'operate' })
  t.notOk('sha256' in listed!)
  t.notMatch(readFileSync(`${folder}/keys.json`, 'utf8'), api_key.slice(12))
  t.equal(statSync(`${folder}/keys.json`).mode & 0o777, 0o600)
})

test('a scope allows what stands before it', async (t) => {
  t.same(
    scopes.map((scope) => scopes.map((wanted) => allows(scope, wanted))),
    [
      [true, false, false],
      [true, true, false],
      [true, true, true],
    ],
  )
})

test('whatever is not exactly a key is refused', async (t) => {
  const { keys } = await begin(t)
  const { api_key } = await keys.create({ name: 'one', scope: 'admin' })
  const { api_key: other } = await keys.create({ name: 'two', scope: 'read' })
  const last = api_key.at(-1) === 'A' ? 'B' : 'A'
  const wrong = {
    empty: '',
    blank: ' ',
    prefix: api_key.slice(0, -1),
    'only the id': api_key.slice(0, 11),
    'no secret': api_key.slice(0, 12),
    longer: `${api_key}A`,
    'upper case': api_key.toUpperCase(),
    'other case': api_key.slice(0, 12) + swapped(api_key.slice(12)),
    doubled: `${api_key}, ${api_key}`,
    'with blanks': ` ${api_key} `,
    'with a line end': `${api_key}\n`,
    'other last character': api_key.slice(0, -1) + last,
    "another key's secret": api_key.slice(0, 12) + other.slice(12),
    'unknown id': `bk_zzzzzzzz_${api_key.slice(12)}`,
    'other prefix': `lr${api_key.slice(2)}`,
    'a bearer': `Bearer ${api_key}`,
    'member of every object': 'bk_toString_0000000000000000000000000000000000000000000',
    long: 'bk_'.repeat(100_000),
  }
  for (const [name, header] of Object.entries(wrong)) t.equal(keys.check(header), undefined, name)
  t.ok(keys.check(api_key))
  for (const [name, header] of Object.entries(wrong)) t.equal(keys.check(header), undefined, `${name}, after the right one`)
  t.ok(keys.check(api_key))
})

test('without a file nobody comes in', async (t) => {
  const { keys } = await begin(t)
  t.same(keys.list(), [])
  t.equal(keys.check(`bk_aaaaaaaa_${'A'.repeat(43)}`), undefined)
})

test('a key ends when it expires', async (t) => {
  const { keys, time } = await begin(t)
  const { api_key } = await keys.create({ name: 'guest', scope: 'read', expires_at: 1e9 + 60 })
  time.now += 59.999
  t.ok(keys.check(api_key))
  time.now += 0.001
  t.equal(keys.check(api_key), undefined)
  await t.rejects(keys.create({ name: 'late', scope: 'read', expires_at: 1e9 }), { code: 'invalid', message: /in the past/ })
  await t.rejects(keys.create({ name: 'never', scope: 'read', expires_at: 0 }), { code: 'invalid' })
})

test('a key that has ended stays so while the clock is behind, over a restart too, and comes back only when the clock is right for certain', async (t) => {
  const { keys, time, open, folder, clock } = await begin(t)
  const { api_key, key_id } = await keys.create({ name: 'guest', scope: 'read', expires_at: 1e9 + 60 })
  t.ok(keys.check(api_key))
  time.now += 60
  t.notOk(keys.check(api_key))
  t.ok(keys.isOver(key_id))
  await keys.reload()
  time.now -= 86_400
  t.notOk(keys.check(api_key))
  t.notOk((await open()).check(api_key), 'that it was refused is remembered')
  const sure = await Keys.open({ folder, clock, now: () => time.now, passed: () => undefined, report: () => t.fail() })
  t.ok(sure.check(api_key))
  t.notOk(sure.isOver(key_id))
})

test('a moment that is known to be over ends a key, whatever the clock says', async (t) => {
  const { folder, clock } = await begin(t)
  const time = { now: 1e9, passed: 0 }
  const keys = await Keys.open({ folder, clock, now: () => time.now, passed: () => time.passed, report: () => t.fail() })
  const { api_key } = await keys.create({ name: 'guest', scope: 'read', expires_at: 1e9 + 60 })
  time.passed = 1e9 + 59
  t.ok(keys.check(api_key))
  time.passed = 1e9 + 60
  t.notOk(keys.check(api_key))
  await t.rejects(keys.create({ name: 'late', scope: 'read', expires_at: 1e9 + 60 }), { code: 'invalid', message: /in the past/ })
  const next = await keys.rotate(keys.list()[0]!.key_id, { expires_at: 1e9 + 90 })
  t.equal(next.expires_at, 1e9 + 90)
  t.equal((await keys.rotate(next.key_id, { expires_at: null })).expires_at, null)
})

test('a revoked key is refused from the answer on, and its record stays', async (t) => {
  const { keys, open, time } = await begin(t)
  const { api_key, key_id } = await keys.create({ name: 'one', scope: 'read' })
  t.ok(keys.check(api_key), 'it is remembered from here on')
  time.now += 5
  t.match(await keys.revoke(key_id), { key_id, revoked_at: 1e9 + 5 })
  t.equal(keys.check(api_key), undefined)
  time.now += 5
  t.match(await keys.revoke(key_id), { revoked_at: 1e9 + 5 }, 'a second time changes nothing')
  const after = await open()
  t.equal(after.check(api_key), undefined)
  t.match(after.list(), [{ key_id, revoked_at: 1e9 + 5 }])
})

test('of a thousand keys those that ended first give way to new ones, and valid ones never', async (t) => {
  const { folder, open, time } = await begin(t)
  const ends = { k0000003: { expires_at: 1e9 - 5 }, k0000007: { revoked_at: 1e9 - 9 } } as Record<string, object>
  const made = {
    name: 'one',
    scope: 'read',
    created_at: 1e9 - 10,
    expires_at: null,
    revoked_at: null,
    last_used_at: null,
    sha256: '0'.repeat(64),
  }
  mkdirSync(folder, { recursive: true })
  const ids = Array.from({ length: 1000 }, (_, i) => `k${String(i).padStart(7, '0')}`)
  writeFileSync(`${folder}/keys.json`, JSON.stringify({ format: 1, keys: ids.map((key_id) => ({ ...made, key_id, ...ends[key_id] })) }))
  const keys = await open()
  const isThere = (key_id: string) => keys.list().some((key) => key.key_id === key_id)
  await keys.create({ name: 'next', scope: 'read' })
  t.same(['k0000003', 'k0000007'].map(isThere), [true, false])
  t.ok(keys.isOver('k0000007'), 'a lease does not come back with it')
  t.notOk(keys.isOver('local'), 'who has a shell on this machine needs no key')
  const { key_id } = await keys.create({ name: 'another', scope: 'read' })
  t.same([key_id, 'k0000003'].map(isThere), [true, false])
  await t.rejects(keys.create({ name: 'one too many', scope: 'read' }), { code: 'invalid', message: /1000 valid keys/ })
  time.now += 5
  await keys.revoke('k0000000')
  await keys.rotate(key_id)
  t.same([keys.list().length, isThere('k0000000'), isThere(key_id)], [1000, false, true])
})

test('a key that is not there is not repeated in the answer, as it may be a whole key', async (t) => {
  const { keys } = await begin(t)
  const { api_key } = await keys.create({ name: 'one', scope: 'read' })
  for (const attempt of [keys.revoke(api_key), keys.rotate(api_key)]) {
    const error: Error = await attempt.then(
      () => t.fail('it was found'),
      (refused) => refused,
    )
    t.match(error, { code: 'not_found' })
    t.notMatch(error.message, api_key.slice(3, 11))
  }
})

test('old and new key work together while one is rotated', async (t) => {
  const { keys, time } = await begin(t)
  const old = await keys.create({ name: 'robot', scope: 'operate', expires_at: 1e9 + 1000 })
  time.now += 900
  const next = await keys.rotate(old.key_id, { overlap_s: 10 })
  t.match(next, { name: 'robot', scope: 'operate', created_at: 1e9 + 900, expires_at: 1e9 + 1900 })
  t.ok(keys.check(old.api_key) && keys.check(next.api_key))
  time.now += 10
  t.notOk(keys.check(old.api_key))
  t.ok(keys.check(next.api_key))

  const last = await keys.rotate(next.key_id)
  time.now += 500
  t.ok(keys.check(next.api_key) && keys.check(last.api_key), 'without an end the old one works until it is revoked')
  await keys.revoke(next.key_id)
  t.notOk(keys.check(next.api_key))
  await t.rejects(keys.rotate(next.key_id), { code: 'invalid' })
})

test('rotating never gives a key a longer life', async (t) => {
  const { keys, time } = await begin(t)
  const old = await keys.create({ name: 'guest', scope: 'read', expires_at: 1e9 + 60 })
  await keys.rotate(old.key_id, { overlap_s: 3600 })
  time.now += 60
  t.notOk(keys.check(old.api_key))
})

test('the last use is written down once an hour, after the answer', async (t) => {
  const { keys, open, time } = await begin(t)
  const { api_key } = await keys.create({ name: 'one', scope: 'read' })
  const used = async () => {
    for (let i = 0; i < 10; i++) t.ok(keys.check(api_key))
    await keys.reload()
    return (await open()).list()[0]?.last_used_at
  }
  t.equal(await used(), 1e9)
  time.now += 3599
  t.equal(await used(), 1e9)
  time.now += 1
  t.equal(await used(), 1e9 + 3600)
  time.now -= 86_400
  t.equal(await used(), 1e9 + 3600 - 86_400, 'the clock was set back')
})

test('a disk that refuses keeps nobody out', async (t) => {
  const { keys, folder, reports } = await begin(t)
  const { api_key } = await keys.create({ name: 'one', scope: 'read' })
  rmSync(folder, { recursive: true })
  writeFileSync(folder, 'no folder any more')
  for (let i = 0; i < 5; i++) t.ok(keys.check(api_key))
  await keys.reload().catch(() => undefined)
  t.equal(reports.filter((message) => message.startsWith('the last use of a key was not noted')).length, 1)
  t.notMatch(reports.join(), api_key.slice(12))
})

test('keys that others put in place are known soon, and those they left out are not', async (t) => {
  const { keys, clock, open, folder } = await begin(t)
  const old = await keys.create({ name: 'old', scope: 'admin' })
  const elsewhere = await begin(t, 'elsewhere')
  const fresh = await elsewhere.keys.create({ name: 'new', scope: 'read' })
  renameSync(`${elsewhere.folder}/keys.json`, `${folder}/keys.json`)
  t.ok(keys.check(old.api_key))
  await clock.advance(2000)
  for (let turn = 0; turn < 100_000 && !keys.check(fresh.api_key); turn++) await new Promise(setImmediate)
  t.match(keys.check(fresh.api_key), { scope: 'read' })
  t.notOk(keys.check(old.api_key))
  t.notOk((await open()).check(old.api_key))
})

test('a broken key file leaves the last good set in force, and says nothing of what is in it', async (t) => {
  const { keys, folder, reports, open } = await begin(t)
  const one = await keys.create({ name: 'one', scope: 'admin' })
  const two = await keys.create({ name: 'two', scope: 'read' })
  await keys.revoke(two.key_id)
  const text = readFileSync(`${folder}/keys.json`, 'utf8')
  writeFileSync(`${folder}/keys.json`, text.slice(0, -20))
  await keys.reload()
  t.ok(keys.check(one.api_key))
  t.notOk(keys.check(two.api_key))
  t.match(reports, [/keys\.json was changed from outside and is damaged/])
  t.notMatch(reports.join(), /[0-9a-f]{64}/)
  const after = await open()
  t.ok(after.check(one.api_key), 'after a restart too')
  t.notOk(after.check(two.api_key), 'what was revoked stays so')
})

test('where no key file is whole nobody comes in', async (t) => {
  const { keys, open, folder, reports } = await begin(t)
  const { api_key } = await keys.create({ name: 'one', scope: 'admin' })
  writeFileSync(`${folder}/keys.json`, '{"format":1,"keys":[{"name":"everybody"}]}')
  rmSync(`${folder}/keys.json.bak`, { force: true })
  const after = await open()
  t.same(after.list(), [])
  t.notOk(after.check(api_key))
  t.match(reports, [/begins empty/])
})

test('a key id that is there twice makes the file a broken one', async (t) => {
  const { keys, folder, reports } = await begin(t)
  const { api_key } = await keys.create({ name: 'one', scope: 'read' })
  const { sha256: _, ...document } = JSON.parse(readFileSync(`${folder}/keys.json`, 'utf8'))
  document.keys.push({ ...document.keys[0], scope: 'admin' })
  writeFileSync(`${folder}/keys.json`, JSON.stringify(document))
  await keys.reload()
  t.match(keys.check(api_key), { scope: 'read' })
  t.match(reports, [/a key_id is there twice/])
})

test('rights of others to the key file are taken away', async (t) => {
  const { keys, open, folder, reports } = await begin(t)
  const { api_key } = await keys.create({ name: 'one', scope: 'read' })
  chmodSync(`${folder}/keys.json`, 0o644)
  t.ok((await open()).check(api_key))
  t.equal(statSync(`${folder}/keys.json`).mode & 0o777, 0o600)
  t.match(reports, [/keys\.json could be read or written by others \(mode 0644\)/])
})

async function begin(t: Test, name = 'state') {
  const folder = `${t.testdirName}-${name}`
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
  const reports: string[] = []
  const clock = new VirtualClock()
  const time = { now: 1e9 }
  const opened: Keys[] = []
  const open = async () => {
    const keys = await Keys.open({ folder, clock, now: () => time.now, report: ({ message }) => reports.push(message) })
    opened.push(keys)
    return keys
  }
  const keys = await open()
  t.teardown(async () => {
    // The time at which a key was used is written behind the test's back, by each that was opened.
    for (const one of opened) await one.close()
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
  })
  return { folder, reports, clock, time, open, keys }
}

function swapped(text: string): string {
  return text.replace(/[A-Za-z]/g, (letter) => (letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase()))
}
