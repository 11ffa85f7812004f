import { readFile } from 'node:fs/promises'
import { test } from 'tap'
import { demoTopology } from '../examples/seal_and_spin.ts'
import { openIncubatorBench } from '../testing/incubator.ts'
import { smallBench } from '../testing/plans.ts'
import { run, testRuntime } from '../testing/workflow.ts'
import { withDiagrams } from './diagrams.ts'
import { compileLibrary, readFolder } from './plans/library.ts'
import { decisionsAt, pauseSiteNames } from './threads/recovery.ts'

const centrifuge = {
  ...smallBench.devices[0]!,
  device_id: 'centrifuge-1',
  type: 'centrifuge',
  operations: ['centrifuge'],
  limits: {},
} as const
const bench = { ...smallBench, devices: [...smallBench.devices, centrifuge] }

const read = (page: string) => readFile(new URL(`../../../src/workflow/${page}`, import.meta.url), 'utf8')
const readme = await read('README.md')

/** Returns the blocks of code of these languages, as the content of files. */
const blocksOf = (languages: string, page = readme) =>
  [...page.matchAll(new RegExp(`\`\`\`(${languages})\\n(.*?)\`\`\``, 'gs'))].map(([, ending, text], i) => [`${i}.${ending}`, text!])

test('what the README shows can be loaded as it stands there', async (t) => {
  const { sources, faults: unread } = await readFolder(t.testdir(Object.fromEntries(blocksOf('json|ts'))))
  const demo = { origin: 'demo', form: 'json', input: JSON.parse(JSON.stringify(demoTopology)) } as const
  const { topologies, workflows, faults } = compileLibrary([demo, ...sources], bench)
  t.same([...unread, ...faults], [])
  t.same(
    [...topologies.keys(), ...workflows.keys()],
    ['demo', 'bench', 'shake-and-seal', 'seal-and-wash', 'grow-until-dense', 'read-with-lid-off', 'wash-primed', 'shake-until-warm'],
  )
  const document = JSON.parse(JSON.stringify(sources.find(({ input }) => 'threads' in (input as object))!.input))
  document.threads.plate.steps[1].method = 'seel_it'
  const [wrong] = compileLibrary([demo, { origin: 'x', form: 'json', input: document }], bench).faults
  t.ok(readme.includes(wrong!.reason), wrong!.reason)
})

test('each plate of the README’s workflows goes its own way, with three groups', async (t) => {
  const { sources } = await readFolder(t.testdir(Object.fromEntries(blocksOf('json'))))
  for (const workflow of ['seal-and-wash', 'grow-until-dense', 'read-with-lid-off']) {
    const { runtime, told } = testRuntime([], { library: compileLibrary(sources, bench) })
    const pads = ['pad_1', 'pad_2', 'shaker_2_in']
    const groups = pads.map((location, i) => ({ group_id: `g${i + 1}`, members: { plate: { location } } }))
    const execution = await run(runtime, { workflow, groups })
    t.equal(execution.phase.current, 'completed', workflow)
    const events = told.filter(({ entity_type }) => entity_type === 'CUSTOM').map(({ context }) => context.group_id)
    t.same(events.sort(), workflow === 'seal-and-wash' ? ['g1', 'g2', 'g3'] : [])
  }
})

test('the guide to storages shows a topology and a workflow that run on the bench of the demo with an incubator', async (t) => {
  const { setup } = await openIncubatorBench(t)
  const { sources } = await readFolder(t.testdir(Object.fromEntries(blocksOf('json', await read('STORAGES.md')))))
  const library = compileLibrary(sources, setup)
  t.same(library.faults, [])
  const groups = ['g1', 'g2', 'g3'].map((group_id) => ({ group_id, members: {} }))
  const execution = await run(testRuntime([], { library, bench: setup }).runtime, { workflow: 'stain-and-rest', groups })
  t.equal(execution.phase.current, 'completed')
  const seats = [...execution.threads.values()].map(({ labware }) => execution.environment.scheduler.whereIs(labware.labware_id))
  t.same(seats.toSorted(), ['incubator/slot-1', 'incubator/slot-2', 'incubator/slot-3'])
})

test('the diagrams are those of the tables', (t) => {
  t.match(readme, /EXECUTING_ACTION --> AWAITING_EVENT/)
  t.ok(withDiagrams(readme) === readme, 'the diagrams are not in step with the tables; run npm run generate')
  t.end()
})

test('the possible decisions of each place are those of the code', (t) => {
  const rows = [...readme.matchAll(/^\| `([A-Z_]+)` +\|[^|]*\| ([A-Z_, ]+?) *\|$/gm)].map(([, site, possible]) => [site, possible])
  t.strictSame(
    rows,
    pauseSiteNames.map((site) => [site, decisionsAt(site).join(', ')]),
  )
  t.end()
})
