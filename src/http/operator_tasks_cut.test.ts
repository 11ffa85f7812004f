// The service ends while a person has a task: by a loss of power at each boundary of the move, or in order.

import { test } from 'tap'
import { isRefusal } from '../testing/http.ts'
import { carriedOn, carrying, maybe, pathOf, place, tasks } from '../testing/http_tasks.ts'

for (const confirm of ['once', 'twice'])
  test(`after each of several power cuts the task is shown again under its id, and is answered once (${confirm})`, async (t) => {
    const first = await carrying(t, { confirm })
    if (confirm === 'twice') await first.run.post(first.path, { answer: 'taken' })
    let run = first.run
    for (let cut = 1; cut <= 2; cut++) {
      run = await run.afterPowerCut()
      await run.thread('plate', 'PAUSED')
      t.match(await tasks(run), [{ step_id: first.step.step_id, move: { is_again: true, to: 'shaker_in' } }], `cut ${cut}`)
      t.equal(await place(run), maybe)
      isRefusal(t, await run.ask('POST', `/api/executions/${run.execution_id}/resume`), 409, 'conflict')
    }
    isRefusal(t, await run.ask('POST', first.path, { answer: 'taken' }), 409, 'conflict')
    await run.post(first.path, {})
    t.equal(await place(run), 'at shaker_in')
    run = await run.afterPowerCut()
    await run.thread('plate', 'PAUSED')
    t.same(await tasks(run), [])
    t.equal(await place(run), 'at shaker_in', 'what was answered 200 is on the card')
    await run.post(`/api/executions/${run.execution_id}/resume`)
    await carriedOn(t, run)
  })

test('each answer that was taken is on the card', async (t) => {
  for (const [answer, where] of [
    [{ answer: 'elsewhere', position: 'pad_2' }, /^at pad_2/],
    [{ answer: 'elsewhere', position: 'pad_1' }, /^at pad_1$/],
    [{ answer: 'cannot' }, /^at pad_1$/],
    [{ answer: 'done' }, /^at shaker_in$/],
  ] as const) {
    const { run, path, step } = await carrying(t)
    await run.post(path, answer)
    const again = await run.afterPowerCut()
    await again.thread('plate', 'PAUSED')
    t.match(await place(again), where, JSON.stringify(answer))
    t.notOk((await tasks(again)).some(({ step_id }) => step_id === step.step_id))
  }
})

test('the service closes while a task is open, without an answer', async (t) => {
  const { run, step } = await carrying(t)
  await run.bench.clock.run(run.bench.bench.close())
  const again = await run.afterPowerCut()
  await again.thread('plate', 'PAUSED')
  t.match(await tasks(again), [{ step_id: step.step_id, move: { is_again: true } }])
  await again.post(pathOf(step), {})
  await again.post(`/api/executions/${again.execution_id}/resume`)
  await carriedOn(t, again)
})
