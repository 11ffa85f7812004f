#!/usr/bin/env node
// Prints what CHANGELOG.md says of a version, as the notes of its release. Fails unless package.json has that version too.
//
//   scripts/release-notes.mjs v1.2.3
import { readFileSync } from 'node:fs'

const read = (file) => readFileSync(new URL(`../${file}`, import.meta.url), 'utf8')
const version = (process.argv[2] ?? '').replace(/^v/, '')
const { version: packed } = JSON.parse(read('package.json'))
const [, ...sections] = read('CHANGELOG.md').split(/^## /m)
const notes = sections.find((section) => section.startsWith(`[${version}]`))
if (version !== packed) fail(`the tag is for version ${version}, and package.json has ${packed}: change one of them`)
if (!notes) fail(`CHANGELOG.md has no section [${version}]: give the section [Unreleased] that name`)
process.stdout.write(`${notes.slice(notes.indexOf('\n')).trim()}\n`)

function fail(why) {
  console.error(`release-notes: ${why}`)
  process.exit(1)
}
