// `install.sh` itself, on a machine that is a folder of the test, with an npm, a Node and a systemctl that do nothing: what it leaves
// where the power fails, where the new version is not well, and where there is a package.

import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Test, test } from 'tap'

const script = readFileSync(fileURLToPath(new URL('../../scripts/install.sh', import.meta.url)), 'utf8')
const lib = 'usr/local/lib/benchd'

const nothing = '#!/bin/sh\n'
/** `healthy` is judged by a file of that name; all else it is asked for is well. */
const node = `#!/bin/sh
case "$*" in
  --version) echo v20.19.2 ;;
  *" healthy "*) grep -q yes "$MACHINE/healthy" ;;
  *" idle") [ ! -e "$MACHINE/running" ] || { echo "a run is on"; exit 1; } ;;
  -p*) for last; do :; done; sed -n 's/.*"version": "\\([^"]*\\)".*/\\1/p' "$last" ;;
esac
`
const bin = {
  systemctl: '#!/bin/sh\necho "$*" >>"$MACHINE/systemctl"\n',
  node,
  npm: '#!/bin/sh\necho "$* nodedir=$npm_config_nodedir" >>"$MACHINE/npm"\n',
  'systemd-sysusers': nothing,
  'systemd-tmpfiles': '#!/bin/sh\nmkdir -p "$MACHINE/etc/benchd"\n',
  modprobe: nothing,
  udevadm: nothing,
  getent: '#!/bin/sh\necho "benchd:x:990:990::/var/lib/benchd:/usr/sbin/nologin"\n',
  usermod: '#!/bin/sh\necho "$*" >"$MACHINE/usermod"\n',
}
/** What `scripts/package --tree` lays out, as far as it matters; the version is in each file. */
const laidOut = [
  'usr/lib/benchd/dist/bundle/main.js',
  'usr/lib/benchd/service-check.mjs',
  'usr/lib/benchd/keep-package',
  'usr/lib/systemd/system/benchd.service',
  'usr/lib/systemd/system/benchd-bridge@.service',
  'usr/lib/systemd/system/benchd-bridge@.socket',
  'usr/lib/sysusers.d/benchd.conf',
  'usr/lib/tmpfiles.d/benchd.conf',
  'usr/lib/modules-load.d/benchd.conf',
  'usr/lib/udev/rules.d/80-benchd.rules',
  'usr/share/benchd/config.json',
  'usr/share/benchd/avahi.service',
  'usr/share/man/man1/benchd.1.gz',
  'usr/share/bash-completion/completions/benchd',
]

function write(folder: string, files: Record<string, string>, mode = 0o644): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(`${folder}/${name}`), { recursive: true })
    writeFileSync(`${folder}/${name}`, text, { mode })
  }
}

type Outcome = { code: number | null; said: string }

function repository(t: Test) {
  const top = t.testdir({
    bin: {},
    machine: { etc: { avahi: { services: {} } }, healthy: 'yes' },
    sources: { scripts: {}, node_modules: { onoff: {}, 'i2c-bus': {} } },
  })
  write(`${top}/bin`, bin, 0o755)
  write(`${top}/sources/scripts`, { 'install.sh': script, package: '#!/bin/sh\ncp -R "$SOURCES/tree/." "$2"\n' }, 0o755)

  /**
   * Calls it for that machine, whose Node is at `node_path`; before the `cut`th command that changes something it is killed, with all it has
   * started.
   */
  function install(
    machine: string,
    version: string,
    { words = [], cut = 0, node_path = '/usr/bin/node' }: { words?: string[]; cut?: number; node_path?: string } = {},
  ): Outcome {
    write(`${top}/sources/tree`, Object.fromEntries(laidOut.map((path) => [path, `${path} /usr/lib/benchd ${version}\n`])))
    const folder = '"installed": { "by": "package", "folder": "/usr/lib/benchd" }'
    write(`${top}/sources/tree/usr/lib/benchd`, { 'package.json': `{ "version": "${version}",\n${folder} }\n` })
    const called = script
      .replace("root=''", `root=${machine}`)
      .replace('((EUID == 0))', 'true')
      .replace('$(readlink -f "$node")', node_path)
    const changes = '^(mv|rm|cp|ln|systemctl) '
    const counted = `n=0; set -T; trap 'if [[ "$BASH_COMMAND " =~ ${changes} ]] && ((++n == ${cut})); then kill -9 -- -$$; fi' DEBUG\n`
    const { status, stdout, stderr } = spawnSync(
      'setsid',
      ['-w', 'bash', '--norc', '-c', counted + called, `${top}/sources/scripts/install.sh`, ...words],
      {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { TMPDIR: top, PATH: `${top}/bin:${process.env.PATH}`, MACHINE: machine, SOURCES: `${top}/sources` },
      },
    )
    return { code: status, said: stdout + stderr }
  }

  /** Another machine, as `machine` is now. */
  function copied(machine: string, name: string): string {
    cpSync(machine, `${top}/${name}`, { recursive: true, verbatimSymlinks: true })
    return `${top}/${name}`
  }
  return { top, machine: `${top}/machine`, install, copied }
}

