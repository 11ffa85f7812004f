// What dpkg calls of the package, on a machine that is a folder of the test, with programs that do nothing: the scripts themselves, told
// to look there. Whether dpkg agrees with them, the tests in the guest show.

import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Test, test } from 'tap'

const text = (script: string) => readFileSync(fileURLToPath(new URL(`../../../scripts/debian/${script}`, import.meta.url)), 'utf8')
const programs = ['systemd-sysusers', 'systemd-tmpfiles', 'systemctl', 'dpkg-query', 'modprobe', 'udevadm', 'getent', 'usermod']

function machine(t: Test, files: Record<string, string>) {
  const top = t.testdir({ var: { cache: { benchd: {} }, backups: { benchd: {} } }, etc: { benchd: {}, avahi: { services: {} } } })
  const write = (name: string, content: string, mode = 0o644) => {
    mkdirSync(dirname(`${top}/${name}`), { recursive: true })
    writeFileSync(`${top}/${name}`, content, { mode })
  }
  for (const [name, content] of Object.entries(files)) write(name, content)
  for (const name of programs) write(`bin/${name}`, '#!/bin/sh\n', 0o755)
  write('bin/dpkg-deb', '#!/bin/sh\nfor last; do :; done\necho a package >"$last"\n', 0o755)
  write('usr/lib/benchd/build-native', '#!/bin/sh\n', 0o755)

  function call(script: string, ...rest: (string | Record<string, string>)[]): { code: number | null; said: string } {
    const here = text(script).replaceAll(/(?<![\w/.])\/(etc|usr|var|run)(?=\/)/g, `${top}/$1`)
    const words = rest.filter((one) => typeof one === 'string')
    const env = {
      ...Object.assign({}, ...rest.filter((one) => typeof one !== 'string')),
      PATH: `${top}/bin:${process.env.PATH}`,
      ...(script === 'postrm' && { BENCHD_PURGE_STATE: '' }),
    }
    const { status, stdout, stderr } = spawnSync('sh', ['-c', here, script, ...words], { encoding: 'utf8', env })
    return { code: status, said: stdout + stderr }
  }
  const read = (name: string) => (existsSync(`${top}/${name}`) ? readFileSync(`${top}/${name}`, 'utf8') : undefined)
  const names = (folder: string) => readdirSync(`${top}/${folder}`)
  return { top, write, call, read, names }
}

const shared = { 'usr/share/benchd/config.json': '{}', 'usr/share/benchd/avahi.service': 'port 8520' }
const told = 'etc/avahi/services/benchd.service'

test('the bench is told on the network from the first installation until it is removed, and as before when it is installed again', (t) => {
  const { top, write, call, read } = machine(t, shared)
  t.match(call('postinst', 'configure'), { code: 0 })
  t.equal(read(told), 'port 8520')
  write('usr/share/benchd/avahi.service', 'port 8520, more')
  t.equal(call('postinst', 'configure', '1.0').code, 0)
  t.equal(read(told), 'port 8520, more', 'what nobody has changed goes along')
  write(told, 'port 80')
  write('usr/share/benchd/avahi.service', 'port 8520, yet more')
  t.equal(call('postinst', 'configure', '1.1').code, 0)
  t.equal(read(told), 'port 80')
  t.match(call('postrm', 'remove'), { code: 0, said: /benchd is removed; its configuration stays in/ })
  t.equal(read(told), undefined)
  for (const [path, content] of Object.entries(shared)) write(path, content)
  write('usr/lib/benchd/build-native', '#!/bin/sh\n', 0o755)
  t.equal(call('preinst', 'install', '1.1').code, 0)
  t.equal(call('postinst', 'configure', '1.1').code, 0)
  t.equal(read(told), 'port 80')
  rmSync(`${top}/${told}`)
  t.equal(call('postinst', 'configure', '1.2').code, 0)
  t.equal(read(told), undefined, 'what the administrator took away stays away')
  t.equal(call('postinst', 'configure').code, 0)
  t.match(call('postrm', 'purge'), { code: 0 })
  t.same([read(told), existsSync(`${top}/etc/benchd`)], [undefined, false])
  t.end()
})

