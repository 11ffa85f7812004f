# bash completion of benchd, also for an old bash: source it, or put it into /usr/share/bash-completion/completions
_benchd() {
  local current=${COMP_WORDS[COMP_CWORD]-} last=-1 i offered words
  COMPREPLY=()
  ((COMP_CWORD)) || return 0
  # readline breaks words at = and :, and the program wants them whole.
  words=()
  for ((i = 1; i <= COMP_CWORD; i++)); do
    if ((last >= 0)) && [[ ${COMP_WORDS[i]} == [=:] || ${COMP_WORDS[i - 1]} == [=:] ]]; then
      words[last]+=${COMP_WORDS[i]}
    else
      words[++last]=${COMP_WORDS[i]}
    fi
  done
  [[ $current != [=:] ]] || current=
  offered=$(benchd completion --resolve "${words[@]}" 2>/dev/null) || return 0
  local IFS=$'\n'
  case $offered in
    :files) ;;
    :folders)
      compopt -o filenames 2>/dev/null
      COMPREPLY=($(compgen -d -- "$current"))
      ;;
    *) COMPREPLY=($(compgen -W "$(cut -f 1 <<<"$offered")" -- "$current")) || compopt +o default 2>/dev/null ;;
  esac
  return 0
}
complete -o default -F _benchd benchd
