// The script for bash, also an old one and one that stops at unset variables.

import { casesOf, devices, type Tree, type Values, valued } from './tree.ts'

export function bash({ firsts, seconds, commands }: Tree): string {
  const twos = commands.filter(({ name }) => name.includes(' '))
  const names = (words: readonly { name: string }[]) => words.map(({ name }) => name).join(' ')
  const under = [...seconds].map(([first, its]) => `      ${first}) words='${names(its)}' ;;`)
  const flags = commands.map(({ name, options }) => `      '${name}') words='${names(options)}' ;;`)
  const values = casesOf(commands, doing).map(({ pattern, action }) => `      ${pattern}) ${action} ;;`)
  return `# bash completion of benchd: source it, or put it into /usr/share/bash-completion/completions
_benchd() {
  local current=\${COMP_WORDS[COMP_CWORD]-} before=\${COMP_WORDS[COMP_CWORD-1]-} first=\${COMP_WORDS[1]-} second=\${COMP_WORDS[2]-}
  local command=$first option='' words='' kind='' count=0 i IFS=$' \\t\\n'
  COMPREPLY=()
  # --option=value comes as three words.
  if [[ $current == = ]]; then
    option=$before current=''
  elif [[ $before == = ]]; then
    option=\${COMP_WORDS[COMP_CWORD-2]-}
  elif [[ $current != -* ]]; then
    option=$before
  fi
  ((COMP_CWORD < 3)) || case "$first $second" in
    ${twos.map(({ name }) => `'${name}'`).join('|')}) command="$first $second" ;;
  esac
  if ((COMP_CWORD == 1)); then
    words='${names(firsts)}'
  elif [[ $option == --* && ' ${valued(commands).join(' ')} ' == *" $option "* ]]; then
    kind=nothing count=$option
  elif [[ $current == -* ]]; then
    case "$command" in
${flags.join('\n')}
    esac
  else
    ((COMP_CWORD > 2)) || case "$first" in
${under.join('\n')}
    esac
    for ((i = \${#command} == \${#first} ? 2 : 3; i < COMP_CWORD; i++)); do
      case "\${COMP_WORDS[i]}" in
        = | :) ((i += 1)) ;;
        -*) [[ \${COMP_WORDS[i + 1]-} == = || ' ${valued(commands).join(' ')} ' != *" \${COMP_WORDS[i]} "* ]] || ((i += 1)) ;;
        *) ((count += 1)) ;;
      esac
    done
    ((count += 1))
  fi
  if [[ -z $words && $current != -* && $COMP_CWORD -gt 1 ]]; then
    kind=nothing
    case "$command $count" in
${values.join('\n')}
    esac
  fi
  case "$kind" in
    devices) words=$(${devices}) ;;
    folders) compopt -o filenames 2>/dev/null || : ;;
    nothing) compopt +o default 2>/dev/null || : ;;
  esac
  IFS=$'\\n'
  if [[ $kind == folders ]]; then
    COMPREPLY=($(compgen -d -- "$current"))
  elif [[ $words ]]; then
    IFS=$' \\t\\n'
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  fi
}
complete -o default -F _benchd benchd
`
}

function doing(values: Values): string {
  return values.kind === 'words' ? `kind='' words='${values.words.join(' ')}'` : `kind=${values.kind}`
}
