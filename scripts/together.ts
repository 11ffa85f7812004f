// Prints the files that `npm test` hands to tap. With words, such as dist/src/kit/clock.test.js, only what runs these test files. To start tap
// and to load the code costs a small test file more than its tests, so neighbours run in one process: dist/together/ has a file for each such
// group. A single test file can still be run by its own name.

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The number of files in one process. A larger one saves little more, and the processes would be too few to run beside each other. */
const atMost = 20
/** The same for files that start programs, each of which takes longer. */
const atMostStarting = 8
const startsPrograms = /'node:child_process'|\/testing\/(cli|python)\.ts'|process\.execPath/

/** A file stays alone if it may change its process, or sets something for all tests of its process. */
const staysAlone = [
  /\bglobalThis[.,]/,
  /\bprocess\.(set\w+id|umask|chdir|on|off|once|exit|argv|std\w+|getActiveResourcesInfo|versions?|platform)\b/,
  /\bprocess\.env(\.\w+|\[[^\]]+\])? = |delete process\.env|assign\(process\.env/,
  /\/testing\/(broker|lab|with_broker|with_lab)\.ts'/,
  /import \{[^}]*\b(t|after|afterEach|before|beforeEach)\b[^}]*\} from 'tap'/,
]

/** Returns all test files but the long ones, or those of them that are named, as paths of sources: those that run alone, and the groups by name. */
export function testFiles(named?: readonly string[]): { alone: string[]; together: Map<string, string[]> } {
  const alone: string[] = []
  const byRoom = new Map<string, string[]>()
  const all = ['drivers', 'scripts', 'src'].flatMap(testsIn).sort()
  for (const path of named ? all.filter((path) => named.includes(`dist/${compiled(path)}`)) : all) {
    const text = readFileSync(path, 'utf8')
    const room = startsPrograms.test(text) ? `${roomOf(path)}_starting` : roomOf(path)
    if (staysAlone.some((pattern) => pattern.test(text))) alone.push(path)
    else byRoom.set(room, [...(byRoom.get(room) ?? []), path])
  }
  const together = new Map<string, string[]>()
  for (const [room, paths] of byRoom) {
    const count = Math.ceil(paths.length / (room.endsWith('_starting') ? atMostStarting : atMost))
    for (let i = 0; i < count; i++) {
      const part = paths.filter((_, n) => n % count === i)
      if (part.length === 1) alone.push(...part)
      else together.set(`${room}_${i + 1}`, part)
    }
  }
  return { alone, together }
}

function testsIn(folder: string): string[] {
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => `${folder}/${path}`)
  return paths.filter((path) => /(?<!\.long)\.test\.ts$/.test(path))
}

/** `src/workflow/plans/compile.test.ts` is of the room `workflow`. */
function roomOf(path: string): string {
  const [top = '', room = top] = dirname(path).split('/')
  return top === 'src' ? room : top
}

function compiled(path: string): string {
  return path.replace(/ts$/, 'js')
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const named = process.argv.slice(2)
  const { alone, together } = testFiles(named.length ? named : undefined)
  const folder = 'dist/together'
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder)
  const groups = [...together].map(([name, paths]) => {
    const lines = paths.map((path) => `import '../${compiled(path)}'\n`)
    writeFileSync(`${folder}/${name}.test.js`, lines.join(''))
    return `${folder}/${name}.test.js`
  })
  console.log([...groups, ...alone.map((path) => `dist/${compiled(path)}`)].join('\n'))
}
