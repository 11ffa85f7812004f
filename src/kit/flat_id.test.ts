import { test } from 'tap'
import { flatId } from './flat_id.ts'

test('an id is a random UUID of version 4, and never the same twice', async (t) => {
  const ids = Array.from({ length: 10_000 }, flatId)
  t.equal(new Set(ids).size, ids.length)
  t.ok(ids.every((id) => /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id)))
  const digits = new Set(ids.flatMap((id) => [...id].map((digit, at) => `${at} ${digit}`)))
  t.equal(digits.size, 30 * 16 + 1 + 4 + 4, 'each digit comes at each place, but for the version and its variant')
})
