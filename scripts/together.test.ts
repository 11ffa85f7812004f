// `npm test` runs every test file once, alone or with its neighbours.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { test } from 'tap'
import { testFiles } from './together.ts'

const { alone, together } = testFiles()
const top = new URL('../../', import.meta.url)

test('every test file but the long ones is run once', async (t) => {
  const all = ['drivers', 'scripts', 'src'].flatMap((folder) =>
    readdirSync(new URL(folder, top), { recursive: true, encoding: 'utf8' }).map((path) => `${folder}/${path}`),
  )
  const tests = all.filter((path) => path.endsWith('.test.ts') && !path.endsWith('.long.test.ts'))
  t.same([...alone, ...[...together.values()].flat()].sort(), tests.sort())
})

test('files that change their process or set something for all tests run alone, and those that start programs with their like', async (t) => {
  const aloneOnes = ['src/web/words.test.ts', 'src/cli/update.test.ts', 'src/fleet/outbox.test.ts']
  for (const path of aloneOnes) t.ok(alone.includes(path), path)
  const grouped = [...together.values()].flat()
  t.ok(grouped.length > alone.length)
  for (const path of grouped) t.notMatch(readFileSync(new URL(path, top), 'utf8'), /process\.(env\.\w+ = |setuid|on\()/, path)
  for (const [name, paths] of together) {
    const starting = paths.filter((path) => /from 'node:child_process'/.test(readFileSync(new URL(path, top), 'utf8')))
    if (starting.length > 0) t.match(name, /_starting_\d+$/, starting.join())
  }
})

test('of files that are named, no others are run', async (t) => {
  const named = ['dist/src/cli/update.test.js', 'dist/src/kit/json.test.js', 'dist/src/kit/json_schema.test.js']
  const some = testFiles(named)
  t.same(some.alone, ['src/cli/update.test.ts'])
  t.same([...some.together], [['kit_1', ['src/kit/json.test.ts', 'src/kit/json_schema.test.ts']]])
})

// The shell goes on where `$(…)` fails, and tap without names runs each file in a process of its own.
test('npm test hands tap the files that this program prints', async (t) => {
  const { scripts } = JSON.parse(readFileSync(new URL('package.json', top), 'utf8'))
  const [, program = ''] = /^tap run \$\(node (\S+)\)$/.exec(scripts.test) ?? []
  t.equal(new URL(program, top).href, new URL('together.js', import.meta.url).href)
  t.ok(existsSync(new URL(program, top)))
})
