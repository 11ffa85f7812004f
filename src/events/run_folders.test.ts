import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { test } from 'tap'
import { sweepRunFolders } from './run_folders.ts'

const id = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`
const sha256 = 'a'.repeat(64)

test('the folders of unknown runs without a row go, and nothing else does', async (t) => {
  const bare = () => ({ 'record.jsonl': '', [sha256]: '1', [`${sha256}.0-1.tmp`]: '', files: { [sha256]: '', 'b-1.tmp': '' } })
  const folder = t.testdir({
    [id(1)]: bare(),
    [id(2)]: bare(),
    [id(3)]: { ...bare(), 'notes.txt': 'by hand' },
    [id(4)]: { 'record.jsonl': '', files: { [sha256]: '', deep: {} } },
    [id(5)]: {},
    [id(8)]: { ...bare(), 'record.jsonl': 'a row' },
    [id(9)]: { [sha256]: 'a value' },
    [id(10)]: { files: {} },
    [id(11)]: { files: { 'b-1.tmp': 'half' } },
    [id(12)]: { files: { [sha256]: 'a file' } },
    other: bare(),
    'state-000001.jsonl': '',
    elsewhere: {},
  })
  mkdirSync(`${folder}/elsewhere/${id(6)}`)
  symlinkSync(`${folder}/elsewhere/${id(6)}`, `${folder}/${id(6)}`)
  writeFileSync(`${folder}/${id(7)}`, 'no folder')
  const { removed, kept, bare: without } = await sweepRunFolders(folder, (one) => one === id(2))
  t.same(removed.sort(), [id(1), id(10), id(11), id(5)].sort())
  t.same(kept.sort(), [id(3), id(4), id(8)])
  t.same(without.sort(), [id(12), id(9)].sort())
  for (const name of [2, 3, 4, 6, 7, 8, 9, 12].map(id).concat('other', 'state-000001.jsonl', `elsewhere/${id(6)}`))
    t.ok(existsSync(`${folder}/${name}`), name)
  for (const name of [1, 5, 10, 11].map(id)) t.notOk(existsSync(`${folder}/${name}`), name)
  t.same(await sweepRunFolders(`${folder}/none`, () => false), { removed: [], kept: [], bare: [] })
})
