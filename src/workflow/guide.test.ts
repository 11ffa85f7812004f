import { readFile } from 'node:fs/promises'
import { test } from 'tap'
import { demoTopology } from '../examples/seal_and_spin.ts'
import { smallBench } from '../testing/plans.ts'
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

const readme = await readFile(new URL('../../../src/workflow/README.md', import.meta.url), 'utf8')

test('what the README shows can be loaded as it stands there', async (t) => {
  const blocks = [...readme.matchAll(/```(json|ts)\n(.*?)```/gs)].map(([, ending, text], i) => [`${i}.${ending}`, text!])
  const { sources, faults: unread } = await readFolder(t.testdir(Object.fromEntries(blocks)))
  const demo = { origin: 'demo', form: 'json', input: JSON.parse(JSON.stringify(demoTopology)) } as const
  const { topologies, workflows, faults } = compileLibrary([demo, ...sources], bench)
  t.same([...unread, ...faults], [])
  t.same([...topologies.keys(), ...workflows.keys()], ['demo', 'bench', 'shake-and-seal', 'seal-and-wash', 'shake-until-warm'])
  const document = JSON.parse(JSON.stringify(sources.find(({ input }) => 'threads' in (input as object))!.input))
  document.threads.plate.steps[1].method = 'seel_it'
  const [wrong] = compileLibrary([demo, { origin: 'x', form: 'json', input: document }], bench).faults
  t.ok(readme.includes(wrong!.reason), wrong!.reason)
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
