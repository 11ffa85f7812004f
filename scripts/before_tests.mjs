// Loaded into each test before it begins, ahead of tap.

import asyncHooks from 'node:async_hooks'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import Module, { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

// Two things that tap does in each test cost a third of the processor time of all tests. For its coverage, which nobody reads here, it follows
// what is loaded.
const { register } = Module
Module.register = (specifier, ...more) => {
  if (!/\/processinfo\//.test(String(specifier))) return register(specifier, ...more)
}
// And it follows every promise and timer, to know which test an error belongs to that nobody caught. Without that, such an error still ends
// the process and prints its stack, and so the file fails.
asyncHooks.createHook = () => ({ enable: () => {}, disable: () => {} })
syncBuiltinESMExports()

// Children of tests start without all this.
delete process.env.NODE_OPTIONS

// Temporary files of a test and of all that it starts lie in one folder, which is removed when the test ends. So nothing is left of a program
// that a test kills, such as a demo that cannot remove its own folder any more. Every user may use it: some tests give up their rights.
const temporary = mkdtempSync(join(tmpdir(), 'test-'))
chmodSync(temporary, 0o1777)
process.env.TMPDIR = temporary
process.once('exit', () => rmSync(temporary, { recursive: true, force: true, maxRetries: 5 }))

// Files have the rights that most computers give them. Debian gives the members of a user's group more.
process.umask(0o022)

// Python would write compiled files beside the sources.
process.env.PYTHONDONTWRITEBYTECODE = '1'

const { t } = await import('tap')

// Of `testdir` and `teardown`, tap ends the one first that a test calls last. A service would still write while its folder is removed: the
// removal fails, and the service is never ended. With a teardown ahead of the folder, all teardowns come before the removal.
t.beforeEach((test) => test.teardown(() => undefined))
