# Completion of svc for bash.

_svc() {
  local rest=${COMP_LINE:0:COMP_POINT} gap part last=-1 at words=()
  # bash takes words apart at "=" and ":"; what stands together is one word again.
  for ((at = 0; at <= COMP_CWORD; at++)); do
    gap=${rest%%[![:space:]]*}
    rest=${rest#"$gap"}
    part=${COMP_WORDS[at]}
    # What is behind the cursor does not count.
    [[ $rest == "$part"* ]] || part=$rest
    rest=${rest#"$part"}
    if ((at > 0)) && [[ -z $gap ]]; then words[last]+=$part; else words[++last]=$part; fi
  done

  local plain quote asked=() typed
  for ((at = 1; at <= last; at++)); do
    _svc_unquote "${words[at]}"
    asked+=("$plain")
  done
  typed=$plain

  # Only as a path: a word that is an alias runs nothing here.
  local svc=svc line lines=()
  [[ ${words[0]} != */* ]] || svc=${words[0]/#\~/$HOME}
  while IFS= read -r line; do lines+=("$line"); done < <("$svc" complete -- "${asked[@]}" 2>/dev/null)

  # readline replaces what follows the last break in the word alone.
  local cut=${typed%"${typed##*[=:]}"}
  [[ $COMP_WORDBREAKS == *"${cut: -1}"* ]] || cut=
  COMPREPLY=()
  for line in ${lines[@]+"${lines[@]}"}; do
    case $line in
      :files) compopt -o default 2>/dev/null || COMPREPLY+=($(compgen -f -- "${typed#"$cut"}")) ;;
      :folders) compopt -o dirnames 2>/dev/null || COMPREPLY+=($(compgen -d -- "${typed#"$cut"}")) ;;
      :*) ;;
      *) _svc_quote "${line%%$'\t'*}" "$cut" ;;
    esac
  done
}

# Sets plain to the word as the shell would read it, and quote to the one that is open at its end. Runs nothing.
_svc_unquote() {
  local text=$1 char at
  plain= quote=
  for ((at = 0; at < ${#text}; at++)); do
    char=${text:at:1}
    case $quote$char in
      \\ | \"\\)
        ((at += 1))
        plain+=${text:at:1}
        ;;
      \' | \") quote=$char ;;
      \'\' | \"\") quote= ;;
      *) plain+=$char ;;
    esac
  done
}

# Adds a word, so that the shell reads it as it is.
_svc_quote() {
  local word=${1#"$2"} text= char at
  case $quote in
    '') printf -v text %q "$word" ;;
    *)
      for ((at = 0; at < ${#word}; at++)); do
        char=${word:at:1}
        case $quote$char in
          \'\') text+="'\\''" ;;
          \"[\\\"\$\`]) text+=\\$char ;;
          *) text+=$char ;;
        esac
      done
      ;;
  esac
  COMPREPLY+=("$text")
}

complete -F _svc svc
