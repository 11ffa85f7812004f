import { readFileSync } from 'node:fs'
import { type Test, test } from 'tap'
import { type Asked, Once } from './once.ts'

const answer = { status: 200, headers: { 'content-type': 'application/json' }, body: '{"success":true}' }
const asked = (idempotency_key: string): Asked => ({
  key_id: 'aaaaaaaa',
  method: 'POST',
  path: '/api/x',
  idempotency_key,
  body: Buffer.from('{}'),
})

async function begin(t: Test) {
  const folder = t.testdir()
  const time = { now: 1e9 }
  const opened: Once[] = []
  t.teardown(() => Promise.all(opened.map((once) => once.close())))
  const open = async () => {
    const once = await Once.open({ folder, now: () => time.now, report: ({ message }) => t.fail(message) })
    opened.push(once)
    return once
  }
  return { folder, time, open, once: await open() }
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
