import { test } from 'tap'
import { catchMaybe, thenMaybe } from './maybe_promise.ts'

test('work goes on at once with a value, and later with a promise', async (t) => {
  t.equal(
    thenMaybe(1, (one) => one + 1),
    2,
  )
  t.equal(await thenMaybe(Promise.resolve(1), (one) => one + 1), 2)
  await t.rejects(async () => thenMaybe(Promise.reject(new Error('no')), () => t.fail()), { message: 'no' })
})

test('a failure is answered, whether it is thrown or promised', async (t) => {
  const message = (error: unknown) => (error as Error).message
  const thrown = () => {
    throw new Error('thrown')
  }
  t.equal(catchMaybe(thrown, message), 'thrown')
  t.equal(await catchMaybe(() => Promise.reject(new Error('rejected')), message), 'rejected')
  t.equal(
    catchMaybe(() => 'well', message),
    'well',
  )
})
