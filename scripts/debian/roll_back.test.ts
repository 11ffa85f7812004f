// What `roll-back` puts back of the state after an upgrade that came to nothing: the script itself, on folders of a test, with a dpkg and a
// systemctl that do nothing.

import { execFileSync } from 'node:child_process'
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
  const rollBack = () => {
    write(bin, { dpkg: '#!/bin/sh\n', systemctl: '#!/bin/sh\n' })
    for (const name of ['dpkg', 'systemctl']) chmodSync(`${bin}/${name}`, 0o755)
    const text = readFileSync(script, 'utf8')
      .replace(/^cache=.*$/m, `cache=${cache}`)
      .replace(/^state=.*$/m, `state=${state}`)
    return execFileSync('sh', ['-c', text], { encoding: 'utf8', env: { ...process.env, PATH: `${bin}:${process.env.PATH}` } })
  }
  return { top, state, cache, backUp, rollBack }
}

const cannot = process.geteuid?.() !== 0 && 'only root can do this for another user'

test('what a newer version has rewritten in a newer format is put back, journals too, and nothing else', { skip: cannot }, (t) => {
  const { state, cache, backUp, rollBack } = prepared(t)
  write(state, {
    'teachpoints.json': json(1, 'before'),
    'workflows.json': json(1, 'before'),
    'records.jsonl': journal(undefined, '{"before":1}'),
    'runs.jsonl': journal(undefined, '{"before":1}'),
    'incidents.jsonl': `\n${journal(undefined, '{"before":1}')}`,
    'executions/a.jsonl': journal(undefined, '{"before":1}'),
    'executions/b.jsonl': journal(1, '{"before":1}'),
  })
  backUp()
  write(state, {
    'teachpoints.json': json(2, 'newer'),
    'workflows.json': json(1, 'since'),
    'records.jsonl': journal(2, '{"newer":1}'),
    'runs.jsonl': journal(undefined, '{"since":1}'),
    'incidents.jsonl': `\n${journal(3, '{"newer":1}')}`,
    'executions/a.jsonl': journal(2, '{"newer":1}'),
    'executions/b.jsonl': journal(1, '{"since":1}'),
    'executions/c.jsonl': journal(2, '{"newer":1}'),
    'executions/d.jsonl': journal(undefined, '{"since":1}'),
    'new.json': json(2, 'newer'),
  })
  const said = rollBack()

  const read = (name: string) => readFileSync(`${state}/${name}`, 'utf8')
  for (const name of ['teachpoints.json', 'records.jsonl', 'incidents.jsonl', 'executions/a.jsonl']) {
    t.match(read(name), /before/, name)
    t.match(read(`${name}.newer`), /newer/, name)
    t.match(said, `${name} is as it was before the upgrade`)
  }
  for (const name of ['workflows.json', 'runs.jsonl', 'executions/b.jsonl', 'executions/d.jsonl']) t.match(read(name), /since/, name)
  t.same(readdirSync(`${state}/executions`), ['a.jsonl', 'a.jsonl.newer', 'b.jsonl', 'c.jsonl.newer', 'd.jsonl'])
  t.match(read('new.json'), /newer/, 'the older version does not know it')
  t.notOk(existsSync(`${cache}/upgrading`))
  t.end()
})

test('a file of runs that the newer version has taken over into one of its own is back', { skip: cannot }, (t) => {
  const { state, backUp, rollBack } = prepared(t)
  write(state, { 'executions/state-000007.jsonl': journal(3, '{"before":1}') })
  backUp()
  rmSync(`${state}/executions/state-000007.jsonl`)
  write(state, { 'executions/state-000008.jsonl': journal(4, '{"newer":1}') })
  t.match(rollBack(), /executions\/state-000007\.jsonl is back as it was before the upgrade/)
  t.same(readdirSync(`${state}/executions`), ['state-000007.jsonl', 'state-000008.jsonl.newer'])
  const back = `${state}/executions/state-000007.jsonl`
  t.match(readFileSync(back, 'utf8'), /before/)
  t.match(statSync(back), { uid: 54_321, gid: 54_322 })
  t.end()
})

test('a file of runs that is gone since without a newer one stays gone', { skip: cannot }, (t) => {
  const { state, backUp, rollBack } = prepared(t)
  write(state, { 'executions/state-000007.jsonl': journal(3, '{"before":1}') })
  backUp()
  rmSync(`${state}/executions/state-000007.jsonl`)
  write(state, { 'executions/state-000008.jsonl': journal(3, '{"since":1}') })
  rollBack()
  t.same(readdirSync(`${state}/executions`), ['state-000008.jsonl'])
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
