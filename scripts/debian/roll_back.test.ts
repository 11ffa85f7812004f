// What `roll-back` puts back of the state after an upgrade that came to nothing: the script itself, on folders of a test, with a dpkg and a
// systemctl that do nothing.

import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Test, test } from 'tap'

const script = fileURLToPath(new URL('../../../scripts/debian/roll-back', import.meta.url))

const journal = (format: number | undefined, text: string) => `${format === undefined ? '' : `{"format": ${format}}\n`}${text}\n`
const json = (format: number, text: string) => `{\n"format": ${format},\n"text": "${text}"\n}\n`

function write(folder: string, files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(`${folder}/${name}`), { recursive: true })
    writeFileSync(`${folder}/${name}`, text)
  }
}

/** On a state like that of a service, of a user of its own. */
function prepared(t: Test) {
  const top = mkdtempSync(`${tmpdir()}/benchd-roll-back-`)
  t.teardown(() => rmSync(top, { recursive: true }))
  const [state, cache, bin] = [`${top}/state`, `${top}/cache`, `${top}/bin`]
  for (const folder of [top, state, cache]) mkdirSync(folder, { recursive: true })
  chmodSync(top, 0o755)
  const backUp = () => {
    execFileSync('chown', ['-hR', '54321:54322', state])
    execFileSync('tar', ['-C', '/', '-czf', `${top}/backup.tar.gz`, state.slice(1)], { stdio: 'pipe' })
    write(cache, { 'previous.deb': 'a package', upgrading: `active=no\nbackup=${top}/backup.tar.gz\nfrom=0.1.0\n` })
  }
  /** `answersAfter` counts the questions for the health of the service; `unit` is what systemd says of it. */
  const rollBack = ({ active = 'no', answersAfter = 0, unit = 'activating' } = {}) => {
    rmSync(`${top}/calls`, { force: true })
    rmSync(`${top}/asked`, { force: true })
    write(cache, { upgrading: readFileSync(`${cache}/upgrading`, 'utf8').replace(/^active=.*$/m, `active=${active}`) })
    write(bin, {
      dpkg: '#!/bin/sh\n',
      sleep: '#!/bin/sh\n',
      systemctl: `#!/bin/sh\necho "$*" >>${top}/calls\n[ "$1" != is-active ] || echo ${unit}\n`,
      node: `#!/bin/sh\n[ "$1" != -p ] || exec echo 0.1.0\necho >>${top}/asked\n[ $(wc -l <${top}/asked) -ge ${answersAfter} ] || { echo nobody listens; exit 1; }\n`,
    })
    for (const name of readdirSync(bin)) chmodSync(`${bin}/${name}`, 0o755)
    const text = readFileSync(script, 'utf8')
      .replace(/^cache=.*$/m, `cache=${cache}`)
      .replace(/^state=.*$/m, `state=${state}`)
      .replaceAll('/usr/bin/node', `${bin}/node`)
    const env = { ...process.env, PATH: `${bin}:${process.env.PATH}` }
    const { status, stdout, stderr } = spawnSync('sh', ['-c', text], { encoding: 'utf8', env })
    return { code: status, said: stdout + stderr }
  }
  return { top, state, cache, backUp, rollBack }
}

const cannot = process.geteuid?.() !== 0 && 'only root can do this for another user'