/** Why a version in that folder is not whole; '' where it is. */
function lacking(folder: string, version: string): string {
  for (const path of ['dist/bundle/main.js', 'service-check.mjs', 'machine/etc/systemd/system/benchd.service', 'install.sh']) {
    if (!existsSync(`${folder}/${path}`)) return `there is no ${folder}/${path}`
  }
  return read(`${folder}/package.json`).includes(`"version": "${version}"`) ? '' : `${folder} is not ${version}`
}

function read(path: string): string {
  return readFileSync(path, 'utf8')
}

function folders(machine: string): string[] {
  return readdirSync(`${machine}/usr/local/lib`).filter((name) => /^benchd\.\d/.test(name))
}

test('it lays the version out with our places, and says by whom it was installed; the next one keeps the one before', (t) => {
  const { machine, install } = repository(t)
  t.match(install(machine, '1.0.0'), { code: 0, said: /benchd 1\.0\.0 is running/ })
  t.equal(lacking(`${machine}/${lib}`, '1.0.0'), '')
  t.match(read(`${machine}/${lib}/package.json`), '"by": "install.sh", "folder": "/usr/local/lib/benchd"')
  t.equal(read(`${machine}/etc/systemd/system/benchd.service`), 'usr/lib/systemd/system/benchd.service /usr/local/lib/benchd 1.0.0\n')
  t.notOk(existsSync(`${machine}/${lib}/keep-package`), 'that is for packages')
  t.equal(read(`${machine}/usermod`), '--home /nonexistent benchd\n', 'an earlier version gave it the state for a home')
  writeFileSync(`${machine}/etc/avahi/services/benchd.service`, 'changed')
  t.equal(install(machine, '2.0.0').code, 0)
  t.equal(lacking(`${machine}/${lib}`, '2.0.0'), '')
  t.equal(read(`${machine}/etc/avahi/services/benchd.service`), 'changed', 'it is the administrator’s')
  t.equal(install(machine, '3.0.0').code, 0)
  t.equal(folders(machine).length, 2, 'one to go back to is enough')
  t.match(install(machine, '', { words: ['--back'] }), { code: 0, said: /benchd 2\.0\.0 is running/ })
  t.match(read(`${machine}/etc/systemd/system/benchd.service`), /2\.0\.0/)
  t.match(install(machine, '', { words: ['--back'] }), { code: 0, said: /benchd 3\.0\.0 is running/ })
  writeFileSync(`${machine}/healthy`, 'no')
  t.match(install(machine, '', { words: ['--back'] }), {
    code: 1,
    said: /benchd 2\.0\.0 does not become healthy .*install\.sh --back\. .* end the paused runs there first: benchd runs stop RUN --confirm/,
  })
  writeFileSync(`${machine}/healthy`, 'yes')
  t.match(install(machine, '', { words: ['--back'] }), { code: 0, said: /benchd 3\.0\.0 is running/ })
  t.equal(install(machine, '', { words: ['--remove'] }).code, 0)
  t.same(readdirSync(`${machine}/usr/local/lib`), [])
  t.same([existsSync(`${machine}/etc/systemd/system/benchd.service`), existsSync(`${machine}/etc/benchd/config.json`)], [false, true])
  t.end()
})

test('npm compiles with the headers that came with this Node, and with no others', (t) => {
  const { top, machine, install } = repository(t)
  const nodedir = () => {
    install(machine, '1.0.0')
    return /nodedir=(.*)\n$/.exec(read(`${machine}/npm`))?.[1]
  }
  t.equal(nodedir(), '', 'there are none')
  write(`${top}/include/node`, { 'node_version.h': '#define NODE_MAJOR_VERSION 18\n' })
  t.equal(nodedir(), '', 'these are of another version')
  write(`${top}/include/node`, { 'node_version.h': '#define NODE_MAJOR_VERSION 20\n#define NODE_MINOR_VERSION 19\n' })
  t.equal(nodedir(), top)
  t.end()
})

test('a package that npm left out is named, with what it takes to have it', (t) => {
  const { top, machine, install } = repository(t)
  t.notMatch(install(machine, '1.0.0').said, /left it out/)
  rmSync(`${top}/sources/node_modules/i2c-bus`, { recursive: true })
  const { code, said } = install(machine, '1.0.0')
  t.equal(code, 0)
  t.match(said, /could not compile i2c-bus and left it out; .*: apt install g\+\+ make python3 libnode-dev/)
  t.notMatch(said, /onoff/)
  t.end()
})

