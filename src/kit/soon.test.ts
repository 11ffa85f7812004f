import { test } from 'tap'
import { unlessFails, whenThere } from './soon.ts'

test('work goes on at once with a value, and later with a promise', async (t) => {
  t.equal(
    whenThere(1, (one) => one + 1),
    2,
  )
  t.equal(await whenThere(Promise.resolve(1), (one) => one + 1), 2)
  await t.rejects(async () => whenThere(Promise.reject(new Error('no')), () => t.fail()), { message: 'no' })
})

test('a failure is answered, whether it is thrown or promised', async (t) => {
  const message = (error: unknown) => (error as Error).message
  const thrown = () => {
    throw new Error('thrown')
  }
  t.equal(unlessFails(thrown, message), 'thrown')
  t.equal(await unlessFails(() => Promise.reject(new Error('rejected')), message), 'rejected')
  t.equal(
    unlessFails(() => 'well', message),
    'well',
  )
})
