#!/bin/sh
# A container engine for the tests: podman's API, a docker client with compose, and images that stand in for those of
# others, which a machine without a registry cannot pull.
#
#   .ci/containers.sh [up|down|status|env|remove]     up is the default and safe to repeat; needs root on a Debian-like host
#
# stdout carries one NAME=value line. SVC_TEST_CONTAINERS names a folder with bin/docker in it, a client that knows where
# the engine is; the engine has the images svc-test-node, svc-test-os, svc-test-db and svc-test-kv. Where no engine can
# run it is SVC_TEST_NO_CONTAINERS with the reason, and the code is 0 all the same: the tests say that they were skipped.
#
# Everything runs in a mount and a process namespace of its own, on Debian packages unpacked into one folder: the host
# keeps its packages, its mounts and its engines, and one kill ends all there is. Bridges and the rules of published ports
# are the host's, and go with the containers.
set -eu

dir=${CI_CONTAINERS_DIR:-/var/tmp/svc-test-containers}
suite=${CI_SUITE:-trixie}
node_version=24.21.0

here=$(cd "$(dirname "$0")" && pwd)
root=$dir/root
state=$dir/state
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

main() {
  case ${1:-up} in
    up) up ;;
    down) lock; stop_engine ;;
    remove) lock; stop_engine; rm -rf "$dir" ;;
    status) if engine_answers; then say 'up'; else say 'down'; fi ;;
    env) print_env ;;
    *) say "\"$1\" is no command. Use up, down, status, env or remove."; exit 2 ;;
  esac
}

up() {
  [ "$(id -u)" = 0 ] || without 'An engine in a namespace of its own needs root.'
  [ "$(uname -m)" = x86_64 ] || without 'The stand-ins are laid out for x86_64.'
  unshare --mount --pid --fork true 2>/dev/null || without 'This host allows no mount or process namespace.'
  lock
  unpack_engine || without 'The packages of the engine cannot be had.'
  engine_answers || start_engine || without "The engine does not start. $(tail -n 1 "$dir/engine.log" 2>/dev/null)"
  make_images || without 'The stand-in images cannot be made.'
  print_env
}

print_env() { echo "SVC_TEST_CONTAINERS=$dir"; }

# --- the engine's files ---

unpack_engine() {
  stamp=$root/.unpacked-$suite
  [ ! -f "$stamp" ] || return 0
  [ -f "$keyring" ] || { say "There is no Debian keyring at $keyring."; return 1; }
  debs=$dir/apt/cache/archives
  fetch_packages || return 1
  rm -rf "$root"
  for name in bin sbin lib lib64; do
    mkdir -p "$root/usr/$name"
    ln -s "usr/$name" "$root/$name"
  done
  for deb in "$debs"/*.deb; do
    is_needed "${deb##*/}" || continue
    dpkg-deb --extract "$deb" "$root" || return 1
  done
  rm -rf "$dir/apt" "$root/usr/share/doc" "$root/usr/share/man" "$root/usr/share/locale"
  configure_engine
  write_client
  : >"$stamp"
}

fetch_packages() {
  mirror=$(debian_mirror | head -n 1)
  [ -n "$mirror" ] || { say "This host's apt sources name no Debian mirror."; return 1; }
  say "fetching podman, compose and valkey ($suite)"
  apt=$dir/apt
  rm -rf "$apt"
  mkdir -p "$apt/lists/partial" "$debs/partial"
  : >"$apt/status"
  echo "deb [signed-by=$keyring] $mirror $suite main" >"$apt/sources.list"
  set -- -qq -o Dir::State="$apt" -o Dir::State::lists="$apt/lists" -o Dir::State::status="$apt/status" \
    -o Dir::Cache="$apt/cache" -o Dir::Etc::sourcelist="$apt/sources.list" -o Dir::Etc::sourceparts=/dev/null \
    -o Dir::Etc::preferencesparts=/dev/null -o APT::Install-Recommends=false -o APT::Sandbox::User=root \
    -o Acquire::Languages=none -o Acquire::Retries=3
  apt-get "$@" update >&2 || return 1
  apt-get "$@" install --yes --download-only podman crun netavark aardvark-dns nftables iptables docker-cli \
    docker-compose valkey-server valkey-tools busybox-static bash coreutils mount util-linux ca-certificates \
    libstdc++6 >&2
}

