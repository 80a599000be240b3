#!/bin/sh
# The README's test command, and the tests of the command line, as somebody runs them who has just cloned the repository: on a copy
# of this checkout, with an empty home, without servers, without a compiler and with no shell but sh. Packages come from this
# machine's caches where it has them. Arguments go to both; exits with 1 where one fails. The summary of the second is written beside
# that of the first, with `-commands` in its name.
set -eu
cd "$(dirname "$0")/.."

pnpm='npx -y pnpm@10.34.8'
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
mkdir "$scratch/home" "$scratch/bin" "$scratch/svc"

# Where the registry is, and who may read it, is the machine's business; where compilers find headers is not given.
for file in "$HOME/.npmrc" "${NPM_CONFIG_USERCONFIG:-}"; do
  [ ! -f "$file" ] || grep -v '^nodedir' "$file" >>"$scratch/home/.npmrc" || true
done
cache=$(npm config get cache 2>/dev/null)
store=$($pnpm store path --silent 2>/dev/null)

# What is on the path, but for compilers and what they need, and all shells but one.
echo "$PATH" | tr : '\n' | while read -r folder; do
  for program in "$folder"/*; do
    name=${program##*/}
    case $name in
      *gcc* | *g++* | cc | c++ | c89* | c99* | clang* | ld | make | gmake | python* | bash | zsh | fish | ksh | dash) continue ;;
    esac
    [ ! -x "$program" ] || [ -e "$scratch/bin/$name" ] || ln -s "$program" "$scratch/bin/$name"
  done
done

tar --exclude=./.git --exclude=node_modules --exclude=dist --exclude=.svc -cf - . | tar -xf - -C "$scratch/svc"
cd "$scratch/svc"
status=0
for script in test test:commands; do
  summary=${SVC_TEST_SUMMARY:-}
  [ $script = test ] || summary=${summary:+${summary%.json}-commands.json}
  # shellcheck disable=SC2086
  env -i HOME="$scratch/home" PATH="$scratch/bin" LANG=C.UTF-8 \
    ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} ${no_proxy:+no_proxy="$no_proxy"} \
    ${HTTP_PROXY:+HTTP_PROXY="$HTTP_PROXY"} ${HTTPS_PROXY:+HTTPS_PROXY="$HTTPS_PROXY"} ${NO_PROXY:+NO_PROXY="$NO_PROXY"} \
    ${NODE_EXTRA_CA_CERTS:+NODE_EXTRA_CA_CERTS="$NODE_EXTRA_CA_CERTS"} ${npm_config_registry:+npm_config_registry="$npm_config_registry"} \
    ${CI:+CI="$CI"} ${summary:+SVC_TEST_SUMMARY="$summary"} \
    npm_config_cache="$cache" npm_config_store_dir="${store%/v*}" $pnpm $script "$@" || status=1
done
exit $status
