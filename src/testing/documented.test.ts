import { test } from 'tap'
import { mustBeDocumented } from './documented.ts'

test('a route that is newer than the OpenAPI document is named, with what to run', (t) => {
  const answer = { status: 200, headers: new Headers() }
  t.throws(() => mustBeDocumented('brandNew', answer), { message: /no operation brandNew.*npm run generate && npm run build/ })
  mustBeDocumented('listDevices', answer)
  t.end()
})
