// The scripts that CI and a release call are there, and a release has notes.

import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Test, test } from 'tap'

const top = fileURLToPath(new URL('../..', import.meta.url))
const folder = `${top}.github/workflows`
const workflows = readdirSync(folder).map((name) => [name, readFileSync(`${folder}/${name}`, 'utf8')] as const)

test('the workflows call commands and files that are there, and name no other server', (t) => {
  const { scripts } = JSON.parse(readFileSync(`${top}package.json`, 'utf8')) as { scripts: Record<string, string> }
  const called: string[] = []
  for (const [name, text] of workflows) {
    t.notMatch(text, /\w:\/\/|registry/, name)
    for (const [, script = ''] of text.matchAll(/npm (?:run )?(test|(?<=run )\w+)/g)) t.ok(scripts[script], `${name}: npm run ${script}`)
    for (const [, path = ''] of text.matchAll(/(?:run: |uses: )((?:\.ci|scripts|\.\/\.github)\/[\w./-]+)/g)) {
      called.push(path)
      t.ok(existsSync(top + path), `${name}: ${path}`)
    }
  }
  t.same(called.sort(), ['./.github/workflows/ci.yml', '.ci/run', 'scripts/release-notes.mjs'])
  t.end()
})

/** The notes of a tag, from a CHANGELOG and a version of its own. */
function notes(t: Test, version: string, tag: string) {
  const home = t.testdir({ 'package.json': JSON.stringify({ version }) })
  mkdirSync(`${home}/scripts`)
  cpSync(`${top}scripts/release-notes.mjs`, `${home}/scripts/release-notes.mjs`)
  writeFileSync(
    `${home}/CHANGELOG.md`,
    '# Changelog\n\n## [Unreleased]\n\n## [1.2.0] - 2026-01-02\n\n### Added\n\n- A.\n\n## [1.1.0]\n\n- B.\n',
  )
  const { status, stdout, stderr } = spawnSync(process.execPath, [`${home}/scripts/release-notes.mjs`, tag], { encoding: 'utf8' })
  return { status, stdout, stderr }
}

test('the notes of a release are the section of its version; a tag without one, or for another version, makes no release', (t) => {
  t.same(notes(t, '1.2.0', 'v1.2.0'), { status: 0, stdout: '### Added\n\n- A.\n', stderr: '' })
  t.match(notes(t, '1.2.0', 'v1.1.0'), { status: 1, stdout: '', stderr: /is for version 1\.1\.0, and package\.json has 1\.2\.0/ })
  t.match(notes(t, '1.3.0', 'v1.3.0'), { status: 1, stdout: '', stderr: /no section \[1\.3\.0\]/ })
  t.end()
})
