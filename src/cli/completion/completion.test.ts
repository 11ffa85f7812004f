// What the shells make of their scripts: bash is everywhere, zsh and fish where they are installed.

import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, writeFileSync } from 'node:fs'
import { type Test, test } from 'tap'
import { benchd } from '../../testing/cli.ts'
import { optionsOf } from '../command.ts'
import { table } from '../commands.ts'

const isThere = (shell: string) => spawnSync(shell, ['-c', 'exit 0']).status === 0
const noZsh = isThere('zsh') ? false : 'zsh is not installed here'
const noFish = isThere('fish') ? false : 'fish is not installed here'

const listed = 'ID        TYPE    NAME  STATE\\nshaker-1  shaker  x     ready\\nsealer-1  sealer  y     ready'

/** A folder with a few files, a `benchd` that lists two devices, and the script of that shell. */
async function prepared(t: Test, shell: string) {
  const home = t.testdir({
    bin: { benchd: `#!/bin/sh\n[ "$1 $2" != "devices list" ] || printf '${listed}\\n'\n` },
    'bench.json': '',
    folder: {},
  })
  chmodSync(`${home}/bin/benchd`, 0o755)
  const { stdout, code } = await benchd(home, ['completion', shell])
  t.equal(code, 0)
  writeFileSync(`${home}/script`, stdout)
  const run = (program: string, words: string[], input = '') =>
    execFileSync(program, words, {
      cwd: home,
      input,
      encoding: 'utf8',
      env: { HOME: home, PATH: `${home}/bin:${process.env.PATH}`, TERM: 'dumb', LC_ALL: 'C.UTF-8' },
    })
  return { home, run }
}

/** What each of the lines is to be completed to; the last word is the one that is completed. */
const same: [line: string, offered: string[]][] = [
  ['benchd teach', ['teachpoints']],
  ['benchd devices sha', ['shake']],
  ['benchd devices shake shaker-1 --sp', ['--speed']],
  ['benchd status --ti', ['--timeout']],
  ['benchd help tea', ['teachpoints']],
  ['benchd runs submit W --mode ', ['DEVICE_SIM', 'LIVE', 'PURE_SIM']],
  ['benchd runs submit W --mode PU', ['PURE_SIM']],
  ['benchd runs list --status C', ['COMPLETED']],
  ['benchd key create --name x --scope a', ['admin']],
  ['benchd devices shake s', ['sealer-1', 'shaker-1']],
  ['benchd devices stop --timeout 3 sh', ['shaker-1']],
  ['benchd stop sh', ['shaker-1']],
  ['benchd teachpoints list se', ['sealer-1']],
  ['benchd runs recover T RETRY_', ['RETRY_OP']],
  ['benchd devices add x --driver bios', ['bioshake']],
  ['benchd completion z', ['zsh']],
  ['benchd config check be', ['bench.json']],
  ['benchd doctor --config be', ['bench.json']],
  ['benchd teachpoints export shaker-1 be', ['bench.json']],
  ['benchd serve --data-dir fo', ['folder/']],
]

test('every value that an option may have is in its help, and every command in the table is in every script', async (t) => {
  const commands = (await table()).flatMap((section) => section.commands)
  for (const command of commands)
    for (const [name, { one_of = [], help }] of Object.entries(optionsOf(command)))
      for (const word of one_of) t.match(help, word, `${command.name} --${name}`)
  const home = t.testdir({})
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { stdout } = await benchd(home, ['completion', shell])
    for (const { name } of commands) t.match(stdout, name.split(' ').at(-1), `${shell}: ${name}`)
  }
  t.match(await benchd(home, ['completion', 'csh']), { code: 2, stderr: /there is: bash, zsh, fish/ })
})

