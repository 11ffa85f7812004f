import { test } from 'tap'
import { openService } from '../testing/http.ts'

test('a path that is there but for a slash or a letter is named in the refusal', async (t) => {
  const { ask } = await openService(t)
  for (const [method, path, sentence] of [
    ['GET', '/api/devices/', /did you mean \/api\/devices\?; \/docs/],
    ['GET', '//api/devices', /did you mean \/api\/devices\?/],
    ['GET', '/api/device', /did you mean \/api\/devices\?/],
    ['POST', '/api/devices/shaker-1/shaek', /did you mean \/api\/devices\/shaker-1\/shake\?/],
    ['GET', '/api/executions/', /did you mean \/api\/executions\?/],
    ['POST', '/api/executions/x/resum', /did you mean \/api\/executions\/x\/resume\?/],
    ['POST', '/api/devices/shaker-1/jump', /^there is nothing at \/api\/devices\/shaker-1\/jump; \/docs shows what there is$/],
    ['GET', '/api/thread', /^there is nothing at \/api\/thread; \/docs/],
    ['GET', '/api/zebras', /^there is nothing at \/api\/zebras; \/docs/],
    ['GET', '/nothing/at/all', /^there is nothing at \/nothing\/at\/all; \/docs/],
  ] as const) {
    const { status, body } = await ask(method, path)
    t.equal(status, 404, path)
    t.match(body, { detail: sentence }, path)
  }
})
