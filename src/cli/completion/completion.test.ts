// The words that the program offers, and what the shells make of them: bash is everywhere, zsh and fish where they are installed.

import { execFile, spawnSync } from 'node:child_process'
import { chmodSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Test, test } from 'tap'
import { benchd, program } from '../../testing/cli.ts'
import { optionsOf } from '../command.ts'
import { table } from '../commands.ts'
import { resolved } from './resolve.ts'
import { shells } from './shells.ts'

const isThere = (shell: string) => spawnSync(shell, ['--version']).status === 0
const noZsh = isThere('zsh') ? false : 'zsh is not installed here'
const noFish = isThere('fish') ? false : 'fish is not installed here'

/** A service with two devices. */
async function serving(t: Test): Promise<{ BENCHD_URL: string }> {
  const devices = ['shaker-1', 'sealer-1'].map((device_id) => ({ device_id, name: `The ${device_id}` }))
  const server = createServer((_, answer) => void answer.end(JSON.stringify({ devices }))).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  return { BENCHD_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

/** A folder with a few files, the program, and the script of that shell. */
async function prepared(t: Test, shell: string) {
  const home = t.testdir({ bin: { benchd: `#!/bin/sh\nexec ${process.execPath} ${program} "$@"\n` }, 'bench.json': '', folder: {} })
  chmodSync(`${home}/bin/benchd`, 0o755)
  const { stdout, code } = await benchd(home, ['completion', shell])
  t.equal(code, 0)
  writeFileSync(`${home}/script`, stdout)
  const env = { ...(await serving(t)), HOME: home, PATH: `${home}/bin:${process.env.PATH}`, TERM: 'dumb', LC_ALL: 'C.UTF-8' }
  const run = (words: string[], lines: readonly Line[]) =>
    new Promise<string[][]>((resolve, reject) => {
      const child = execFile(shell, words, { cwd: home, env }, (error, stdout) => {
        if (error) reject(error)
        else resolve(stdout.split('\n').map((answer) => answer.split(' ').filter(Boolean).sort()))
      })
      child.stdin!.end(`${lines.map(([line]) => line).join('\n')}\n`)
    })
  return { home, run }
}

/** A command line whose last word is completed, and what that may be. */
type Line = [line: string, offered: string[]]

const lines: Line[] = [
  ['benchd teach', ['teachpoints']],
  ['benchd devices sha', ['shake']],
  ['benchd devices shake shaker-1 --sp', ['--speed']],
  ['benchd status --ti', ['--timeout']],
  ['benchd help tea', ['teachpoints']],
  ['benchd help stop ', []],
  ['benchd runs submit W --mode ', ['DEVICE_SIM', 'LIVE', 'PURE_SIM']],
  ['benchd runs submit W --mode PU', ['PURE_SIM']],
  ['benchd runs submit W --mode=PU', ['PURE_SIM']],
  ['benchd runs simulate W --plan ', ['off', 'on']],
  ['benchd runs submit W --objective fl', ['flow_time']],
  ['benchd runs list --status C', ['COMPLETED']],
  ['benchd key create --name x --scope a', ['admin']],
  ['benchd devices shake s', ['sealer-1', 'shaker-1']],
  ['benchd devices shake --speed 3 s', ['sealer-1', 'shaker-1']],
  ['benchd devices show --url=http://x sh', ['shaker-1']],
  ['benchd devices stop --timeout 3 sh', ['shaker-1']],
  ['benchd stop sh', ['shaker-1']],
  ['benchd teachpoints list se', ['sealer-1']],
  ['benchd runs recover T RETRY_', ['RETRY_OP']],
  ['benchd devices add sh', []],
  ['benchd devices add x --driver bios', ['bioshake']],
  ['benchd devices shake shaker-1 be', []],
  ['benchd devices shake shaker-1 --speed ', []],
  ['benchd nothing ', []],
  ['benchd nothing --', []],
  ['benchd completion z', ['zsh']],
  ['benchd config check be', [':files']],
  ['benchd doctor --config be', [':files']],
  ['benchd teachpoints export shaker-1 be', [':files']],
  ['benchd serve --data-dir fo', [':folders']],
]

/** Each shell is asked for one line of a kind. */
const inShells: Line[] = [
  ['benchd devices stop --timeout 3 sh', ['shaker-1']],
  ['benchd runs submit W --mode PU', ['PURE_SIM']],
  ['benchd config check be', ['bench.json']],
  ['benchd serve --data-dir fo', ['folder/']],
]

test('words, options, their values and devices are offered; names of files are left to the shell', async (t) => {
  process.env.BENCHD_URL = (await serving(t)).BENCHD_URL
  for (const [line, offered] of lines) {
    const words = line.split(' ').slice(1)
    const current = words.at(-1)!.replace(/^--[^=]*=/, '')
    const found = (await resolved(words)).split('\n').flatMap((one) => one.split('\t')[0] || [])
    const fitting = found.filter((word) => word.startsWith(':') || word.startsWith(current))
    t.same(fitting.sort(), offered, line)
  }
  t.match(await resolved(['devices', 'stop', '']), 'shaker-1\tThe shaker-1\n')
  process.env.BENCHD_URL = 'http://127.0.0.1:1'
  t.equal(await resolved(['devices', 'stop', '']), '', 'without a service no device is offered')
  delete process.env.BENCHD_URL
})

test('every value that an option may have is in its help, and every command in the table is offered', async (t) => {
  const commands = (await table()).flatMap((section) => section.commands)
  for (const command of commands)
    for (const [name, { one_of = [], help }] of Object.entries(optionsOf(command)))
      for (const word of one_of) t.match(help, word, `${command.name} --${name}`)
  for (const { name } of commands) {
    const before = name.split(' ').slice(0, -1)
    t.match(await resolved([...before, '']), new RegExp(`^${name.split(' ').at(-1)}\\t`, 'm'), name)
  }
  const home = t.testdir({})
  t.same(shells, ['bash', 'zsh', 'fish'])
  t.match(await benchd(home, ['completion', 'csh']), { code: 2, stderr: /there is: bash, zsh, fish/ })
})

test('bash completes words, values, devices and files, also where an unset variable is an error', async (t) => {
  const { run } = await prepared(t, 'bash')
  // As readline breaks a line up; what the function leaves to it, names of files, are looked up as it does.
  const asking = `set -u; . ./script
    while IFS= read -r line; do
      line=\${line//=/ = }
      read -ra COMP_WORDS <<<"\${line//:/ : }"; [[ $line != *[\\ =] ]] || COMP_WORDS+=('')
      COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)) told=''
      compopt() { told="$1 $2"; }
      _benchd
      if [[ \${#COMPREPLY[@]} == 0 && $told != '+o default' ]]; then COMPREPLY=($(compgen -f -- "\${COMP_WORDS[COMP_CWORD]}")); fi
      [[ $told != '-o filenames' ]] || COMPREPLY=("\${COMPREPLY[@]/%//}")
      echo "\${COMPREPLY[*]-}"
    done`
  const all: Line[] = [
    ...inShells,
    ['benchd runs submit W --mode=PU', ['PURE_SIM']],
    ['benchd runs submit W --mode=', ['DEVICE_SIM', 'LIVE', 'PURE_SIM']],
    ['benchd devices show --url=http://x sh', ['shaker-1']],
    ['benchd devices shake shaker-1 be', []],
    ['benchd', []],
  ]
  const answers = await run(['--norc', '-c', asking], [...all, ['benchd ', []]])
  for (const [i, [line, offered]] of all.entries()) t.same(answers[i], offered, line)
  const firsts = answers[all.length]!
  t.ok(['help', 'serve', 'stop'].every((word) => firsts.includes(word)) && firsts.length > 20)
})

test('fish completes the same', { skip: noFish }, async (t) => {
  const { run } = await prepared(t, 'fish')
  const asking = `source ./script; while read -l line; echo (complete -C "$line" | string split -f 1 \\t); end`
  const all: Line[] = [...inShells, ['benchd runs submit W --mode=PU', ['--mode=PURE_SIM']]]
  const answers = await run(['--no-config', '-c', asking], all)
  for (const [i, [line, offered]] of all.entries()) t.same(answers[i], offered, line)
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
  const all: Line[] = [...inShells, ['benchd runs submit W --mode=PU', ['PURE_SIM']]]
  const answers = await run(['-f', '-c', asking], all)
  for (const [i, [line, offered]] of all.entries()) {
    // It puts the slash behind a folder by itself.
    const wanted = offered.map((word) => word.replace(/\/$/, ''))
    t.same([...new Set(answers[i])], wanted, line)
  }
})