test('beside an installation by install.sh it is neither installed nor upgraded, and its purge leaves what that one needs', (t) => {
  const { call, write, read, names } = machine(t, {
    ...shared,
    'usr/local/lib/benchd/package.json': '{}',
    'etc/benchd/config.json': 'ours',
  })
  for (const what of ['install', 'upgrade']) {
    const { code, said } = call('preinst', what, '1.0')
    t.equal(code, 1)
    t.match(
      said,
      /^benchd: not installed, because scripts\/install\.sh .*\n.*\n {2}sudo \S+\/usr\/local\/lib\/benchd\/install\.sh --remove, then/,
    )
  }
  t.same(names('var/cache/benchd'), [], 'nothing is begun')
  write('var/lib/benchd/keys.json', '{}')
  t.match(call('postrm', 'purge'), { code: 0, said: /stay, because/ })
  t.same([read('etc/benchd/config.json'), read('var/lib/benchd/keys.json')], ['ours', '{}'])
  t.equal(call('preinst', 'abort-upgrade').code, 0)
  t.end()
})

test('what a power cut left half kept goes with the next upgrade, and a state is kept whole or not at all', (t) => {
  const { top, write, call, read, names } = machine(t, {
    'var/cache/benchd/keep.Ab12Cd/root/usr/lib/benchd/main.js': 'half',
    'var/cache/benchd/previous.deb.new': 'half',
    'var/backups/benchd/state-1.0-20260101T000000Z.tar.gz.new': 'half',
    'var/lib/benchd/keys.json': '{}',
    'var/lib/benchd/events/events-000001.jsonl': '',
  })
  t.match(call('keep-package', '1.0'), { code: 0 })
  t.same(names('var/cache/benchd'), ['events', 'previous.deb', 'upgrading'])
  t.equal(read('var/cache/benchd/events'), '0 events-000001.jsonl\n')
  const [backup, ...others] = names('var/backups/benchd')
  t.match(backup, /^state-1\.0-\d{8}T\d{6}Z\.tar\.gz$/)
  t.same(others, [])
  t.match(read('var/cache/benchd/upgrading'), `backup=${top}/var/backups/benchd/${backup}`)
  const inside = spawnSync('tar', ['-tzf', `${top}/var/backups/benchd/${backup}`], { encoding: 'utf8' }).stdout
  t.match(inside, /var\/lib\/benchd\/keys\.json/)
  t.notMatch(inside, /events/)

  rmSync(`${top}/var/backups/benchd/${backup}`)
  const breaksOff = `case "$*" in *-czf*) ;; *) exec /bin/tar "$@" ;; esac; while [ "$1" != -czf ]; do shift; done; echo half >"$2"; exit 1`
  write('bin/tar', `#!/bin/sh\n${breaksOff}\n`, 0o755)
  t.equal(call('keep-package', '1.0').code, 1)
  t.notOk(
    names('var/backups/benchd').some((name) => name.endsWith('.tar.gz')),
    'roll-back would not get through it',
  )
  t.end()
})

test('what is refused because something runs says what, that it goes on, and what to do', (t) => {
  const { top, call, write, names } = machine(t, shared)
  mkdirSync(`${top}/run/systemd/system`, { recursive: true })
  write('usr/bin/node', '#!/bin/sh\necho "shaker-1 is busy: shake"\nexit 1\n', 0o755)
  write('usr/lib/benchd/keep-package', '#!/bin/sh\n', 0o755)
  for (const [script, what, done] of [
    ['preinst', 'upgrade', 'upgraded'],
    ['prerm', 'remove', 'removed'],
  ] as const) {
    const { code, said } = call(script, what, '1.0')
    t.equal(code, 1)
    t.match(
      said,
      new RegExp(
        `^benchd: not ${done}, because of what runs now; it goes on.*:\\n {2}shaker-1 is busy: shake\\n {2}wait for it, .*BENCHD_FORCE`,
      ),
    )
  }
  t.same(names('var/cache/benchd'), [])
  write('usr/bin/node', '#!/bin/sh\n', 0o755)
  write('usr/lib/benchd/keep-package', '#!/bin/sh\necho "No space left" >&2; exit 1\n', 0o755)
  t.match(call('preinst', 'upgrade', '1.0'), {
    code: 1,
    said: /^No space left\nbenchd: not upgraded, because .* could not be kept .*\n.*df -h \/var/,
  })
  t.end()
})

