// The lock file is the same for each npm, so that an installation changes no tracked file.

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'

test('the lock file has no member that only some versions of npm keep', (t) => {
  const { packages } = JSON.parse(readFileSync(fileURLToPath(new URL('../../package-lock.json', import.meta.url)), 'utf8')) as {
    packages: Record<string, object>
  }
  const named = Object.entries(packages).filter(([, about]) => 'libc' in about)
  t.same(named, [], 'npm 11.7 and newer write `libc` when they change the tree, and npm 9 to 11.6 take it out again: take it out by hand')
  t.ok(Object.keys(packages).length > 100)
  t.end()
})
