import { writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { test } from 'tap'
import { noTypeScript } from '../../kit/modules.test.typescript.ts'
import { smallBench, topologyDocument, workflowDocument } from '../../testing/plans.ts'
import { compileLibrary, readFolder } from './library.ts'

const asJson = (document: object) => JSON.stringify(document, null, 2)

test('a folder holds topologies and workflows, in JSON with comments and in TypeScript', { skip: noTypeScript }, async (t) => {
  const { name: _, ...rest } = workflowDocument()
  const folder = t.testdir({
    'demo.json': `// the bench\n${asJson(topologyDocument()).replace(/\}\s*$/, '},')}`.replace(/,\s*$/, ''),
    'one.json': `{ /* a workflow */ "name": "one", ${asJson(rest).slice(1)}`,
    'two.ts': `
      import { workflow, type Doing } from 'benchd/workflow'
      import { duration } from './parts/times.ts'
      type Plate = 'plate'
      export default workflow({ ...${asJson(rest)}, name: 'two', start: ['plate'] as Plate[],
        methods: { ...${asJson(rest.methods)}, shake_it: [
          { name: 'look', on: 'shakers', labware: ['plate' as Plate], body: async (ctx: Doing) => { await ctx.device.shake({ speed: 500, duration }) } } ] } })`,
    parts: { 'times.ts': `export const duration: number = 5` },
    'types.d.ts': 'export {}',
    '.hidden.json': 'no',
    'notes.txt': 'no',
  })
  const { sources, faults } = await readFolder(folder)
  t.same(faults, [])
  t.same(
    sources.map(({ origin, form }) => [origin.slice(folder.length + 1), form]),
    [
      ['demo.json', 'json'],
      ['one.json', 'json'],
      ['two.ts', 'typescript'],
    ],
  )
  const { topologies, workflows, faults: wrong } = compileLibrary(sources, smallBench)
  t.same(wrong, [])
  t.same([...topologies.keys()], ['demo'])
  t.same(
    [...workflows.values()].map(({ name, hasCode, form }) => ({ name, hasCode, form })),
    [
      { name: 'one', hasCode: false, form: 'json' },
      { name: 'two', hasCode: true, form: 'typescript' },
    ],
  )
  const [look] = workflows.get('two')!.methods.get('shake_it')!.actions
  const asked: unknown[] = []
  if (look?.kind === 'code') await look.action.body({ device: { shake: async (params: unknown) => asked.push(params) } })
  t.same(asked, [{ speed: 500, duration: 5 }])
})

test('what is wrong with one file is said, and hinders no other', { skip: noTypeScript }, async (t) => {
  const folder = t.testdir({
    'a.json': '{ "format": 1, ',
    'b.ts': 'export default { format: 1,',
    'c.ts': 'export const helper = 1',
    'd.ts': `import '../nowhere.ts'\nexport default {}`,
    'e.json': '{ "what": "is this?" }',
    'f.json': asJson({ ...workflowDocument(), name: 'f', topology: 'dmeo' }),
    'g.json': asJson({ ...workflowDocument(), name: 'g', start: ['nobody'] }),
    'h.json': asJson({ ...topologyDocument(), format: 2 }),
    'i.json': asJson(topologyDocument()),
    'j.json': asJson(topologyDocument()),
    'k.json': asJson(workflowDocument()),
    'l.ts': `throw new Error('not today')`,
  })
  const { sources, faults } = await readFolder(folder)
  const library = compileLibrary(sources, smallBench)
  const said = new Map([...faults, ...library.faults].map(({ origin, reason }) => [basename(origin), reason.replaceAll(folder, '')]))
  t.match(said.get('a.json'), /^\/a\.json is not JSON: /)
  t.match(said.get('b.ts'), /^\/b\.ts cannot be loaded: /)
  t.equal(said.get('c.ts'), '/c.ts: it has no default export; a file that others import belongs in a folder beneath')
  t.match(said.get('d.ts'), /^\/d\.ts cannot be loaded: .*nowhere\.ts/s)
  t.equal(said.get('e.json'), '/e.json: it has neither positions, as a topology has, nor threads, as a workflow has')
  t.equal(said.get('f.json'), '/f.json: topology: there is no topology dmeo; did you mean "demo"?')
  t.equal(said.get('g.json'), 'workflow g: start[0]: there is no thread nobody; there is: plate, tips')
  t.equal(said.get('h.json'), '/h.json: format must be 1, not 2')
  t.equal(said.get('j.json'), 'topology demo: there is one of this name already; give this one another')
  t.equal(said.get('l.ts'), '/l.ts cannot be loaded: not today')
  t.equal(said.size, 10)
  t.same([...library.topologies.keys(), ...library.workflows.keys()], ['demo', 'seal-and-spin'])
})

test('what a file and those it imports say now is what is loaded', { skip: noTypeScript }, async (t) => {
  const folder = t.testdir({
    'x.ts': `import { name } from './parts/name.ts'\nexport default { name }`,
    parts: { 'name.ts': `export const name: string = 'one'` },
  })
  const loaded = async () => (await readFolder(folder)).sources.map(({ input }) => input)
  t.same(await loaded(), [{ name: 'one' }])
  await writeFile(join(folder, 'parts/name.ts'), `export const name: string = 'two'`)
  t.same(await loaded(), [{ name: 'two' }])
  await writeFile(join(folder, 'x.ts'), `export default { name: 'three' satisfies string }`)
  t.same(await loaded(), [{ name: 'three' }])
})

test('a place in a TypeScript file that goes wrong is told with its own line and column', { skip: noTypeScript }, async (t) => {
  const folder = t.testdir({
    'x.ts': `type A = {\n  b: string\n}\n\nconst a: A | undefined = undefined\nexport default (a as unknown as A).b`,
  })
  const { sources, faults } = await readFolder(folder)
  t.same(sources, [])
  t.match(faults[0]?.reason, /Cannot read properties of undefined/)
  const { loadModule } = await import('../../kit/modules.ts')
  const error = await loadModule(join(folder, 'x.ts')).catch((error: Error) => error.cause as Error)
  t.match((error as Error).stack, /x\.ts\S*:6:36/)
})

test('a folder that is not there holds nothing', async (t) => {
  t.same(await readFolder(`${t.testdir()}/none`), { sources: [], faults: [] })
  const file = join(t.testdir({ file: '' }), 'file')
  const { faults } = await readFolder(file)
  t.match(faults[0]?.reason, /file cannot be read: a part of its path is a file/)
})

test('a workflow that is no object is told, not tripped over', async (t) => {
  const inputs = [null, 7, 'threads', { threads: 3 }, { threads: {}, topology: 5 }, { positions: [] }]
  const { faults } = compileLibrary(
    inputs.map((input, i) => ({ origin: `n ${i}`, form: 'json', input })),
    smallBench,
  )
  t.equal(faults.length, inputs.length)
})

test('the devices of a bench are looked at as they are when a library is compiled, and then once', (t) => {
  let looks = 0
  const bench = {
    ...smallBench,
    get devices() {
      looks++
      return smallBench.devices
    },
  }
  const sources = ['demo', 'other'].map((name) => ({ origin: name, form: 'json' as const, input: { ...topologyDocument(), name } }))
  t.equal(compileLibrary(sources, bench).topologies.size, 2)
  t.equal(looks, 1)
  compileLibrary(sources, bench)
  t.equal(looks, 2)
  t.end()
})
