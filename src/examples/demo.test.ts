import { test } from 'tap'
import { openBench } from '../bench/bench.ts'
import { LabError } from '../errors.ts'
import { silent } from '../kit/log.ts'
import { demo } from '../testing/cli.ts'
import { benchNames, demoConfig, prepareDemo, prepareDemoAgain, welcome } from './demo.ts'

test('a key of an earlier start on the same folder opens the demo still, but not one of long ago', async (t) => {
  const { service } = await demo(t)
  const { keys } = service.bench
  const made: string[] = []
  for (let i = 0; i < 11; i++) made.push(await prepareDemo(service.bench))
  const opens = made.map((key) => keys.check(key) !== undefined)
  t.same(opens, [false, ...Array(10).fill(true)])
})

test('a disk that is full when the workflows are first asked for does not keep them from being read', async (t) => {
  const bench = await openBench(await demoConfig(1000), { data_dir: t.testdir({}), log: silent })
  t.teardown(() => bench.close())
  const prepareRuns: typeof bench.prepareRuns = (prepare) =>
    bench.prepareRuns(async (runs) => {
      const { catalog } = runs
      const load = catalog.load.bind(catalog)
      catalog.load = async (name) => {
        await load(name)
        throw new LabError('storage', 'labware.json was not written (ENOSPC): the disk is full')
      }
      await prepare(runs)
    })
  const { places, keys, teachpoints, version, config } = bench
  await prepareDemo({ places, keys, teachpoints, version, config, prepareRuns })
  const { runtime } = await bench.openRuns()
  t.equal(runtime.environments.topology?.name, 'demo')
})

test('a demo whose folder cannot be written says which folder that is, and how another is named', async (t) => {
  const data_dir = t.testdir({})
  const bench = await openBench(await demoConfig(1000), { data_dir, log: silent })
  t.teardown(() => bench.close())
  const full = () =>
    Promise.reject(new LabError('storage', 'teachpoints.json was not written (ENOSPC): the disk is full; free some space, then try again'))
  const teachpoints = Object.assign(Object.create(bench.teachpoints), { importAll: full, list: () => [] })
  const { places, keys, version, config, prepareRuns } = bench
  await t.rejects(prepareDemo({ places, keys, teachpoints, version, config, prepareRuns }), {
    code: 'storage',
    message: `the demo cannot write its teachpoints and a key to ${data_dir}: teachpoints.json was not written (ENOSPC): the disk is full; free some space, then try again, or name a folder on another disk with --data-dir`,
  })
})

test('on a full disk the demo begins on a folder that it has used before, and says which key is valid', async (t) => {
  const bench = await openBench(await demoConfig(1000), { data_dir: t.testdir({}), log: silent })
  t.teardown(() => bench.close())
  const full = () => Promise.reject(new LabError('storage', 'keys.json was not written (ENOSPC): the disk is full'))
  const keys = Object.assign(Object.create(bench.keys), { create: full, list: () => bench.keys.list() })
  const { places, teachpoints, version, config, prepareRuns } = bench
  const rooms = { places, keys, teachpoints, version, config, prepareRuns }
  await t.rejects(prepareDemoAgain(rooms, 'small'), { code: 'storage' }, 'nobody could use it')
  await prepareDemo(bench)
  const api_key = await prepareDemoAgain(rooms, 'small')
  t.equal(api_key, undefined)
  const words = welcome({ url: 'http://127.0.0.1:1', api_key, rooms: bench, folder: undefined })
  t.match(words, /key {7}that of an earlier start: the disk takes no new one/)
  t.notMatch(words, 'undefined')
})

test('the demo says how fast simulated time goes', async (t) => {
  for (const [scale, words] of [
    [1, 'nothing moves. They take as long as real ones.'],
    [16, 'nothing moves. 16 simulated seconds pass in one of yours.'],
  ] as const) {
    const rooms = await openBench(await demoConfig(scale), { data_dir: t.testdir({}), log: silent })
    t.match(welcome({ url: 'http://127.0.0.1:1', api_key: 'bk_any', rooms, folder: undefined }), words)
    await rooms.close()
  }
})

for (const name of benchNames) {
  test(`the bench ${name} of the demo has its topology loaded, and names a workflow that there is`, async (t) => {
    const bench = await openBench(await demoConfig(1000, name), { data_dir: t.testdir({}), log: silent })
    t.teardown(() => bench.close())
    const api_key = await prepareDemo(bench, name)
    const { runtime } = await bench.openRuns()
    const [, workflow = ''] =
      /benchd runs simulate (.+)/.exec(welcome({ url: 'http://127.0.0.1', api_key, rooms: bench, folder: undefined, bench: name })) ?? []
    t.equal(runtime.library.workflows.get(workflow)!.topology.name, runtime.environments.topology!.name)
  })
}
