import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { test } from 'tap'
import { sweepRunFolders } from './run_folders.ts'

const id = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`
const sha256 = 'a'.repeat(64)

test('the folders of runs that nobody knows go, and nothing else does', async (t) => {
  const whole = () => ({ 'record.jsonl': '', [sha256]: '1', [`${sha256}.0-1.tmp`]: '', files: { [sha256]: '', 'b-1.tmp': '' } })
  const folder = t.testdir({
    [id(1)]: whole(),
    [id(2)]: whole(),
    [id(3)]: { ...whole(), 'notes.txt': 'by hand' },
    [id(4)]: { 'record.jsonl': '', files: { [sha256]: '', deep: {} } },
    [id(5)]: {},
    other: whole(),
    'state-000001.jsonl': '',
    elsewhere: {},
  })
  mkdirSync(`${folder}/elsewhere/${id(6)}`)
  symlinkSync(`${folder}/elsewhere/${id(6)}`, `${folder}/${id(6)}`)
  writeFileSync(`${folder}/${id(7)}`, 'no folder')
  t.same((await sweepRunFolders(folder, (one) => one === id(2))).sort(), [id(1), id(5)])
  for (const name of [id(2), id(3), id(4), id(6), id(7), 'other', 'state-000001.jsonl', `elsewhere/${id(6)}`])
    t.ok(existsSync(`${folder}/${name}`), name)
  for (const name of [id(1), id(5)]) t.notOk(existsSync(`${folder}/${name}`), name)
  t.same(await sweepRunFolders(`${folder}/none`, () => false), [])
})
