// Following a run at a service whose answers are written here.

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Test, test } from 'tap'
import { benchd } from '../../testing/cli.ts'

const execution_id = '7b1c2d3e-0000-4000-8000-000000000000'

/** A service that answers these pages of events, one after the other; its run stands from the first look at it. */
async function following(
  t: Test,
  pages: readonly (readonly string[])[],
  options: readonly string[] = [],
  others: Record<string, () => object> = {},
) {
  const rest = [...pages]
  const answers: Record<string, () => object> = {
    '/events': () => ({ events: (rest.shift() ?? []).map(threadEvent), next_since: 2 }),
    [`/api/executions/${execution_id}/blockers`]: () => ({
      blockers: [{ kind: 'error', thread_name: 'plate', message: 'sealer-1 reports error 12', thread_id: 't', device_id: 'sealer-1' }],
    }),
    [`/api/executions/${execution_id}/why`]: () => ({ threads: [{ waits_for: 'a decision' }] }),
    [`/api/executions/${execution_id}/record`]: () => ({ rows: Object.keys(others).length > 0 ? [] : decisions }),
    ...others,
  }
  const server = createServer(({ url = '' }, response) => response.end(JSON.stringify(answers[url.split('?')[0]!]?.())))
  t.teardown(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return benchd(t.testdir({}), ['runs', 'follow', execution_id, '--url', url, '--key', 'bk_any', ...options])
}

test('a thread that waits is printed once with the reason, and the end is the last line', async (t) => {
  const waits = { thread_id: 't', thread_name: 'plate', waits_for: 'shaker-1', because: ['shaker-1 is held by lid'] }
  const { code, stdout } = await following(t, [['MOVING'], [], [], ['COMPLETED'], ['END']], [], {
    [`/api/executions/${execution_id}/blockers`]: () => ({ blockers: [] }),
    [`/api/executions/${execution_id}/why`]: () => ({ threads: [waits] }),
  })
  t.equal(code, 0)
  t.match(stdout, /^\S+Z {2}plate: waits for shaker-1 \(shaker-1 is held by lid\)\n.*plate: done\n\S+Z {2}work: the run is COMPLETED\n$/)
})

test('when the run ends is printed once, and again when that changes', async (t) => {
  let asked = 0
  const soon = Date.now() / 1000 + 3000
  const { stdout } = await following(t, [['MOVING'], [], [], [], ['COMPLETED'], ['END']], [], {
    [`/api/executions/${execution_id}/blockers`]: () => ({ blockers: [] }),
    [`/api/executions/${execution_id}/why`]: () => ({ threads: [] }),
    [`/api/executions/${execution_id}`]: () => ({ eta: [soon, soon + 5, soon + 3600][asked++] }),
  })
  t.match(stdout, /^the run ends about \S+, 50 min left\nthe run ends about \S.*, 110 min left\n/)
})

const decisions = [{ kind: 'decision', at: 0.5, text: 'Retried seal of plate', by: 'tablet', operator: 'Kim' }]

function threadEvent(status: string) {
  if (status === 'END')
    return { timestamp: 2, entity_type: 'EXECUTION', entity_id: 'e', status: 'COMPLETED', context: { workflow_name: 'work', reason: null } }
  const last_error = status === 'PAUSED' ? 'sealer-1 was stopped: POST /api/devices/sealer-1/initialize' : null
  return { timestamp: 1, entity_type: 'THREAD', entity_id: 't', status, context: { thread_name: 'plate', last_error } }
}

test('what happened until a run stood is printed before that it stands, with commands in place of routes', async (t) => {
  const pages = [['MOVING'], [], ['PAUSED'], []]
  const { code, stdout, stderr } = await following(t, pages)
  t.equal(code, 6)
  t.match(stdout, /Z {2}plate: waits for a decision: sealer-1 was stopped: benchd devices init sealer-1\n$/)
  t.notMatch(stdout, 'MOVING')
  t.match(stderr, /^benchd: the run stands: plate: sealer-1 reports error 12; what to do: benchd runs why 7b1c2d3e; .*\n$/)
  const all = await following(t, pages, ['--all'])
  t.match(all.stdout, /plate {2}MOVING\n[\s\S]*plate {2}PAUSED {2}sealer-1 was stopped: benchd devices init sealer-1\n$/)
})

test('a decision is printed once, in its place among the events, with who made it', async (t) => {
  const { stdout } = await following(t, [['PAUSED'], ['PAUSED'], [], []])
  t.match(stdout, /^\d\d:\d\d:\d\dZ {2}decision: Retried seal of plate \(tablet, said to be Kim\)\n.*plate: waits for a decision/)
  t.equal(stdout.split('decision: Retried').length, 2)
})
