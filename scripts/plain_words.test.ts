// Sentences name their subject. A reader must not have to look for what "What …" or "Those …" means.

import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'

const top = fileURLToPath(new URL('../..', import.meta.url))
const read = (path: string) => readFileSync(top + path, 'utf8')

const vague = /^(?:What|Who|Whoever|Whatever|Whichever|Those|Of one|Of those|So many|So much)\b/
/** Where a text stands alone, `It` has nothing before it that it could mean. */
const vagueAlone = /^(?:What|Who|Whoever|Whatever|Whichever|Those|Of one|Of those|So many|So much|It|One of)\b/

const pages = ['', 'src', 'drivers', 'scripts', 'systemd']
  .flatMap((folder) =>
    readdirSync(top + folder, { recursive: folder !== '', encoding: 'utf8' }).map((path) => (folder ? `${folder}/${path}` : path)),
  )
  .filter((path) => /(?:README|CHANGELOG|settings)\.md$/.test(path))

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