test('bash completes words, options, their values, devices and files, also where an unset variable is an error', async (t) => {
  const { run } = await prepared(t, 'bash')
  // As readline breaks a line up; what the function leaves to it, names of files, are looked up as it does.
  const asking = `set -u; . ./script
    while IFS= read -r line; do
      read -ra COMP_WORDS <<<"\${line//=/ = }"; [[ $line != *[\\ =] ]] || COMP_WORDS+=('')
      COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)) told=''
      compopt() { told="$*"; }
      _benchd
      if [[ \${#COMPREPLY[@]} == 0 && $told != '+o default' ]]; then COMPREPLY=($(compgen -f -- "\${COMP_WORDS[COMP_CWORD]}")); fi
      [[ $told != '-o filenames' ]] || COMPREPLY=("\${COMPREPLY[@]/%//}")
      echo "\${COMPREPLY[*]-}"
    done`
  const more: typeof same = [
    ['benchd runs submit W --mode=PU', ['PURE_SIM']],
    ['benchd runs submit W --mode=', ['DEVICE_SIM', 'LIVE', 'PURE_SIM']],
    ['benchd devices show --url=http://x sh', ['shaker-1']],
    ['benchd devices shake shaker-1 --speed ', []],
    ['benchd devices shake shaker-1 be', []],
    ['benchd ', ['help', 'serve', 'stop']],
    ['benchd', []],
  ]
  const lines = [...same, ...more]
  const answers = run('bash', ['--norc', '-c', asking], `${lines.map(([line]) => line).join('\n')}\n`).split('\n')
  for (const [i, [line, offered]] of lines.entries()) {
    const found = (answers[i] ?? '').split(' ').filter(Boolean).sort()
    if (line === 'benchd ') t.ok(offered.every((word) => found.includes(word)) && found.length > 20, line)
    else t.same(found, offered, line)
  }
})

test('fish completes the same', { skip: noFish }, async (t) => {
  const { run } = await prepared(t, 'fish')
  const asking = `source ./script; while read -l line; echo (complete -C "$line" | string split -f 1 \\t); end`
  const answers = run('fish', ['--no-config', '-c', asking], `${same.map(([line]) => line).join('\n')}\n`).split('\n')
  for (const [i, [line, offered]] of same.entries()) t.same((answers[i] ?? '').split(' ').filter(Boolean).sort(), offered, line)
})

test('zsh completes the same', { skip: noZsh }, async (t) => {
  const { home, run } = await prepared(t, 'zsh')
  // What would be offered goes down a pipe instead; calls that only sort matches out are left alone.
  writeFileSync(
    `${home}/rc`,
    `PROMPT=; autoload -Uz compinit; compinit -u -D; . ./script; bindkey '^I' complete-word
compadd() {
  if [[ \${@[1,(i)(-|--)]} == *-(O|A|D)\\ * ]]; then builtin compadd "$@"; return; fi
  local -a found
  builtin compadd -O found "$@"
  print -rl -- $found >>got
}
comppostfuncs=(told)
told() { comppostfuncs=(told); print END >>got }
print END >>got
`,
  )
  // In a terminal of its own, as a person types.
  const asking = `
    mkfifo got; exec 3<>got
    answer() { local -a all; local one; while read -r one <&3 && [[ $one != END ]]; do [[ -z $one ]] || all+=($one); done; print -r -- $all }
    zmodload zsh/zpty; zpty z zsh -f -i; zpty -w z '. ./rc'; answer >/dev/null
    while IFS= read -r line; do zpty -w -n z "$line"$'\\t'; answer; zpty -w -n z $'\\025'; done; zpty -d z`
  const answers = run('zsh', ['-f', '-c', asking], `${same.map(([line]) => line).join('\n')}\n`).split('\n')
  for (const [i, [line, offered]] of same.entries()) {
    // It puts the slash behind a folder by itself.
    const wanted = offered.map((word) => word.replace(/\/$/, ''))
    t.same([...new Set((answers[i] ?? '').split(' ').filter(Boolean))].sort(), wanted, line)
  }
})