test('the state is as it was before the upgrade, and the files of the newer version are kept beside it', { skip: cannot }, (t) => {
  const { state, cache, backUp, rollBack } = prepared(t)
  write(state, {
    'teachpoints.json': json(1, 'before'),
    'teachpoints.json.bak': json(1, 'before'),
    'workflows.json': json(1, 'before'),
    'records.jsonl': journal(undefined, '{"before":1}'),
    'operations.jsonl': journal(undefined, '{"before":1}'),
    'executions/a.jsonl': journal(undefined, '{"before":1}'),
    'executions/state-000007.jsonl': journal(3, '{"before":1}'),
  })
  backUp()
  rmSync(`${state}/executions/state-000007.jsonl`)
  const newer = {
    'teachpoints.json': json(2, 'newer'),
    'teachpoints.json.bak': json(1, 'newer'),
    // A line of a kind that the older version does not know, in the same format.
    'records.jsonl': journal(undefined, '{"newer":1}'),
    'executions/a.jsonl': journal(2, '{"newer":1}'),
  }
  // None of these was there: the older version would refuse the first two.
  const begun = {
    'incidents.jsonl': journal(3, '{"newer":1}'),
    'runs.jsonl': journal(3, '{"newer":1}'),
    'idempotency.jsonl': journal(1, '{"newer":1}'),
    'executions/state-000008.jsonl': journal(4, '{"newer":1}'),
  }
  write(state, { ...newer, ...begun })
  const { said, code } = rollBack()

  t.equal(code, 0)
  const read = (name: string) => readFileSync(`${state}/${name}`, 'utf8')
  for (const name of Object.keys(newer)) {
    t.match(read(name), /before/, name)
    t.match(read(`${name}.newer`), /newer/, name)
  }
  for (const name of Object.keys(begun)) {
    t.notOk(existsSync(`${state}/${name}`), name)
    t.match(read(`${name}.newer`), /newer/, name)
  }
  for (const name of ['workflows.json', 'operations.jsonl', 'executions/state-000007.jsonl']) t.match(read(name), /before/, name)
  t.match(statSync(`${state}/executions/state-000007.jsonl`), { uid: 54_321, gid: 54_322 })
  const line = (beginning: string) => said.split('\n').find((one) => one.startsWith(`benchd: ${beginning}, `)) ?? ''
  for (const name of [...Object.keys(newer), 'executions/state-000007.jsonl'])
    t.ok(line('as before the upgrade').split(' ').includes(name), name)
  for (const name of [...Object.keys(newer), ...Object.keys(begun)])
    t.ok(
      line('kept aside').includes(` in ${state} with .newer at its end`) && line('kept aside').split(' ').join('\n').includes(name),
      name,
    )
  t.notOk(existsSync(`${cache}/upgrading`))
  t.end()
})

test('what the bench and its keys are since stays, where the older version reads it', { skip: cannot }, (t) => {
  const { state, backUp, rollBack } = prepared(t)
  write(state, {
    'latches.json': json(1, 'before'),
    'keys.json': json(1, 'before'),
    'runs.jsonl': journal(3, '{"before":1}'),
    'audit.jsonl': journal(undefined, '{"before":1}'),
    'notify.jsonl': journal(1, '{"before":1}'),
  })
  backUp()
  write(state, {
    'latches.json': json(1, 'since'),
    'keys.json': json(1, 'since'),
    'runs.jsonl': journal(3, '{"since":1}'),
    'audit.jsonl': journal(undefined, '{"since":1}'),
    'audit-refused.jsonl': journal(undefined, '{"since":1}'),
    'notify.jsonl': journal(3, '{"newer":1}'),
  })
  rollBack()
  const read = (name: string) => readFileSync(`${state}/${name}`, 'utf8')
  for (const name of ['latches.json', 'keys.json', 'runs.jsonl', 'audit.jsonl', 'audit-refused.jsonl']) t.match(read(name), /since/, name)
  t.match(read('notify.jsonl'), /before/)
  t.end()
})

test('the event log ends where it ended when the state was packed, and is kept beside it', { skip: cannot }, (t) => {
  const { state, cache, backUp, rollBack } = prepared(t)
  write(state, { 'events/events-000001.jsonl': 'one\n', 'events/events-000002.jsonl': 'two\n' })
  backUp()
  write(cache, { events: '4 events-000001.jsonl\n4 events-000002.jsonl\n' })
  write(state, { 'events/events-000002.jsonl': 'two\nnewer\n', 'events/events-000003.jsonl': 'newer\n' })
  const { said } = rollBack()
  t.same(
    readdirSync(`${state}/events`),
    [1, 2, 2, 3].map((n, i) => `events-00000${n}.jsonl${i > 1 ? '.newer' : ''}`),
  )
  const read = (name: string) => readFileSync(`${state}/events/${name}`, 'utf8')
  t.equal(read('events-000001.jsonl'), 'one\n')
  t.equal(read('events-000002.jsonl'), 'two\n')
  t.equal(read('events-000002.jsonl.newer'), 'two\nnewer\n')
  t.match(statSync(`${state}/events/events-000002.jsonl`), { uid: 54_321, gid: 54_322 })
  t.match(said, /kept aside.*events\/events-000002\.jsonl events\/events-000003\.jsonl/)
  t.notOk(existsSync(`${cache}/events`))
  t.end()
})

