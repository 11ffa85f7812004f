// The same questions, asked at once and through the pool of threads.

import { readFileSync, statSync } from 'node:fs'
import { test } from 'tap'
import * as disk from './disk.ts'

for (const atOnce of [true, false]) {
  test(`the disk answers ${atOnce ? 'at once' : 'through the pool'}, and a refusal rejects`, async (t) => {
    disk.askAtOnce(atOnce)
    t.teardown(() => disk.askAtOnce(false))
    const folder = t.testdir({ full: { one: '1', two: '2' } })
    const one = `${folder}/full/one`
    t.equal((await disk.stat(one)).size, 1)
    t.equal((await disk.statOf(one)).size, 1n)
    t.ok((await disk.lstat(one)).isFile())
    t.same((await disk.readdir(`${folder}/full`)).sort(), ['one', 'two'])
    await disk.tryFolder(`${folder}/full`)
    await disk.mkdir(`${folder}/new`)
    t.equal(statSync(`${folder}/new`).mode & 0o777, 0o700)
    await disk.link(one, `${folder}/new/linked`)
    await disk.rename(`${folder}/new/linked`, `${folder}/new/renamed`)
    await disk.unlink(one)
    t.equal(readFileSync(`${folder}/new/renamed`, 'utf8'), '1')
    t.equal((await disk.writeNew(`${folder}/new/file`, 'text')).size, 4n)
    t.equal(statSync(`${folder}/new/file`).mode & 0o777, 0o600)
    await disk.syncFolder(folder)

    const nothing = `${folder}/nothing`
    const questions: ((path: string) => Promise<unknown>)[] = [disk.stat, disk.statOf, disk.lstat, disk.readdir, disk.tryFolder]
    for (const ask of [...questions, disk.unlink, disk.syncFolder]) await t.rejects(ask(nothing), { code: 'ENOENT' })
    await t.rejects(disk.rename(nothing, `${folder}/x`), { code: 'ENOENT' })
    await t.rejects(disk.link(nothing, `${folder}/x`), { code: 'ENOENT' })
    await t.rejects(disk.mkdir(`${folder}/full`), { code: 'EEXIST' })
    await t.rejects(disk.writeNew(`${folder}/full/two`, 'text'), { code: 'EEXIST' })
    t.equal(readFileSync(`${folder}/full/two`, 'utf8'), '2')
  })
}
