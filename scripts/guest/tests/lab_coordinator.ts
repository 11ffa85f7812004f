// The package benchd-lab under systemd, beside the service: it waits for its lab file, then for its database, in a sandbox, and goes without a trace.

import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, statSync, writeFileSync } from 'node:fs'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import { benchd, coordinatorPackage, dpkg, journal, property, systemctl } from './service_unit.ts'
import { until } from './waiting.ts'

const run = promisify(execFile)
const slow_ms = 120_000
const unit = 'benchd-lab.service'
const folder = '/etc/benchd/lab'

export async function coordinatorIsInstalled(t: TestContext): Promise<void> {
  const said = await dpkg('--install', coordinatorPackage)
  const [copy, ...words] = /sudo cp (\S+) (\S+)/.exec(said)?.slice(1) ?? []
  assert.equal(words[0], `${folder}/lab.jsonc`, said)
  assert.deepEqual([statSync(folder).mode & 0o7777, statSync(`${folder}/keys`).mode & 0o7777], [0o2751, 0o2750])
  assert.equal(execFileSync('systemd-analyze', ['verify', unit], { encoding: 'utf8', stdio: 'pipe' }), '')
  const secured = execFileSync('systemd-analyze', ['security', '--no-pager', '--threshold=20', unit], { encoding: 'utf8' })
  t.diagnostic(secured.trim().split('\n').at(-1) ?? '')

  await systemctl('start', 'benchd-lab')
  assert.equal(property('ActiveState', unit), 'inactive', 'without a lab file it does nothing')
  copyFileSync(copy!, `${folder}/lab.jsonc`)
  await assert.rejects(benchd('lab', 'check'), /prep\.key/, 'the example is read, and says what it lacks')
  const lab = { format: 1, name: 'floor-2', benches: { prep: { url: 'http://127.0.0.1:8520' } }, journeys: {} }
  writeFileSync(`${folder}/lab.jsonc`, JSON.stringify(lab))
  writeFileSync(`${folder}/keys/prep.key`, (await benchd('key', 'create', '--name', 'lab', '--scope', 'admin')).stdout, { mode: 0o640 })
  await benchd('lab', 'check')

  await systemctl('enable', '--now', 'benchd-lab')
  assert.equal(property('ActiveState', unit), 'active')
  await until('it says what it waits for', () => /PostgreSQL does not answer/.test(journal(unit)), slow_ms)
  await assert.rejects(benchd('lab', 'journeys'), /PostgreSQL/)
  const user = execFileSync('ps', ['-o', 'user:20=', '-p', property('MainPID', unit)], { encoding: 'utf8' }).trim()
  assert.equal(user, 'benchd-lab')
  const asUser = (path: string) => run('setpriv', ['--reuid=benchd-lab', '--regid=benchd-lab', '--init-groups', 'cat', path])
  await asUser(`${folder}/keys/prep.key`)
  for (const path of ['/var/lib/benchd/keys.json', '/run/benchd/control.sock']) await assert.rejects(asUser(path), /Permission denied/)

  assert.match(await dpkg('--purge', 'benchd-lab'), /dropdb/)
  assert.equal(property('LoadState', unit), 'not-found')
  for (const path of [folder, '/var/lib/benchd-lab', '/usr/lib/benchd/node_modules/pg']) assert.ok(!existsSync(path), path)
  assert.equal(property('ActiveState'), 'active', 'the service beside it goes on')
}
