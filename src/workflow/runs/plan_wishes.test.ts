import { test } from 'tap'
import { oneArm, stored, workflowOf } from '../../testing/documents.ts'
import { begin, testRuntime } from '../../testing/workflow.ts'
import { wishesOf } from './plan_wishes.ts'

const bench = oneArm({ storages: ['store'], nests: ['d1'], operations: { d1: { work: 10 } } })
const threads = { a: { ...stored('store'), steps: [{ action: { do: 'work', on: 'd1' } }] } }

type Wished = { objective?: 'makespan' | 'flow_time' | 'open_time'; overtaking?: number }

/** The wishes for runs of these workflows together, each submitted with `asked`. */
async function wishes(documents: Wished[], asked: object = {}) {
  const workflows = documents.map((wished, i) => workflowOf(`w${i}`, threads, wished))
  const { runtime } = testRuntime([bench, ...workflows])
  const executions = await Promise.all(workflows.map(({ name }) => begin(runtime, { workflow: name, ...asked })))
  const all = executions.flatMap((execution) => execution.live())
  const { objective, overtaking } = wishesOf(all)
  const priorities = all.map(({ execution, origin }) => execution.planning.priorityOf(origin.submission_id))
  for (const execution of executions) await runtime.over(execution)
  return [objective, overtaking, ...priorities]
}

test('the wishes of the workflow, which those of the submission replace', async (t) => {
  t.same(await wishes([{}]), ['makespan', null, 0])
  t.same(await wishes([{ objective: 'flow_time', overtaking: 0.1 }]), ['flow_time', 0.1, 0])
  t.same(await wishes([{ objective: 'flow_time' }], { objective: 'open_time', priority: -3 }), ['open_time', null, -3])
})

test('where runs differ the makespan counts, and labware overtakes only where all allow it', async (t) => {
  t.same(await wishes([{ objective: 'flow_time' }, { objective: 'open_time' }]), ['makespan', null, 0, 0])
  t.same(await wishes([{ objective: 'open_time' }, { objective: 'open_time' }]), ['open_time', null, 0, 0])
  t.same(await wishes([{ overtaking: 0.2 }, { overtaking: 0.1 }]), ['makespan', 0.2, 0, 0])
  t.same(await wishes([{ overtaking: 0 }, {}]), ['makespan', null, 0, 0])
})
