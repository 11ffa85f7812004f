// What `.ci/run` counts, with programs of the test in the place of those that it calls.

import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Test, test } from 'tap'

const script = fileURLToPath(new URL('../../.ci/run', import.meta.url))
const counts = '#!/bin/sh\necho "1 passed, 0 failed"\n'
const tested = (left: string) =>
  `#!/bin/sh\ncase "$*" in test* | tap* | *test:long*) ${left} cat "$SAID"; exit "$STATUS" ;; *) echo "1 passed, 0 failed" ;; esac\n`

/** They make folders where the real ones make users and clones. */
const ofRoot = {
  useradd: '#!/bin/sh\nmkdir -p "$CI_HOMES/benchd-ci"\n',
  userdel: '#!/bin/sh\nrm -rf "$CI_HOMES/benchd-ci"\n',
  chown: '#!/bin/sh\n',
  setpriv: '#!/bin/sh\nwhile case $1 in --*) ;; *) false ;; esac; do shift; done\nexec "$@"\n',
  // Of the programs that the user gets, this one is not on every Debian.
  curl: '#!/bin/sh\n',
  faketime: '#!/bin/sh\nshift 3\nexec "$@"\n',
  git: '#!/bin/sh\nfor last; do :; done\ncase $1 in clone) mkdir -p "$last" ;; log) echo "$COMMITTED" ;; *) printf "%s" "$CHANGED" ;; esac\n',
}

/** Runs a copy of it, where `npm test` and `npx tap` say this and end so. `maySkip` stands at the beginning of the list of tests that may skip. */
function run(
  t: Test,
  said: string,
  { status = 0, maySkip = '', service = 'echo "1 passed, 0 failed"', left = '', limit = '', changed = '', committed = 6, trials = '' } = {},
) {
  const top = t.testdir({
    '.ci': {},
    'package.json': '{}',
    'package-lock.json': '{}',
    bin: {},
    homes: {},
    said,
    dist: { scripts: { browser: {}, guest: {} } },
    scripts: { guest: {} },
  })
  const text = readFileSync(script, 'utf8')
  writeFileSync(`${top}/.ci/run`, text.replace("may_skip='\n", `may_skip='\n${maySkip}`))
  const stand_ins = { npm: tested(left), npx: tested(left), node: counts, 'apt-get': '#!/bin/sh\n', ...ofRoot }
  for (const [name, program] of Object.entries(stand_ins)) writeFileSync(`${top}/bin/${name}`, program, { mode: 0o755 })
  writeFileSync(`${top}/scripts/guest/service-test.sh`, `#!/bin/sh\n[ "$1" = story ] || exec echo "1 passed, 0 failed"\n${service}\n`, {
    mode: 0o755,
  })
  for (const name of ['test.sh', 'build-guest.sh', 'service-project.sh'])
    writeFileSync(`${top}/scripts/guest/${name}`, counts, { mode: 0o755 })
  const env = {
    PATH: `${top}/bin:${process.env.PATH}`,
    SAID: `${top}/said`,
    STATUS: String(status),
    CI_HOMES: `${top}/homes`,
    HOME: `${top}/homes`,
    CHANGED: changed,
    COMMITTED: String(committed),
    BENCHD_TRIALS: trials,
    ...(limit && { CI_STEP_LIMIT: limit }),
  }
  const { status: code, stdout } = spawnSync('bash', [`${top}/.ci/run`], { encoding: 'utf8', env, stdio: ['ignore', 'pipe', 'pipe'] })
  return { code, stdout, last: stdout.trimEnd().split('\n').at(-1) }
}

/** Tests run here, the long ones too, and on another Node. */
const times = 3

test('what passed is added up in one plain line', (t) => {
  const { code, last } = run(t, 'ok 1 - it works\n# { total: 10, pass: 10 }\n')
  t.equal(code, 0)
  t.match(last, /^\d+ passed, 0 failed$/)
  t.ok(Number.parseInt(last ?? '', 10) > 10 * times)
  t.end()
})

test('a test that fails, or an end that is none, fails all of it', (t) => {
  const failing = run(t, 'not ok 1 - it works\n# { total: 10, pass: 9, fail: 1 }\n', { status: 1 })
  t.match(failing, { code: 1, last: new RegExp(`^\\d+ passed, ${times} failed$`), stdout: /== FAILED: npm test[\s\S]*not ok 1 - it works/ })
  t.match(run(t, '# { total: 10, pass: 10 }\n', { status: 1 }), { code: 1, last: new RegExp(`, ${times} failed$`) })
  t.match(run(t, 'broken off\n'), { code: 1, last: new RegExp(`, ${times} failed$`) })
  t.end()
})

test('a test that skips is named, and fails all of it unless it is on the list', (t) => {
  const skipping = '    ok 4 - zsh completes the same # SKIP zsh is not here\n# { total: 10, pass: 9, skip: 1 }\n'
  const named = /^skipped: zsh completes the same # SKIP zsh is not here$/m
  t.match(run(t, skipping), { code: 1, stdout: named, last: new RegExp(`^\\d+ passed, ${times} failed$`) })
  const may = run(t, skipping, { maySkip: '  zsh completes the same: nobody has it\n' })
  t.match(may, { code: 0, stdout: new RegExp(`${named.source}[\\s\\S]*\\n${times} skipped\\n`, 'm'), last: /^\d+ passed, 0 failed$/ })
  t.match(run(t, skipping, { maySkip: '  zsh completes: another test\n' }), { code: 1 })
  t.end()
})

