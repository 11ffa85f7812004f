#compdef benchd
# zsh completion of benchd: put it as _benchd into a folder of $fpath
_benchd() {
  local -a offered
  offered=(${(f)"$(benchd completion --resolve "${(@Q)words[2,CURRENT]}" 2>/dev/null)"})
  [[ $words[CURRENT] != --*=* ]] || compset -P 1 '*='
  case ${offered[1]-} in
    :files) _files ;;
    :folders) _files -/ ;;
    *)
      # A colon ends the word.
      offered=(${offered//$'\t'/:})
      _describe word offered
      ;;
  esac
}
if [[ $funcstack[1] == _benchd ]]; then _benchd "$@"; else compdef _benchd benchd; fi
