import { appendFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { test } from 'tap'
import { emptySegment, readSidecar, sidecarOf, writeSidecar } from './log_segment.ts'

test('a sidecar that is far too large is not read', async (t) => {
  const segment = emptySegment(t.testdir(), 1)
  await writeSidecar(segment, open)
  t.ok(readSidecar(segment, 0))
  appendFileSync(sidecarOf(segment.path), ' '.repeat(17 * 1024 * 1024))
  t.equal(readSidecar(segment, 0), undefined)
})
