// A forecast of a run on the demo's bench, and how long the run then takes, both in seconds of the instruments.

import { type Test, test } from 'tap'
import { demoTeachpoints } from '../examples/demo_bench.ts'
import { openTestBench } from '../testing/http.ts'

const submission = { workflow: 'seal-and-spin', run_mode: 'LIVE', groups: [{ group_id: 'g1', members: {} }] }
/** No run takes that long: one that does waits for something that never comes. */
const longest_s = 3600

/** A bench that nobody has used yet, and its next run. */
async function coldBench(t: Test, time_scale: number) {
  const { bench, clock, ask } = await openTestBench(t, {}, { time_scale })
  t.match(await ask('POST', '/api/teachpoints/bulk', { json: demoTeachpoints }), { status: 200 })
  t.match(await ask('POST', '/api/topology/load', { json: { name: 'demo' } }), { status: 200 })
  const run = async () => {
    const { body } = await ask('POST', '/api/simulations', { json: submission })
    const foretold = (body as { makespan_s: number }).makespan_s
    const began = clock.now()
    const submitted = await ask('POST', '/api/submissions', { json: submission })
    const { execution_id } = submitted.body as { execution_id: string }
    const execution = bench.runs.runtime.runs.get(execution_id)!
    const seconds = () => ((clock.now() - began) / 1000) * time_scale
    while (!execution.isOver) {
      if (execution.paused || seconds() > longest_s) {
        const why = await ask('GET', `/api/executions/${execution_id}/why`)
        throw new Error(`the run does not go on after ${seconds()} s: ${why.text}`)
      }
      await clock.advance(20 / time_scale)
    }
    t.equal(execution.phase.current, 'completed')
    t.comment(`pace ${time_scale}: ${foretold} s foretold, ${seconds()} s taken`)
    return { foretold, taken: seconds() }
  }
  return { bench, run }
}

/** Within 10 % of the time taken. */
function agree(t: Test, { foretold, taken }: { foretold: number; taken: number }): void {
  t.ok(Math.abs(foretold - taken) <= taken * 0.1, `${foretold} s are foretold, and the run takes ${taken} s`)
}

for (const time_scale of [1, 16]) {
  test(`at pace ${time_scale} the first run on a cold bench takes what is foretold within 10 %, and so do later runs`, async (t) => {
    const { run } = await coldBench(t, time_scale)
    const cold = await run()
    agree(t, cold)
    for (let n = 2; n <= 3; n++) {
      const warm = await run()
      agree(t, warm)
      t.ok(cold.foretold > 1.5 * warm.foretold, 'a bench that has to warm up is foretold to take longer')
    }
  })
}