# The mirror the host itself uses, in either of apt's two formats.
debian_mirror() {
  for file in /etc/apt/sources.list.d/*.sources; do
    [ ! -f "$file" ] || sed -n 's/^URIs:[[:space:]]*\([^[:space:]]*\).*/\1/p' "$file" | grep '/debian/*$' || true
  done
  [ ! -f /etc/apt/sources.list ] || awk '$1 == "deb" { for (i = 2; i <= NF; i++) if ($i ~ /\/debian\/?$/) print $i }' /etc/apt/sources.list
}

is_needed() {
  case $1 in
    gnupg* | gpg* | dirmngr* | pinentry* | openssl_* | debconf_* | adduser_* | init-system-helpers_*) return 1 ;;
  esac
}

# Neither systemd nor control groups are asked for: limits of memory and processes are read and not kept.
configure_engine() {
  mkdir -p "$root/etc/containers" "$root/proc" "$root/sys" "$root/dev" "$root/run" "$root/tmp" "$root/var/tmp" \
    "$root/svc" "$root/host"
  chmod 1777 "$root/tmp" "$root/var/tmp"
  cat >"$root/etc/containers/containers.conf" <<CONF
[containers]
default_ulimits = ["nofile=20000:20000", "nproc=4096:4096"]
cgroups = "disabled"
[network]
network_backend = "netavark"
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
CONF
  echo '{"default": [{"type": "insecureAcceptAnything"}]}' >"$root/etc/containers/policy.json"
  : >"$root/etc/containers/registries.conf"
  printf 'root:x:0:0::/:/bin/sh\n' >"$root/etc/passwd"
  printf 'root:x:0:\n' >"$root/etc/group"
  printf '127.0.0.1 localhost\n' >"$root/etc/hosts"
  [ ! -f /etc/resolv.conf ] || cat /etc/resolv.conf >"$root/etc/resolv.conf"
}

# Debian's client and compose, on the libraries they were built for.
write_client() {
  config=$dir/client
  mkdir -p "$dir/bin" "$config/cli-plugins"
  echo '{}' >"$config/config.json"
  write_program "$config/cli-plugins/docker-compose" usr/libexec/docker/cli-plugins/docker-compose
  write_program "$dir/bin/docker" usr/bin/docker
  write_program "$dir/bin/nft" usr/sbin/nft
}

write_program() {
  cat >"$1" <<SCRIPT
#!/bin/sh
export DOCKER_HOST=unix://$state/engine.sock DOCKER_CONFIG=$config DOCKER_BUILDKIT=0 COMPOSE_PARALLEL_LIMIT=4
exec $root/lib64/ld-linux-x86-64.so.2 --library-path $root/usr/lib/x86_64-linux-gnu $root/$2 "\$@"
SCRIPT
  chmod 755 "$1"
}

# --- the engine ---

start_engine() {
  stop_engine
  mkdir -p "$state"
  say 'starting the engine'
  nft list table inet netavark >/dev/null 2>&1 || cat /proc/sys/net/ipv4/ip_forward >"$dir/forwarded"
  unshare --mount --pid --fork --kill-child sh "$here/containers-engine.sh" "$root" "$state" >"$dir/engine.log" 2>&1 9>&- </dev/null &
  echo $! >"$dir/engine.pid"
  for _ in $(seq 100); do
    engine_answers && return
    kill -0 "$(cat "$dir/engine.pid")" 2>/dev/null || return 1
    sleep 0.2
  done
  return 1
}

# The containers first: with them go their bridges and the rules of their ports, which nobody else would remove.
stop_engine() {
  if engine_answers; then
    containers=$(docker ps --all --quiet)
    # shellcheck disable=SC2086
    [ -z "$containers" ] || docker rm --force --volumes $containers >/dev/null || true
    docker network prune --force >/dev/null || true
  fi
  if is_ours; then kill -9 "$(cat "$dir/engine.pid")"; fi
  rm -rf "$dir/engine.pid" "$state"
  clean_network
}

# What stays when the last container goes: an empty table, and forwarding. Left alone where they were there before, or
# where somebody else has containers by now.
clean_network() {
  [ -f "$dir/forwarded" ] || return 0
  if rules=$(nft list table inet netavark 2>/dev/null) && ! echo "$rules" | grep -q 'chain nv_'; then
    nft delete table inet netavark
    cat "$dir/forwarded" >/proc/sys/net/ipv4/ip_forward
  fi
  rm "$dir/forwarded"
}

# A pid may have become somebody else's.
is_ours() { [ -f "$dir/engine.pid" ] && grep -qa containers-engine.sh "/proc/$(cat "$dir/engine.pid")/cmdline" 2>/dev/null; }

engine_answers() { [ -S "$state/engine.sock" ] && timeout 20 "$dir/bin/docker" version >/dev/null 2>&1; }
docker() { "$dir/bin/docker" "$@" 9>&-; }
nft() { "$dir/bin/nft" "$@"; }

# --- the images ---

make_images() {
  made=$state/images-$(cat "$0" "$here"/stand-ins/* | cksum | cut -d ' ' -f 1)
  [ ! -f "$made" ] || return 0
  say 'making the stand-in images'
  node=$(node "$here/../scripts/node-matrix.mjs" "$node_version") || return 1
  services=$("$here/services.sh" unpack) || return 1
  cat "$root"/usr/share/ca-certificates/mozilla/*.crt >"$dir/ca-certificates.crt"
  make_node_images && make_database_image && make_kv_image || return 1
  # podman leaves what it was sent.
  rm -f "$state"/tmp/*
  : >"$made"
}

# No shell and no package manager: the base must not need one.
make_node_images() {
  files=$(mktemp -d)
  copy_program "$node" usr/local/bin/node
  mkdir -p "$files/etc/ssl/certs" "$files/tmp"
  chmod 1777 "$files/tmp"
  cp "$dir/ca-certificates.crt" "$files/etc/ssl/certs/"
  import_files svc-test-node || return 1
  rm -r "$files/usr/local" "$files/etc/ssl"
  import_files svc-test-os
  end_files
}

make_database_image() {
  files=$(mktemp -d)
  mkdir -p "$files/etc"
  cp -a "$services/usr" "$services/bin" "$services/sbin" "$services/lib" "$services/lib64" "$files/"
  printf 'root:x:0:0::/:/bin/sh\npostgres:x:999:999::/var/lib/postgresql:/bin/sh\n' >"$files/etc/passwd"
  printf 'root:x:0:\npostgres:x:999:\n' >"$files/etc/group"
  add_shell
  cp "$here/stand-ins/db.sh" "$files/entry.sh"
  import_files svc-test-db 'ENTRYPOINT ["/bin/busybox","sh","/entry.sh"]' 'CMD ["postgres"]' \
    'ENV PATH=/usr/lib/postgresql/17/bin:/usr/bin:/bin' 'ENV PGDATA=/var/lib/postgresql/data' 'STOPSIGNAL SIGINT' \
    'VOLUME /var/lib/postgresql/data'
  end_files
}

make_kv_image() {
  files=$(mktemp -d)
  copy_program "$root/usr/bin/valkey-server" usr/bin/valkey-server
  copy_program "$root/usr/bin/valkey-cli" usr/bin/valkey-cli
  mkdir -p "$files/etc"
  printf 'root:x:0:0::/:/bin/sh\nvalkey:x:999:1000::/data:/bin/sh\n' >"$files/etc/passwd"
  add_shell
  cp "$here/stand-ins/kv.sh" "$files/entry.sh"
  import_files svc-test-kv 'ENTRYPOINT ["/bin/busybox","sh","/entry.sh"]' 'CMD ["valkey-server"]' \
    'ENV PATH=/usr/bin:/bin' 'WORKDIR /data' 'VOLUME /data'
  end_files
}

# A program and the libraries that the loader names for it.
copy_program() {
  mkdir -p "$files/$(dirname "$2")" "$files/lib64"
  cp "$1" "$files/$2"
  "$root/lib64/ld-linux-x86-64.so.2" --library-path "$root/usr/lib/x86_64-linux-gnu" --list "$1" |
    sed -n "s|.* => \($root[^ ]*\) .*|\1|p" | while read -r library; do
    mkdir -p "$files/usr/lib/x86_64-linux-gnu"
    cp -L "$library" "$files/usr/lib/x86_64-linux-gnu/"
  done
  cp -L "$root/lib64/ld-linux-x86-64.so.2" "$files/lib64/"
}

add_shell() {
  mkdir -p "$files/usr/bin" "$files/tmp" "$files/run"
  chmod 1777 "$files/tmp"
  [ -e "$files/bin" ] || ln -s usr/bin "$files/bin"
  cp "$root/usr/bin/busybox" "$files/usr/bin/"
  copy_program "$root/usr/bin/setpriv" usr/bin/setpriv
}

import_files() {
  image=$1
  shift
  for change in "$@"; do
    set -- "$@" --change "$change"
    shift
  done
  tar -C "$files" --numeric-owner --owner=0 --group=0 -cf - . | docker import "$@" - "$image" >/dev/null
}

end_files() {
  status=$?
  rm -rf "$files"
  return $status
}

# --- small things ---

say() { echo "containers: $*" >&2; }

without() {
  say "$* Going on without containers."
  echo "SVC_TEST_NO_CONTAINERS=$*"
  exit 0
}

# One at a time. The engine must not inherit the lock.
lock() {
  mkdir -p "$dir"
  exec 9>"$dir/lock"
  flock 9
}

main "$@"
