// Sentences name their subject. A reader must not have to look for what "What …" or "Those …" means.

import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { table } from '../src/cli/commands.ts'

const top = fileURLToPath(new URL('../..', import.meta.url))
const read = (path: string) => readFileSync(top + path, 'utf8')

const vague = /^(?:What|Who|Whoever|Whatever|Whichever|Those|Of one|Of those|So many|So much)\b/
/** Where a text stands alone, `It` has nothing before it that it could mean. */
const vagueAlone = /^(?:What|Who|Whoever|Whatever|Whichever|Those|Of one|Of those|So many|So much|It|One of)\b/

const pages = ['', 'src', 'drivers', 'scripts', 'systemd']
  .flatMap((folder) =>
    readdirSync(top + folder, { recursive: folder !== '', encoding: 'utf8' }).map((path) => (folder ? `${folder}/${path}` : path)),
  )
  .filter((path) => /(?:README|STORAGES|SAMPLES|CHANGELOG|settings)\.md$/.test(path))

test('no paragraph, item or cell of a guide begins with a word whose meaning the reader has to look for', (t) => {
  t.ok(pages.length > 25, `${pages.length} pages`)
  for (const page of pages) {
    const found = beginnings(read(page)).filter((text) => vague.test(text))
    t.same(found, [], page)
  }
  t.end()
})

test('no summary or description of the API, and no help of a command, does either', (t) => {
  const words = new Set(descriptions(JSON.parse(read('src/http/openapi.json'))))
  t.ok(words.size > 300, `${words.size} texts`)
  t.same(
    [...words].filter((text) => vagueAlone.test(text)),
    [],
  )
  const help = read('src/cli/help.txt')
    .split('\n')
    .flatMap((line) => line.split(/ {2,}/))
  t.same(
    help.filter((text) => vagueAlone.test(text)),
    [],
  )
  t.end()
})

/** Beginnings of a summary or an option that leave open what it is about. */
const vagueInHelp =
  /^(?:What|Who|Whoever|Whose|Those|These|That|It|Its|They|One|So|Also|Of|In|At|By|With|Where|When|Why|How|Once|Another|Before|After|Nobody|Somebody|Each|Every)\b|; what |: what | otherwise than | is no [A-Z]/

test('the summary of each command begins with a verb, and each option says in one clause what it gives', async (t) => {
  const commands = (await table()).flatMap(({ commands }) => commands)
  const summaries = commands.map(({ name, summary }): [string, string] => [name, summary])
  const options = commands.flatMap(({ name, options }) =>
    Object.entries(options).map(([option, { help }]): [string, string] => [`${name} --${option}`, help]),
  )
  t.ok(summaries.length > 120 && options.length > 500, `${summaries.length} commands, ${options.length} options`)
  for (const [name, words] of [...summaries, ...options]) {
    t.notMatch(words, vagueInHelp, name)
    t.match(words, /^[A-Z][\w-]+/, `${name}: ${words}`)
  }
  t.same(new Set(summaries.map(([, words]) => words.split(/[ ;,]/)[0]!).filter((word) => !verbs.has(word))), new Set())
  for (const sentence of [
    'Accept that the program behind a device describes itself otherwise than it did',
    'Install another version of benchd from a package file; what does not become healthy is undone',
    'What was done when it was recorded',
    'Change one value; what is no JSON is text',
  ])
    t.match(sentence, vagueInHelp)
  t.end()
})

const verbs = new Set(
  'Abort Accept Acknowledge Add Approve Attach Bring Change Check Clear Close Compare Confirm Continue Create Decide Delete Download Emit End Explain Export Get Give Halt Import Initialize Insert Install Let List Load Lock Make Mark Move Open Pack Pause Peel Perform Print Read Release Reload Remove Replace Replay Request Reserve Restore Resume Revoke Run Save Seal Send Set Shake Show Simulate Skip Start Stop Take Tare Unload Unlock Update Upload Verify Weigh Write'.split(
    ' ',
  ),
)

test('no doc comment and no head of a file does either', (t) => {
  const sources = ['src', 'drivers', 'scripts'].flatMap((folder) =>
    readdirSync(top + folder, { recursive: true, encoding: 'utf8' })
      .filter((path) => /\.(?:tsx?|mjs|cjs)$/.test(path) && !/\.test\.|node_modules|guest\/tests|testing\//.test(path))
      .map((path) => `${folder}/${path}`),
  )
  t.ok(sources.length > 400, `${sources.length} files`)
  for (const source of sources) {
    const text = read(source)
    const found = [/^\/\/ (.*)/.exec(text), ...text.matchAll(/\/\*\*\s+(?:\* )?(.*)/g)].flatMap((comment) => comment?.[1] ?? [])
    t.same(
      found.filter((words) => vagueAlone.test(words)),
      [],
      source,
    )
  }
  t.end()
})

/** The first words of each paragraph, list item and cell of a table; headings and code are left out. */
function beginnings(markdown: string): string[] {
  const lines = markdown.replaceAll(/^```[\s\S]*?^```/gm, '').split('\n')
  return lines.flatMap((line, place) => {
    if (line.startsWith('|')) return line.split('|').map((cell) => bare(cell))
    if (/^\s*(?:[-*]|\d+\.)\s/.test(line)) return [bare(line)]
    return lines[place - 1]?.trim() || line.startsWith('#') ? [] : [bare(line)]
  })
}

function bare(text: string): string {
  return text.replace(/^\s*(?:(?:[-*]|\d+\.|>)\s+)?(?:\*\*)?/, '').trim()
}

function descriptions(node: unknown): string[] {
  if (Array.isArray(node)) return node.flatMap(descriptions)
  if (typeof node !== 'object' || node === null) return []
  return Object.entries(node).flatMap(([name, value]) =>
    (name === 'summary' || name === 'description') && typeof value === 'string' ? [value] : descriptions(value),
  )
}
