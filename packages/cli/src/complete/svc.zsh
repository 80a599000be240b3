#compdef svc
# Completion of svc for zsh: to be sourced, or as a file named _svc in a folder of $fpath.

_svc() {
  setopt local_options extended_glob
  local svc=svc line directive choice text
  local -a asked lines choices
  # Only as a path: a word that is an alias runs nothing here.
  [[ $words[1] != */* ]] || svc=${words[1]/#\~/$HOME}
  asked=("${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}")
  lines=("${(@f)$("$svc" complete -- "${asked[@]}" 2>/dev/null)}")
  for line in "${lines[@]}"; do
    case $line in
      :*) directive=$line ;;
      ?*)
        # A colon would end the word.
        choice=${${line%%$'\t'*}//(#m)[\\:]/\\$MATCH}
        text=${line#*$'\t'}
        choices+=("$choice${text:+:$text}")
        ;;
    esac
  done
  if (( $#choices )); then
    _describe -t values svc choices && return
  fi
  [[ $PREFIX != -*=* ]] || compset -P '*='
  case $directive in
    :files) _files ;;
    :folders) _files -/ ;;
  esac
}

if [[ $funcstack[1] == _svc ]]; then
  _svc "$@"
else
  (( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i }
  compdef _svc svc
fi