test('a roll-back that was cut off goes on where it was, and loses nothing', { skip: cannot }, (t) => {
  const { state, backUp, rollBack } = prepared(t)
  write(state, { 'records.jsonl': journal(1, '{"before":1}'), 'workflows.json': json(1, 'before') })
  backUp()
  write(state, { 'records.jsonl.newer': journal(3, '{"newer":1}'), 'workflows.json': json(1, 'before') })
  rmSync(`${state}/records.jsonl`)
  rollBack()
  t.same(readdirSync(state), ['records.jsonl', 'records.jsonl.newer', 'workflows.json'])
  t.match(readFileSync(`${state}/records.jsonl`, 'utf8'), /before/)
  t.end()
})

test('it ends with a start of the older version, and says whether that answers', { skip: cannot }, (t) => {
  const { top, state, backUp, rollBack } = prepared(t)
  write(state, { 'workflows.json': json(1, 'before') })
  const calls = () => readFileSync(`${top}/calls`, 'utf8')

  backUp()
  t.match(rollBack({ active: 'yes', answersAfter: 3 }), { code: 0, said: /version 0\.1\.0 runs, and answers on its health route\n$/ })
  t.match(calls(), /start benchd\.service/)

  for (const active of ['no', 'failed']) {
    backUp()
    t.match(rollBack({ active, answersAfter: 3 }), { code: 0, said: /the package of version 0\.1\.0 is back/ })
    t.notMatch(calls(), /start benchd/, 'what did not run before is not started')
  }

  for (const unit of ['failed', 'activating']) {
    backUp()
    t.match(rollBack({ active: 'yes', answersAfter: 1000, unit }), {
      code: 1,
      said: /version 0\.1\.0 does not answer on its health route: nobody listens\n.*journalctl -u benchd.*\n$/,
    })
  }
  t.end()
})

test('no link in the state leads root to what is its own', { skip: cannot }, (t) => {
  const { top, state, backUp, rollBack } = prepared(t)
  const roots = `${top}/roots`
  write(roots, { 'a.jsonl': journal(9, '{"roots":1}'), passwd: 'roots' })
  chmodSync(roots, 0o700)
  write(state, { 'teachpoints.json': json(1, 'before'), 'keys.json': json(1, 'before'), 'executions/a.jsonl': journal(1, '{"before":1}') })
  backUp()
  write(state, { 'teachpoints.json': json(2, 'newer'), 'keys.json': json(2, 'newer') })
  // Each is in the way of something that is put aside.
  symlinkSync(roots, `${state}/teachpoints.json.newer`)
  symlinkSync(`${roots}/passwd`, `${state}/keys.json.newer`)
  renameSync(`${state}/executions`, `${state}/executions.own`)
  symlinkSync(roots, `${state}/executions`)
  rollBack()
  t.same(readdirSync(roots).sort(), ['a.jsonl', 'passwd'])
  t.match(readFileSync(`${roots}/a.jsonl`, 'utf8'), 'roots')
  t.equal(readFileSync(`${roots}/passwd`, 'utf8'), 'roots')
  for (const name of ['teachpoints.json', 'keys.json']) {
    t.match(readFileSync(`${state}/${name}`, 'utf8'), 'before')
    t.match(readFileSync(`${state}/${name}.newer`, 'utf8'), 'newer')
    t.match(statSync(`${state}/${name}`), { uid: 54_321, gid: 54_322 })
  }
  t.end()
})
