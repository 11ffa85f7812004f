import { mkdirSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { test } from 'tap'
import { killedAfter } from '../testing/killed_writer.ts'
import { seeded } from '../testing/seeded.ts'
import { trials } from '../testing/trials.ts'
import { documentOf, openCatalog } from './versions_kill.test.catalog.ts'

/** At random moments; `BENCHD_TRIALS=all` for many more. */
const kills = trials(100, 12)

const program = new URL('versions_kill.test.writer.js', import.meta.url)

test('a process that is killed during a put leaves the old or the new version, each with its document', async (t) => {
  const folder = `${t.testdir({})}/state`
  mkdirSync(folder)
  const random = seeded(48)
  let [last, acknowledged, unknown] = [0, 0, 0]
  for (let kill = 1; kill <= kills; kill++) {
    const said = await killedAfter(program, [folder, String(last + 1)], {
      lines: 1 + Math.floor(random() * 6),
      turns: Math.floor(random() * 400),
    })
    const numbers = said.slice(1).map(Number)
    acknowledged += numbers.length
    last = numbers.at(-1) ?? last
    const catalog = await openCatalog(folder, (message) => t.fail(`kill ${kill}: ${message}`))
    const { library } = catalog.runtime
    const present = library.workflows.get('mix')
    const isAt = (number: number) =>
      JSON.stringify(present?.document.threads.plate?.steps) === JSON.stringify(documentOf(number).threads.plate.steps)
    // What was under way may be there: then the writer goes on after it.
    if (isAt(last + 1)) last++
    else if (present && !isAt(last)) t.fail(`kill ${kill}: number ${last} was acknowledged and is lost`)
    const versions = catalog.versions.list('workflow', 'mix')
    if (versions.length !== Math.min(last, versions.length) || (present && versions[0]?.hash !== present.hash))
      t.fail(`kill ${kill}: the newest version is not the document that is in force`)
    unknown += versions.filter(({ by }) => by === null).length
    for (const [i, { version }] of versions.entries()) {
      if (version !== last - i) t.fail(`kill ${kill}: version ${version} is the ${i}th before ${last}`)
      const { kept } = await catalog.versions.read('workflow', 'mix', version)
      if (!isDeepStrictEqual(kept.document, documentOf(version))) t.fail(`kill ${kill}: version ${version} has another document`)
    }
    await catalog.close()
  }
  t.ok(
    acknowledged > kills,
    `${acknowledged} puts were acknowledged over ${kills} kills, and ${unknown} were cut off before their author was written`,
  )
})
