// `benchd completion`: what a shell needs to finish words, from the table of commands.

import { type Command, command, optionsOf } from './command.ts'
import { CliError } from './exit.ts'

const completion = command({
  name: 'completion',
  summary: 'Print what bash, zsh or fish needs to complete the words of benchd',
  operands: ['SHELL'],
  options: {},
  no_json: 'what it prints is for a shell',
  example: 'source <(benchd completion bash)',
  async run({ operands: [shell = ''], table }) {
    const write = scripts[shell]
    if (!write) throw new CliError('usage', `there is nothing for ${shell}; there is: ${Object.keys(scripts).join(', ')}`)
    process.stdout.write(write((await table()).flatMap(({ commands }) => commands)))
    return 0
  },
})

export const commands = [completion]

const scripts: Record<string, (commands: readonly Command[]) => string> = { bash, zsh, fish }

type Word = { name: string; summary: string }
type Named = { name: string; command: Command }

/** First words, the second words of each, and the commands of two words and of one, with their other names. */
function tree(commands: readonly Command[]): { firsts: Word[]; seconds: Map<string, Word[]>; twos: Named[]; ones: Named[] } {
  const names = commands.flatMap((command) => [command.name, ...(command.aliases ?? [])].map((name) => ({ name, command })))
  const seconds = new Map<string, Word[]>()
  const firsts = new Map<string, Word>()
  for (const { name, command } of names) {
    const [first = '', second] = name.split(' ')
    if (!firsts.has(first)) firsts.set(first, { name: first, summary: second ? `${first} …` : command.summary })
    if (second) seconds.set(first, [...(seconds.get(first) ?? []), { name: second, summary: command.summary }])
  }
  const isTwo = ({ name }: Named) => name.includes(' ')
  const help = { name: 'help', summary: 'Say more' }
  return { firsts: [...firsts.values(), help], seconds, twos: names.filter(isTwo), ones: names.filter((its) => !isTwo(its)) }
}

function flags(command: Command): string[] {
  return [...Object.keys(optionsOf(command)), 'help'].map((option) => `--${option}`)
}

function bash(commands: readonly Command[]): string {
  const { firsts, seconds, twos, ones } = tree(commands)
  const words = [...seconds].map(([first, its]) => `    ${first}) words='${its.map(({ name }) => name).join(' ')}' ;;`)
  const cases = (its: readonly Named[]) =>
    its.map(({ name, command }) => `      '${name}') words='${flags(command).join(' ')}' ;;`).join('\n')
  return `# bash completion of benchd: source it, or put it into /usr/share/bash-completion/completions
_benchd() {
  local current=\${COMP_WORDS[COMP_CWORD]} words=''
  COMPREPLY=()
  if [[ $current == -* ]]; then
    case "\${COMP_WORDS[1]} \${COMP_WORDS[2]}" in
${cases(twos)}
    esac
    [[ $words ]] || case "\${COMP_WORDS[1]}" in
${cases(ones)}
    esac
  elif ((COMP_CWORD == 1)); then
    words='${firsts.map(({ name }) => name).join(' ')}'
  elif ((COMP_CWORD == 2)); then
    case "\${COMP_WORDS[1]}" in
${words.join('\n')}
    help) words='${firsts.map(({ name }) => name).join(' ')} exit-codes' ;;
    esac
  fi
  if [[ $words ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  fi
}
complete -o default -F _benchd benchd
`
}

function zsh(commands: readonly Command[]): string {
  const { firsts, seconds, twos, ones } = tree(commands)
  const described = ({ name, summary }: Word) => `${quoted(`${name}:${summary}`)}`
  const words = [...seconds].map(([first, its]) => `      ${first}) its=(${its.map(described).join(' ')}) ;;`)
  const cases = (its: readonly Named[]) =>
    its.map(({ name, command }) => `      '${name}') flags=(${optionWords(command).map(described).join(' ')}) ;;`).join('\n')
  return `#compdef benchd
# zsh completion of benchd: put it as _benchd into a folder of $fpath
_benchd() {
  local -a its flags
  if [[ $words[CURRENT] == -* ]]; then
    case "$words[2] $words[3]" in
${cases(twos)}
    esac
    (($#flags)) || case "$words[2]" in
${cases(ones)}
    esac
    _describe option flags
  elif ((CURRENT == 2)); then
    its=(${firsts.map(described).join(' ')})
    _describe command its
  elif ((CURRENT == 3)); then
    case "$words[2]" in
${words.join('\n')}
    esac
    (($#its)) && _describe command its || _files
  else
    _files
  fi
}
if [[ $funcstack[1] == _benchd ]]; then _benchd "$@"; else compdef _benchd benchd; fi
`
}

function fish(commands: readonly Command[]): string {
  const { firsts, seconds, twos, ones } = tree(commands)
  const lines = [
    ...firsts.map(({ name, summary }) => `complete -c benchd -f -n __fish_use_subcommand -a ${name} -d ${quoted(summary)}`),
    ...[...seconds].flatMap(([first, its]) => {
      const none = `not __fish_seen_subcommand_from ${its.map(({ name }) => name).join(' ')}`
      const condition = quoted(`__fish_seen_subcommand_from ${first}; and ${none}`)
      return its.map(({ name, summary }) => `complete -c benchd -f -n ${condition} -a ${name} -d ${quoted(summary)}`)
    }),
    ...[...twos, ...ones].flatMap(({ name, command }) => {
      const condition = quoted(
        name
          .split(' ')
          .map((word) => `__fish_seen_subcommand_from ${word}`)
          .join('; and '),
      )
      return Object.entries(optionsOf(command)).map(
        ([option, { type, help }]) => `complete -c benchd -n ${condition} -l ${option}${type === 'string' ? ' -r' : ''} -d ${quoted(help)}`,
      )
    }),
  ]
  return `# fish completion of benchd: put it into ~/.config/fish/completions/benchd.fish\n${lines.join('\n')}\n`
}

function optionWords(command: Command): Word[] {
  return [...Object.entries(optionsOf(command)), ['help', { help: 'Say more' }] as const].map(([name, { help }]) => ({
    name: `--${name}`,
    summary: help,
  }))
}

/** For any of the three shells; a colon would end the name in zsh only behind the first. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", '’')}'`
}
