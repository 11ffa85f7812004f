// The README of each driver says how far to trust each fact, for the person who wires the instrument.

import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'tap'
import { driverNames, drivers } from './index.ts'

// Tests run from `dist`.
const folder = new URL('../../drivers/', import.meta.url)
const readmes = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('/README.md'))

test('each README says that no safety decision rests on a guess alone, and marks what a simulator makes up', async (t) => {
  for (const name of driverNames) {
    const { folder = name } = (await drivers[name]()).about
    t.ok(readmes.includes(`${folder}/README.md`), `${name} has a README`)
  }
  for (const path of readmes) {
    const text = readFileSync(new URL(path, folder), 'utf8').replace(/\s+/g, ' ')
    t.match(text, /no safety decision rests on it alone/i, path)
    const simulator = text.split(/## (?:The s|S)imulator /)[1]
    if (simulator !== undefined) t.match(simulator, /\[(all )?G\]/, path)
    t.same(text.match(/\[(?:all )?[A-Z]\b[^\]]{0,3}\]/g)?.filter((mark) => !/^\[(all )?[HMVIG](, [HMVIG])?\]$/.test(mark)) ?? [], [], path)
  }
})