test('what goes on beside the others counts as they do', (t) => {
  const failing = run(t, '# { total: 10, pass: 10 }\n', { service: 'echo "2 passed, 1 failed"; exit 1' })
  t.match(failing, { code: 1, last: /, 1 failed$/, stdout: /== FAILED: the package under systemd, in the guest 2 passed, 1 failed/ })
  t.match(run(t, '# { total: 10, pass: 10 }\n', { service: 'exit 1' }), { code: 1, last: /, 1 failed$/ })
  t.end()
})

test('each commit runs its part of what takes longest, and names the rest', (t) => {
  const turns = [
    [
      'the package under systemd, in the guest',
      'a part of the tests on Node 22',
      '/mcp under the conformance suite',
      'the package for arm64, under emulation',
    ],
    ['upgrades without power, in the guest', 'a part of the tests on Node 24'],
    ['a real kernel, in the guest', 'a part of the tests on Node 26', 'power cuts'],
  ]
  const parts = turns.flat()
  const of = (stdout: string, pattern: string) => parts.filter((part) => new RegExp(`^${pattern}`.replace('PART', part), 'm').test(stdout))
  for (const [turn, its] of turns.entries()) {
    const { stdout } = run(t, '# { total: 10, pass: 10 }\n', { committed: 1_700_000_001 + turn })
    const others = parts.filter((part) => !its.includes(part))
    t.same([of(stdout, '== PART$'), of(stdout, 'skipped: PART # SKIP another commit runs it$')], [its, others])
  }
  t.same(of(run(t, '# { total: 10, pass: 10 }\n', { trials: 'all' }).stdout, '== PART$'), parts)
  const administration = (committed: number) =>
    /^== administration of the package/m.test(run(t, '# { total: 10, pass: 10 }\n', { committed }).stdout)
  t.same([6, 7].map(administration), [true, false])
  t.end()
})

test('a chain of steps whose shell is killed fails with its name', (t) => {
  const killed = run(t, '# { total: 10, pass: 10 }\n', { service: 'echo "it begins"; kill -KILL $PPID' })
  const why =
    /== FAILED: the chain guest broke off with 137; its steps after this one were not run\n-- its last lines\n(nice: .*\n)?it begins\n/
  t.match(killed, { code: 1, last: /, 1 failed$/, stdout: why })
  t.end()
})

test('a process that a test leaves behind holds nothing up', (t) => {
  const left = run(t, '# { total: 10, pass: 10 }\n', { left: 'sleep 60 &' })
  t.match(left, { code: 0, last: /^\d+ passed, 0 failed$/ })
  t.end()
})

test('a step that stands still is ended with all that it has begun, and the others go on', (t) => {
  // A session of its own is out of reach of what ends a group of processes.
  const service = 'setsid sleep 4711 & echo $! >"$SAID.started"; echo "3 passed, 0 failed"; exec sleep 4712'
  const still = run(t, '# { total: 10, pass: 10 }\n', { service, limit: '8' })
  const why =
    /== FAILED: the package under systemd, in the guest ended with .*\n[\s\S]*NOT OK - it did not end within 8 s; under way were:\n[\s\S]*sleep 4712 \n/
  t.match(still, { code: 1, stdout: why, last: /^\d+ passed, 1 failed$/ })
  const started = readFileSync(`${t.testdirName}/said.started`, 'utf8').trim()
  t.notOk(existsSync(`/proc/${started}`), 'a process in a session of its own has ended too')
  t.end()
})

test('the minutes of each step stand at the end, the longest of each chain first', (t) => {
  const { stdout } = run(t, '# { total: 10, pass: 10 }\n', { service: 'sleep 2; echo "1 passed, 0 failed"' })
  const [, table = ''] = /== minutes:seconds, and of the processor\n([\s\S]*)the whole +\d+:\d\d +\d+:\d\d\n/.exec(stdout) ?? []
  const rows = table.trim().split('\n')
  const shape = /^(guest|pages|elsewhere|suite|tests) +(\d+):(\d\d) +\d+:\d\d {2}\S/
  t.same(
    rows.filter((row) => !shape.test(row)),
    [],
  )
  t.same(
    rows.map((row) => row.replace(/^.*:\d\d {2}/, '')).sort(),
    [...stdout.matchAll(/^== (.*) took \d+ s$/gm)].map(([, name]) => name).sort(),
  )
  const order = rows
    .map((row) => shape.exec(row)!)
    .map(([, chain = '', minutes, seconds]) => ({ chain, took: Number(minutes) * 60 + Number(seconds) }))
  t.same(
    [...order].sort((one, other) => one.chain.localeCompare(other.chain) || other.took - one.took),
    order,
  )
  const guest = rows.find((row) => row.endsWith('the package under systemd, in the guest')) ?? ''
  const [, , minutes, seconds] = shape.exec(guest) ?? []
  t.ok(Number(minutes) * 60 + Number(seconds) >= 2, 'the work of two seconds is in the table')
  t.end()
})

test('what a step leaves among the temporary files, in a home folder or in the clone fails all of it, with its name', (t) => {
  const said = '# { total: 10, pass: 10 }\n'
  const service = (left: string) => `${left}; echo "1 passed, 0 failed"`
  const failed = { code: 1, last: /, 1 failed$/ }
  t.match(run(t, said, { service: service('mkdir "$TMPDIR/benchd-demo-1"') }), {
    ...failed,
    stdout: /left by the steps: \S+\/tmp\/benchd-demo-1\n/,
  })
  t.match(run(t, said, { service: service('mkdir -p "$HOME/.config/fish"') }), {
    ...failed,
    stdout: /left by the steps: \S+\/homes\/\.config\n/,
  })
  t.match(run(t, said, { changed: ' M package-lock.json' }), {
    ...failed,
    stdout: /changed or left in the clone: {2}M package-lock\.json\n/,
  })
  t.end()
})