test('an open run of 0.1.0 or 0.2.0 is named, and nothing is installed; runs of later versions do not count', (t) => {
  const { top, call, write, names } = machine(t, shared)
  write('var/lib/benchd/executions/state-000001.jsonl', '{"format":2}\n')
  t.equal(call('preinst', 'install', '0.2.0').code, 0)
  rmSync(`${top}/var/cache/benchd/installing`)
  const id = '7b1c2a30-0000-4000-8000-000000000000'
  const file = `var/lib/benchd/executions/${id}.jsonl`
  write(file, '\n{"key":"execution","value":{"execution_id":"x","workflow":"work"}}\n')
  for (const what of ['install', 'upgrade']) {
    t.match(call('preinst', what, '0.2.0'), {
      code: 1,
      said: new RegExp(
        `^benchd: not installed, because a run of version 0\\.1\\.0 or 0\\.2\\.0 .*:\\n {2}work \\(${id}\\)\\n.*runs resume ID.*runs stop ID.*\\n.*BENCHD_FORCE_UPGRADE=1`,
      ),
    })
  }
  t.same(names('var/cache/benchd'), [], 'nothing is begun')
  t.equal(call('preinst', 'abort-upgrade').code, 0)
  const all = { BENCHD_FORCE_UPGRADE: '1' }
  t.equal(call('preinst', 'install', '0.2.0', all).code, 0)
  t.end()
})

test('who has the state for a home from an earlier version has it no more, and nobody else is touched', (t) => {
  const { top, write, call, read } = machine(t, shared)
  const livesIn = (home: string) => write('bin/getent', `#!/bin/sh\necho 'benchd:x:990:990::${home}:/usr/sbin/nologin'\n`, 0o755)
  write('bin/usermod', `#!/bin/sh\necho "$*" >>${top}/called\n`, 0o755)
  for (const home of ['/nonexistent', '/home/benchd', '']) {
    livesIn(home)
    t.equal(call('postinst', 'configure', '1.0').code, 0)
    t.equal(read('called'), undefined, home)
  }
  livesIn(`${top}/var/lib/benchd`)
  t.equal(call('postinst', 'configure', '1.0').code, 0)
  t.equal(read('called'), '--home /nonexistent benchd\n')
  write('bin/usermod', '#!/bin/sh\necho "usermod: user benchd is currently used by process 7" >&2\nexit 8\n', 0o755)
  t.match(call('postinst', 'configure', '1.0'), { code: 0, said: /its user still has the home .*sudo usermod --home \/nonexistent benchd/ })
  t.end()
})

test('another Node has the modules compiled that the package lacks for it, and nothing else is done', (t) => {
  const { top, write, call, read, names } = machine(t, shared)
  t.match(text('triggers'), /^interest-noawait \/usr\/bin\/node$/m)
  write('usr/lib/benchd/build-native', `#!/bin/sh\necho built >>${top}/built\nexit 1\n`, 0o755)
  t.match(call('postinst', 'triggered', '/usr/bin/node'), { code: 0, said: '' })
  t.equal(read('built'), 'built\n')
  t.same([names('etc/benchd'), read(told)], [[], undefined])
  t.end()
})

test('the example of a lab file is where the package tells to copy it from, which is not documentation: images of Debian leave that out', (t) => {
  const [, told = ''] = /sudo cp (\S+)/.exec(text('lab/postinst')) ?? []
  const put = [...text('../package-lab').matchAll(/^put \d+ \S+ (\S+)$/gm)].map(([, path]) => path)
  t.ok(put.includes(told), told)
  t.notMatch(told, /^\/usr\/share\/doc\//)
  const guide = readFileSync(fileURLToPath(new URL('../../../src/fleet/README.md', import.meta.url)), 'utf8')
  t.match(guide, `sudo cp ${told} /etc/benchd/lab/lab.jsonc`)
  t.end()
})
