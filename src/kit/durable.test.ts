import { mkdirSync } from 'node:fs'
import { test } from 'tap'
import { readError } from './durable.ts'
import { readText } from './files.ts'

test('a file that cannot be read is told in words, with what to do', async (t) => {
  const folder = t.testdir({ file: '' })
  mkdirSync(`${folder}/inner`)
  for (const [path, sentence] of [
    ['none', 'none cannot be read: there is no such file; check the path (ENOENT)'],
    ['inner', 'inner cannot be read: it is a folder; name a file in it (EISDIR)'],
    ['file/x', 'file/x cannot be read: a part of its path is a file and not a folder; check the path (ENOTDIR)'],
  ] as const)
    await t.rejects(readText(`${folder}/${path}`), { code: 'not_found', message: `${folder}/${sentence}` })
})

test('the code of the caller and the cause stay', (t) => {
  const cause = Object.assign(new Error('EACCES: permission denied, open'), { code: 'EACCES' })
  t.match(readError('/secret', cause, 'config'), {
    code: 'config',
    cause,
    message: /^\/secret cannot be read: its permissions forbid it; use sudo/,
  })
  t.match(readError('/odd', new Error('it is no file')), { message: '/odd cannot be read: it is no file' })
  t.end()
})
