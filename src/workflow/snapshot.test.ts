// What is shown of a workflow can be put in again, as it is.

import { test } from 'tap'
import { type Loose, smallBench, topologyDocument, workflowDocument } from '../testing/plans.ts'
import { Dice, sceneOf } from '../testing/simulation/scene.ts'
import { compileWorkflow } from './plans/compile.ts'
import { compileTopology } from './plans/topology.ts'
import { shownDocument } from './snapshot.ts'

/** Compiles it, and what is shown of it as if it had come over the API. */
function bothWays(workflow: unknown, topology: unknown) {
  const on = compileTopology(topology, smallBench, 'the topology')
  const before = compileWorkflow(workflow, on, 'the workflow', 'typescript')
  const shown = shownDocument(before)
  return { before, shown, after: compileWorkflow(structuredClone(shown), on, 'what is shown', 'json') }
}

/** With every member that may be there. */
function fullDocument(): Loose {
  const document = workflowDocument()
  document.$schema = './workflow.schema.json'
  document.variables.speed.description = 'in rpm'
  document.labware.plate = { ...document.labware.plate, group_sharing: 'SHARED_ACROSS_GROUPS', submission_batching: 'BATCHABLE' }
  document.methods.shake_it[0] = {
    ...{ do: 'shake', on: 'shakers', with: { speed: { variable: 'speed' }, duration: 5 }, name: 'shaking', on_failure: 'ABORT' },
    ...{ labware: ['plate'], max_wait_after: 600, labware_timeout: 60, seconds: 5 },
  }
  document.methods.talk = [
    { emit: 'a', value: null, data: { a: [1, { b: null }] }, name: 'say' },
    { wait_for: 'b', timeout: 5 },
    { instruct: 'look', timeout: 5 },
  ]
  document.threads.plate = {
    ...document.threads.plate,
    ...{ capacity: { max: 2, when_full: 'REJECT' }, contributes_to: [], immovable: true },
    steps: [
      ...document.threads.plate.steps,
      { name: 'aside', park: ['pad_2'] },
      { action: { emit: 'now' } },
      { wait_for: 'b', timeout: 5 },
      { method: 'talk' },
    ],
  }
  document.threads.tips.steps = [{ while_more_work: [{ join: ['wash'] }] }]
  return document
}

test('a document, and one with all that a document may have', async (t) => {
  for (const document of [workflowDocument(), fullDocument()]) {
    const { before, shown, after } = bothWays(document, topologyDocument())
    t.notOk(before.hasCode)
    t.notOk('on' in shown)
    t.equal(after.hash, before.hash, 'it is the same workflow')
    t.same(shownDocument(after), shown)
  }
})

const instead = ({ body: _, ...action }: Loose) =>
  'on' in action ? { ...action, do: 'work' } : { ...action, instruct: 'in place of code' }

test('whatever a generator makes, but for code', async (t) => {
  let many = 0
  for (let seed = 1; seed <= 300; seed++) {
    const { topology, workflow } = sceneOf(new Dice(seed), 'PURE_SIM')
    const withoutCode = JSON.parse(JSON.stringify(workflow, (_, value) => (typeof value?.body === 'function' ? instead(value) : value)))
    const { before, shown, after } = bothWays(withoutCode, topology)
    if (after.hash === before.hash && JSON.stringify(shownDocument(after)) === JSON.stringify(shown)) many++
  }
  t.equal(many, 300)
})

test('of a document with code it is said where the code is', async (t) => {
  const document = workflowDocument()
  document.methods.shake_it = [{ name: 'look', on: 'shakers', labware: ['plate'], body: async () => {} }]
  document.on = { 'ACTION.CREATED': [() => {}] }
  const on = compileTopology(topologyDocument(), smallBench, 'the topology')
  const shown = shownDocument(compileWorkflow(document, on, 'the workflow', 'typescript'))
  t.match(shown, { methods: { shake_it: [{ name: 'look', body: '(code)' }] }, on: { 'ACTION.CREATED': ['(code)'] } })
  t.throws(() => compileWorkflow(shown, on, 'what is shown', 'json'), { code: 'invalid' })
})
