// The script for zsh.

import { casesOf, devices, quoted, type Tree, type Values, valued, type Word } from './tree.ts'

export function zsh({ firsts, seconds, commands }: Tree): string {
  const twos = commands.filter(({ name }) => name.includes(' '))
  const under = [...seconds].map(([first, its]) => `      ${first}) its=(${its.map(described).join(' ')}) ;;`)
  const flags = commands.map(({ name, options }) => `      '${name}') its=(${options.map(described).join(' ')}) ;;`)
  const values = casesOf(commands, doing).map(({ pattern, action }) => `      ${pattern}) ${action} ;;`)
  return `#compdef benchd
# zsh completion of benchd: put it as _benchd into a folder of $fpath
_benchd() {
  local -a its valued
  local command=$words[2] option='' count=0 i
  valued=(${valued(commands).join(' ')})
  ((CURRENT < 4)) || case "$words[2] $words[3]" in
    ${twos.map(({ name }) => `'${name}'`).join('|')}) command="$words[2] $words[3]" ;;
  esac
  if [[ $words[CURRENT] == --*=* ]]; then
    option=\${words[CURRENT]%%=*}
    compset -P 1 '*='
  elif [[ $words[CURRENT] != -* ]]; then
    option=$words[CURRENT-1]
  fi
  if ((CURRENT == 2)); then
    its=(${firsts.map(described).join(' ')})
  elif ((valued[(Ie)$option])); then
    count=$option
  elif [[ $words[CURRENT] == -* ]]; then
    case "$command" in
${flags.join('\n')}
    esac
    _describe option its
    return
  else
    ((CURRENT > 3)) || case "$words[2]" in
${under.join('\n')}
    esac
    for ((i = \${#command} == \${#words[2]} ? 3 : 4; i < CURRENT; i++)); do
      if [[ $words[i] != -* ]]; then
        ((count += 1))
      elif ((valued[(Ie)$words[i]])); then
        ((i += 1))
      fi
    done
    ((count += 1))
  fi
  if (($#its)); then
    _describe command its
  else
    case "$command $count" in
${values.join('\n')}
    esac
  fi
}
if [[ $funcstack[1] == _benchd ]]; then _benchd "$@"; else compdef _benchd benchd; fi
`
}

function doing(values: Values): string {
  if (values.kind === 'words') return `compadd -- ${values.words.join(' ')}`
  if (values.kind === 'devices') return `compadd -- \${(f)"$(${devices})"}`
  return { files: '_files', folders: '_files -/', nothing: ':' }[values.kind]
}

/** A colon ends the name. */
function described({ name, summary }: Word): string {
  return quoted(`${name}:${summary}`)
}
