import { test } from 'tap'
import { Starts } from './starts.ts'

const quiet = () => {}

test('starts that did not end in order are counted, for five minutes and for this boot', async (t) => {
  const folder = t.testdir({})
  const begun = async (boot: string, uptime_s: number) => (await Starts.open(folder, quiet)).begin({ boot, uptime_s })
  t.equal(await begun('a', 10), 0)
  t.equal(await begun('a', 20), 1)
  t.equal(await begun('a', 30), 2)
  t.equal(await begun('a', 315), 2, 'the first was longer ago')
  t.equal(await begun('b', 316), 0, 'the power was off in between')
})

test('a start that ended in order counts no more, nor those before it', async (t) => {
  const folder = t.testdir({})
  for (const uptime_s of [1, 2, 3]) await (await Starts.open(folder, quiet)).begin({ boot: 'a', uptime_s })
  const last = await Starts.open(folder, quiet)
  t.equal(await last.begin({ boot: 'a', uptime_s: 4 }), 3)
  await last.end()
  t.equal(await (await Starts.open(folder, quiet)).begin({ boot: 'a', uptime_s: 5 }), 0)
})

test('this moment is of this boot', async (t) => {
  const folder = t.testdir({})
  t.equal(await (await Starts.open(folder, quiet)).begin(), 0)
  t.equal(await (await Starts.open(folder, quiet)).begin(), 1)
})
