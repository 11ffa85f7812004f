// Every example that a guide prints is typed as it stands there, against a bench of the demo; or it is named, with the reason, in
// `examples.test.scenes.ts`. An example that is added is typed from then on.

import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { spawnedDemo } from '../src/testing/cli.ts'
import { noPython } from '../src/testing/python.ts'
import { type Example, examplesIn, guidesIn } from './examples.test.find.ts'
import { scenes } from './examples.test.scenes.ts'
import { type Shell, shellBeside, type Typed } from './examples.test.shell.ts'

const top = fileURLToPath(new URL('../..', import.meta.url))
const guides = guidesIn(top).map((path) => ({ path, examples: examplesIn(join(top, path)) }))
/** The beginning of a command that cannot do anything to this computer. */
const harmless = /^(sudo )?(npx )?(benchd|curl|export|mkdir|cd|sha256sum|source|systemctl)( |$)/

/** The entry of a table whose key an example begins with. */
function entryOf<Value>(table: Record<string, Value> = {}, { text }: Example): Value | undefined {
  return Object.entries(table).find(([begin]) => `${text}\n`.startsWith(begin))?.[1]
}

test('each scene and each reason is that of an example, and a test that is named is there', (t) => {
  for (const [path, { before = {}, elsewhere = {} }] of Object.entries(scenes)) {
    const texts = guides.find((guide) => guide.path === path)?.examples.map(({ text }) => `${text}\n`) ?? []
    for (const begin of [...Object.keys(before), ...Object.keys(elsewhere)])
      t.ok(
        texts.some((text) => text.startsWith(begin)),
        `${path}: ${begin}`,
      )
    for (const reason of Object.values(elsewhere))
      for (const [file] of reason.matchAll(/\S+\.ts\b/g)) t.ok(existsSync(join(top, file)), `${path}: ${file}`)
  }
  t.end()
})

for (const { path, examples } of guides) {
  const { begin, before, elsewhere } = scenes[path] ?? {}
  const typed = examples.filter((example) => entryOf(elsewhere, example) === undefined)
  if (typed.length === 0) continue
  test(`the examples of ${path} work as they are typed`, { skip: noPython }, async (t) => {
    const demo = await spawnedDemo(t)
    const shell = shellBeside(t, demo)
    const swaps = new Map([['bk_…', demo.key]])
    for (const host of ['bench-1.local', 'lab-pi-1.local', '127.0.0.1']) swaps.set(`http://${host}:8520`, demo.url)
    const stage = { top, demo, shell, swap: (from: string, to: string) => void swaps.set(from, to) }
    await shell.type('curl -sO $BENCHD_URL/clients/benchd.py; curl -sO $BENCHD_URL/clients/benchd.ts')
    await begin?.(stage)
    for (const example of typed) {
      if (example.language === 'sh' && !example.text.split(' && ').every((part) => harmless.test(part))) {
        t.fail(`this is neither typed here nor named with a reason: ${example.text}`)
        continue
      }
      await entryOf(before, example)?.(stage)
      const longestFirst = [...swaps].sort(([one], [other]) => other.length - one.length)
      const text = longestFirst.reduce((words, [from, to]) => words.replaceAll(from, to), example.text)
      const { code, text: said } = await run(shell, { ...example, text })
      // A run that stands ends what follows it with a code of its own.
      const isFollowed = /--follow.*stops/.test(text)
      t.equal(code, isFollowed ? 6 : 0, example.text, { said })
    }
  })
}

/** As the guide of the clients names them, and strict. */
const compilerOptions = {
  ...{ strict: true, target: 'es2023', lib: ['es2023', 'dom', 'dom.asynciterable'], types: [], module: 'nodenext' },
  ...{ rewriteRelativeImportExtensions: true, outDir: 'made' },
}

async function run(shell: Shell, { language, text }: Example): Promise<Typed> {
  if (language === 'sh') {
    return shell.type(text)
  }
  if (language === 'python') {
    writeFileSync(`${shell.folder}/example.py`, text)
    return shell.type('python3 example.py')
  }
  writeFileSync(`${shell.folder}/example.ts`, text)
  writeFileSync(`${shell.folder}/package.json`, '{"type": "module"}')
  writeFileSync(`${shell.folder}/tsconfig.json`, JSON.stringify({ compilerOptions, files: ['example.ts'] }))
  return shell.type(`'${process.execPath}' '${top}/node_modules/typescript/bin/tsc' && '${process.execPath}' made/example.js`)
}
