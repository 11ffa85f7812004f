import { test } from 'tap'
import { LabError } from '../errors.ts'
import { silent } from '../kit/log.ts'
import { openLab } from '../lab.ts'
import { demo } from '../testing/cli.ts'
import { demoConfig, prepareDemo } from './demo.ts'

test('a key of an earlier start on the same folder opens the demo still, but not one of long ago', async (t) => {
  const { service } = await demo(t)
  const { keys } = service.lab
  const made: string[] = []
  for (let i = 0; i < 11; i++) made.push(await prepareDemo(service.lab))
  const opens = made.map((key) => keys.check(key) !== undefined)
  t.same(opens, [false, ...Array(10).fill(true)])
})

test('a disk that is full when the workflows are first asked for does not keep them from being read', async (t) => {
  const lab = await openLab(await demoConfig(1000), { data_dir: t.testdir({}), log: silent })
  t.teardown(() => lab.close())
  const prepareRuns: typeof lab.prepareRuns = (prepare) =>
    lab.prepareRuns(async (runs) => {
      const { catalog } = runs
      const load = catalog.load.bind(catalog)
      catalog.load = async (name) => {
        await load(name)
        throw new LabError('storage', 'labware.json was not written (ENOSPC): the disk is full')
      }
      await prepare(runs)
    })
  const { keys, teachpoints, version, config } = lab
  await prepareDemo({ keys, teachpoints, version, config, prepareRuns })
  const { runtime } = await lab.openRuns()
  t.equal(runtime.environments.topology?.name, 'demo')
})
