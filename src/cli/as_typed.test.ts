// Commands in hints and errors work where they are printed.

import { execFileSync } from 'node:child_process'
import { test } from 'tap'
import { benchd, fakeProgram } from '../testing/cli.ts'

/** Nothing called benchd is on it. */
const unlinked = { PATH: execFileSync('dirname', [process.execPath], { encoding: 'utf8' }).trim() }

test('in a clone that nobody has linked, commands are named with npx', async (t) => {
  const home = t.testdir({})
  t.match(await benchd(home, ['frobnicate'], unlinked), { code: 2, stderr: /; see: npx benchd help\n/ })
  t.match(await benchd(home, ['config', 'check'], unlinked), { code: 78, stderr: /or try: npx benchd demo/ })
  t.match((await benchd(home, ['runs', 'why', '--help'], unlinked)).stdout, /^Usage: benchd runs why/)
  t.match((await benchd(home, ['runs', 'recover', '--help'], unlinked)).stdout, /\nExample: npx benchd runs recover/)
})

test('where it is on the path they are named without', async (t) => {
  const home = t.testdir({})
  t.match(await benchd(home, ['frobnicate']), { code: 2, stderr: /; see: benchd help\n/ })
  const PATH = fakeProgram(`${home}/bin`, 'benchd', 'exit 1')
  t.match(await benchd(home, ['frobnicate'], { PATH }), { code: 2, stderr: /; see: benchd help\n/ })
})

test('an error is JSON on stdout for who asked for JSON, and a sentence on stderr', async (t) => {
  const home = t.testdir({})
  const refused = await benchd(home, ['key', 'revoke', 'aaaaaaaa', '--yes', '--json', '--data-dir', `${home}/data`])
  t.equal(refused.code, 3)
  t.match(JSON.parse(refused.stdout), { success: false, error: 'not_found', message: /no key/ })
  t.match(refused.stderr, /\nbenchd: there is no key/)
  t.match(JSON.parse((await benchd(home, ['frobnicate', '--json'])).stdout), { success: false, error: 'usage' })
  t.equal((await benchd(home, ['frobnicate', '--', '--json'])).stdout, '')
})

test('a key for a folder without a service is told before it is made', async (t) => {
  const home = t.testdir({})
  const folder = `${home}/data`
  const made = await benchd(home, ['key', 'create', '--name', 'laptop', '--scope', 'read', '--data-dir', folder])
  t.match(made, { code: 0, stdout: /^bk_/, stderr: new RegExp(`no service runs on the data folder ${folder}`) })
  t.match((await benchd(home, ['key', 'list', '--data-dir', folder])).stderr, '', 'a list changes nothing')
})
