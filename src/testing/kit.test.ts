import { pbkdf2 } from 'node:crypto'
import { open } from 'node:fs/promises'
import { devNull } from 'node:os'
import { promisify } from 'node:util'
import { test } from 'tap'
import { diskClock } from './kit.ts'

test('the clock of the disk stands still while a file is closed, however long the machine takes for it', async (t) => {
  const clock = diskClock()
  const handle = await open(devNull)
  // They keep every thread busy that could close it.
  const busy = Array.from({ length: 8 }, () => promisify(pbkdf2)('password', 'salt', 50_000, 32, 'sha256'))
  let isClosed = false
  const closing = handle.close().then(() => {
    isClosed = true
  })
  let wasClosed: boolean | undefined
  clock.after(1, () => {
    wasClosed = isClosed
  })
  await clock.advance(1)
  t.equal(wasClosed, true)
  await Promise.all([closing, ...busy])
})