test('wherever the power fails there is a whole version in use, with a whole unit, and the one before; called again it goes through', (t) => {
  const { machine, install, copied } = repository(t)
  install(machine, '1.0.0')
  const first = readlinkSync(`${machine}/${lib}`)
  const seen = new Set<string>()
  for (let cut = 1; ; cut++) {
    const one = copied(machine, `cut-${cut}`)
    const { code } = install(one, '2.0.0', { cut })
    const inUse = readlinkSync(`${one}/${lib}`)
    const version = inUse === first ? '1.0.0' : '2.0.0'
    seen.add(version)
    if (lacking(`${one}/${lib}`, version) || lacking(`${one}/usr/local/lib/${first}`, '1.0.0')) {
      t.fail(`cut ${cut}: ${lacking(`${one}/${lib}`, version)} ${lacking(`${one}/usr/local/lib/${first}`, '1.0.0')}`)
      break
    }
    const unit = read(`${one}/etc/systemd/system/benchd.service`)
    if (!/ [12]\.0\.0\n$/.test(unit)) t.fail(`cut ${cut}: the unit is ${JSON.stringify(unit)}`)
    if (cut % 10 === 0) {
      t.equal(install(one, '2.0.1').code, 0)
      t.equal(lacking(`${one}/${lib}`, '2.0.1'), '')
      t.equal(lacking(`${one}/usr/local/lib/${first}`, '1.0.0') === '' || version === '2.0.0', true)
    }
    if (code === 0) break
  }
  t.same([...seen], ['1.0.0', '2.0.0'])
  t.end()
})

test('what does not become healthy is undone with its unit, and nothing of it stays', (t) => {
  const { machine, install } = repository(t)
  install(machine, '1.0.0')
  writeFileSync(`${machine}/healthy`, 'no')
  t.match(install(machine, '2.0.0'), { code: 1, said: /benchd 2\.0\.0 does not become healthy .*; benchd 1\.0\.0 is back/ })
  t.equal(lacking(`${machine}/${lib}`, '1.0.0'), '')
  t.match(read(`${machine}/etc/systemd/system/benchd.service`), /1\.0\.0/)
  t.equal(folders(machine).length, 1)
  t.match(install(machine, '', { words: ['--back'] }), { code: 1, said: /there is no version before this one/ })
  t.end()
})

test('it is refused while something runs, and where the package is; what it did before it was a link is gone on with', (t) => {
  const { machine, install } = repository(t)
  mkdirSync(`${machine}/${lib}`, { recursive: true })
  writeFileSync(`${machine}/${lib}/package.json`, '{ "version": "0.0.1" }')
  t.equal(install(machine, '1.0.0').code, 0)
  t.same(folders(machine).includes('benchd.0'), true)
  t.match(install(machine, '2.0.0', { node_path: '/home/lab/bin/node' }), { code: 1, said: /lies in a home folder/ })
  writeFileSync(`${machine}/running`, '')
  const refused = /a run is on\ninstall: not while this runs; .*BENCHD_FORCE_UPGRADE=1/
  for (const words of [[], ['--back'], ['--remove']]) t.match(install(machine, '2.0.0', { words }), { code: 1, said: refused })
  t.equal(lacking(`${machine}/${lib}`, '1.0.0'), '')
  t.equal(folders(machine).length, 2)
  write(machine, { 'usr/lib/systemd/system/benchd.service': '' })
  t.match(install(machine, '2.0.0'), { code: 1, said: /the package benchd is installed; .*sudo apt remove benchd/ })
  t.end()
})

test('it is refused while a run of 0.1.0 or 0.2.0 is open, says what to do, and changes nothing', (t) => {
  const { machine, install } = repository(t)
  install(machine, '0.2.0')
  const open = `${machine}/var/lib/benchd/executions`
  write(open, { 'state-000001.jsonl': '{"format":2}\n' })
  t.equal(install(machine, '1.0.0').code, 0, 'this version goes on with runs of later versions')
  write(open, { '7b1c2a30.jsonl': '\n{"key":"execution","value":{"workflow":"work"}}\n' })
  const before = sums(machine)
  t.match(install(machine, '2.0.0'), {
    code: 1,
    said: /a run of version 0\.1\.0 or 0\.2\.0 is open or paused, .*: 7b1c2a30\. .*benchd runs resume ID.*benchd runs stop ID.*BENCHD_FORCE_UPGRADE=1/,
  })
  t.same(sums(machine), before)
  t.end()
})

/** Every file and what is in it; not the calls of programs, which the stand-ins write down. */
function sums(machine: string): Record<string, string> {
  const files = readdirSync(machine, { recursive: true, withFileTypes: true }).filter(
    (entry) => entry.isFile() && entry.parentPath !== machine,
  )
  return Object.fromEntries(files.map(({ parentPath, name }) => [`${parentPath}/${name}`, read(`${parentPath}/${name}`)]))
}
