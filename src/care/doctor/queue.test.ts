import { test } from 'tap'
import { openTestBench } from '../../testing/http.ts'
import type { Patient } from './patient.ts'
import { queue } from './queue.ts'

test('a queue in which runs wait is told with what it waits for; one without any is not', async (t) => {
  const { ask } = await openTestBench(t)
  const get = async <Answer>(path: string) => (await ask('GET', path)).body as Answer
  const look = () => queue({ service: { is: 'answering', get } } as Patient)
  const add = (workflow: string, more: object) =>
    ask('POST', '/api/queue', { json: { submission: { workflow, run_mode: 'PURE_SIM' }, ...more } })
  t.same(await queue({ service: { is: 'absent' } } as Patient), [])
  t.same(await look(), [])
  const first = await add('seal-and-spin', { start_at: 4_000_000_000 })
  t.equal(first.status, 201, first.text)
  t.same(await look(), [{ check: 'queue', level: 'OK', finding: '1 run waits' }])
  await add('seal-and-spin', { start_at: { after: (first.body as { entry_id: string }).entry_id } })
  await ask('POST', '/api/queue/pause')
  t.match(await look(), [{ level: 'WARN', finding: /^2 runs wait, and the queue is paused: .* paused it/, fix: /benchd queue resume/ }])
  await ask('DELETE', `/api/queue/${(first.body as { entry_id: string }).entry_id}`)
  t.match(await look(), [
    { level: 'WARN' },
    { level: 'WARN', finding: /^number 1, seal-and-spin, waits for a person: /, fix: 'benchd queue list' },
  ])
})
