// Commands in hints and errors work where they are printed.

import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { test } from 'tap'
import { benchd, fakeProgram, running, spawned } from '../testing/cli.ts'

/** The folders of programs, without those in which something is called benchd. */
const folders = [...new Set([dirname(process.execPath), '/usr/bin', '/bin'])].filter((folder) => !existsSync(join(folder, 'benchd')))
const unlinked = { PATH: folders.join(':') }

test('in a clone that nobody has linked, commands are named with npx', async (t) => {
  const home = t.testdir({})
  t.match(await spawned(home, ['frobnicate'], unlinked), { code: 2, stderr: /; see: npx benchd help\n/ })
  t.match(await spawned(home, ['config', 'check'], unlinked), { code: 78, stderr: /or try: npx benchd demo/ })
  t.match((await spawned(home, ['runs', 'why', '--help'], unlinked)).stdout, /^Usage: benchd runs why/)
  t.match((await spawned(home, ['runs', 'recover', '--help'], unlinked)).stdout, /\nExample: npx benchd runs recover/)
  const lab = ['lab', 'init', `${home}/lab`, '--name', 'floor-2', '--bench', 'lab-pi-1', '--bench', 'lab']
  const group = /-g benchd lab-pi-1\.seed.*-g benchd lab\.seed/s
  t.match((await spawned(home, lab, unlinked)).stdout, group, 'the group of that name stays what it is')
})

test('a pairing names the command that approves it as it is typed there', async (t) => {
  const answers = [{ request_id: 'r', request_secret: 's', code: 'K7M-2QX' }, { api_key: 'bk_made' }]
  const server = createServer((_, response) => response.end(JSON.stringify(answers.shift())))
  t.teardown(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const paired = await spawned(t.testdir({}), ['key', 'pair', '--url', url, '--name', 'laptop', '--scope', 'read'], unlinked)
  t.match(paired, { code: 0, stdout: 'bk_made\n', stderr: /\nbenchd: approve it on the bench with: npx benchd key approve K7M-2QX\n/ })
})

test('the log, the answers and the pages of a service name them so, too', async (t) => {
  const home = t.testdir({})
  const service = running(t, home, ['demo', '--port', '0'], unlinked)
  const url = await service.line(/^ +API +(http:\/\/[\d.]+:\d+)/)
  t.match(await service.line(/^ +npx benchd runs .*/), 'npx benchd runs simulate')
  await fetch(`${url}/api/keys/requests`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ app_name: 'laptop', scope: 'read' }),
  })
  t.match(await service.line(/.*key approve.*/), /if you know who that is: npx benchd key approve/)
  t.match(await (await fetch(`${url}/api/devices`)).json(), { detail: /at the bench with: npx benchd key create/ })
  for (const page of ['/', '/docs']) t.match(await (await fetch(url + page)).text(), 'name="benchd-command" content="npx benchd"')
})

test('only these files write to stderr; all others say it through one function', (t) => {
  const folder = new URL('../../../src/cli/', import.meta.url)
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => /(?<!\.test)\.ts$/.test(file))
  t.same(
    files.filter((file) => readFileSync(new URL(file, folder), 'utf8').includes('stderr.write')).sort(),
    // The others rewrite a line, pass on what another process has said, or speak with the person of a trial.
    ['table.ts', 'as_owner.ts', 'devices/perform.ts', 'devices/trial_person.ts'].sort(),
  )
  t.end()
})

test('where it is on the path they are named without', async (t) => {
  const home = t.testdir({})
  t.match(await benchd(home, ['frobnicate']), { code: 2, stderr: /; see: benchd help\n/ })
  const PATH = fakeProgram(`${home}/bin`, 'benchd', 'exit 1')
  t.match(await spawned(home, ['frobnicate'], { PATH }), { code: 2, stderr: /; see: benchd help\n/ })
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
  const listed = { code: 0, stdout: /laptop\n$/, stderr: new RegExp(`no service runs on the data folder ${folder}.*: these are the keys`) }
  t.match(await benchd(home, ['key', 'list', '--data-dir', folder]), listed)
  const BENCHD_URL = 'http://127.0.0.1:1'
  const exported = await benchd(home, ['key', 'list', '--data-dir', folder], { BENCHD_URL })
  t.match(exported, listed, 'a named folder goes before an exported address')
})
