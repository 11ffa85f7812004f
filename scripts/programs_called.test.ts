// Every program that tests, scripts and the service call is there where `.ci/run` runs: on every Debian, installed by `.ci/run`, installed by
// the script that calls it, or replaced by the tests.

import { readdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { calledByCode, calledByScript } from './programs_called.test.find.ts'

const sources = fileURLToPath(new URL('../..', import.meta.url))
const textOf = (path: string) => readFileSync(`${sources}${path}`, 'utf8')

/** Of Debian's essential and required packages, and what every machine has that can check the project out and install it. */
const everywhere = new Set(
  `apt-cache apt-get awk basename bash cat chgrp chmod chown chroot cmp comm cp cut date dd dirname dpkg dpkg-deb dpkg-query du env false find findmnt flock
  getent git grep gzip head hostname id install ln losetup ls md5sum mkdir mkfifo mktemp mount mv node npm npx paste prlimit readlink rm rmdir sed setpriv setsid sh
  sha256sum sleep sort stat stty sync tail tar tee timeout touch tr umount uname unshare useradd userdel usermod xargs`.split(/\s+/),
)

/** Tests put their own in the place of these, or their answer is not needed: they are there on a bench, and in the guest. */
const replaced = new Set('avahi-browse journalctl modprobe systemctl systemd-sysusers systemd-tmpfiles udevadm'.split(' '))

/** Where the package is not called as the program is. */
const packageOf: Record<string, string> = {
  depmod: 'kmod',
  modprobe: 'kmod',
  mke2fs: 'e2fsprogs',
  'qemu-system-x86_64': 'qemu-system-x86',
  strip: 'binutils',
  tune2fs: 'e2fsprogs',
  xz: 'xz-utils',
}

/** These run in the guest, which has the packages that `scripts/guest/guest/packages` names. */
const inGuest = /^scripts\/guest\/(tests|guest)\//

test('every program that is called is installed where the tests run', (t) => {
  const [, list = ''] = /^programs='\n([^']*)'/m.exec(textOf('.ci/run')) ?? []
  const installed = new Set(list.split('\n').map((line) => line.trim().split(/\s+/)[0]))
  t.ok(installed.size > 8, 'there is a list')
  const [, needed = ''] = /^need (.*)$/m.exec(textOf('scripts/guest/build-guest.sh')) ?? []
  const needs = new Set(needed.split(' '))
  t.ok(needs.size > 3, 'the guest installs what it is built with')

  const called = [['.ci/run', calledByScript(textOf('.ci/run'))] as const, ...['drivers', 'scripts', 'src', 'systemd'].flatMap(callsIn)]
  t.ok(called.length > 30, 'programs are called')
  for (const [path, programs] of called) {
    const here = (program: string) =>
      everywhere.has(program) ||
      installed.has(program) ||
      replaced.has(program) ||
      (path.startsWith('scripts/guest/') && needs.has(packageOf[program] ?? program))
    t.same(
      programs.filter((program) => !here(program)),
      [],
      `${path}: on the list at the top of .ci/run`,
    )
  }
  t.end()
})

function callsIn(folder: string): (readonly [path: string, programs: string[]])[] {
  const paths = readdirSync(`${sources}${folder}`, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.parentPath}/${entry.name}`.slice(sources.length))
  return paths.flatMap((path) => {
    if (inGuest.test(path)) return []
    const text = textOf(path)
    const whole = text
      .replace(/^\. (scripts\/\S+)$/gm, (_, sourced) => textOf(sourced))
      .replace(/^\. "\$here\/(\S+)"$/gm, (_, sourced) => textOf(`${dirname(path)}/${sourced}`))
    const programs = /\.(ts|mjs)$/.test(path) ? calledByCode(text) : /^#!.*sh\b/.test(text) ? calledByScript(whole) : []
    return programs.length ? [[path, programs] as const] : []
  })
}

test('a program is found wherever it is called', (t) => {
  const script = `#!/bin/sh
# not this
say "it's $one # not this" 'it is; # not this'
say() { printf '%s; not this' "$1 | not this"; }
one && two --word | three >"$(four "$(five)")"
if ! six; then A=b seven; else say x; fi
while eight; do :; done
case $word in not-this | nor-this) nine ;; *) exec ten ;; esac
xargs -0 eleven <<END
not this
END
list=(not this) && ((not < this)) && [[ not == this ]]
twelve=$(thirteen not this)`
  const all = ['eight', 'eleven', 'five', 'four', 'nine', 'one', 'seven', 'six', 'ten', 'thirteen', 'three', 'two']
  t.same(calledByScript(script), all)
  // Not written out: this file starts no processes.
  const code = `import { execFile, spawn } from 'node:${'child_process'}'
    const run = promisify(execFile)
    spawn('one', []); await run('two'); object.run('not-this'); spawn(process.execPath)
    const shell = (program: string) => spawn(program)
    shell('three'); promisify(execFile)('sh', ['-c', 'four | four; five'])`
  t.same(calledByCode(code), ['five', 'four', 'one', 'sh', 'three', 'two'])
  t.same(calledByCode("run('not-this')"), [], 'only where processes are started at all')
  t.end()
})
