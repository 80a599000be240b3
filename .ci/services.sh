#!/bin/sh
# Real servers for the tests, on private loopback ports: PostgreSQL 17 with pgvector, and Redis.
#
#   .ci/services.sh [up|down|status|env]     up is the default and safe to repeat; needs root on a Debian-like host
#   .ci/services.sh unpack                   the programs alone; prints the folder they are in
#   .ci/services.sh up|down|crash|remove postgres|redis
#     one server alone; crash stops it without a word to its clients, remove stops it and deletes its data.
#     CI_INSTANCE=<suffix> with a port of its own makes it another server, beside the usual one
#
# stdout carries only NAME=value lines (SVC_TEST_DATABASE_URL, SVC_TEST_KV_URL, CHROMIUM_PATH, NGINX_PATH …), so that
#   eval "$(.ci/services.sh | sed 's/^/export /')"
# gives them to a shell. Talk goes to stderr.
#
# Both servers are Debian packages unpacked into a folder of their own and run there by chroot under a uid of their own:
# the host's packages, libc and services stay as they are. Chromium, asked for with CI_CHROMIUM=1, is the host's own,
# and so are zsh and fish with CI_SHELLS=1. nginx, Caddy and PgBouncer, with CI_PROXIES=1, are unpacked and not installed.
set -eu

dir=${CI_SERVICES_DIR:-/var/tmp/svc-test-services}
suite=${CI_SUITE:-trixie}
pg_port=${CI_PG_PORT:-54327}
pg_fsync=${CI_PG_FSYNC:-on}
kv_port=${CI_KV_PORT:-63797}
instance=${CI_INSTANCE:-}
chromium=${CI_CHROMIUM:-0}
# The program itself: the script of the package stays between it and who would end it.
chromium_path=/usr/lib/chromium/chromium-headless-shell
shells=${CI_SHELLS:-0}
proxies=${CI_PROXIES:-0}

root=$dir/root
uid=26127
pg_bin=/usr/lib/postgresql/17/bin
pg_data=/pg$instance
kv_data=/redis$instance
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

main() {
  case "${1:-up} ${2:-}" in
    *' postgres' | *' redis') need_root; lock; one_server "$@"; return ;;
  esac
  case ${1:-up} in
    up) up ;;
    down) need_root; lock; stop_redis; stop_postgres ;;
    status) need_root; report PostgreSQL postgres_answers; report Redis redis_answers ;;
    env) print_env ;;
    unpack) need_root; lock; unpack_servers; echo "$root" ;;
    *) fail "\"$1\" is no command. Use up, down, status, env or unpack." ;;
  esac
}

one_server() {
  case $1 in
    up) unpack_servers; "start_$2" ;;
    down | crash) "$([ "$1" = down ] && echo stop || echo crash)_$2" ;;
    remove) remove_server "$2" ;;
    *) fail "\"$1\" is no command for one server. Use up, down, crash or remove." ;;
  esac
}

remove_server() {
  [ -n "$instance" ] || fail 'Only a server with a CI_INSTANCE of its own is removed.'
  "crash_$1"
  case $1 in
    postgres) rm -rf "${root:?}$pg_data" "$dir/initdb$instance.log" ;;
    redis) rm -rf "${root:?}$kv_data" ;;
  esac
}

up() {
  need_root
  lock
  unpack_servers
  start_postgres
  start_redis
  [ "$chromium" = 0 ] || install_chromium
  [ "$shells" = 0 ] || install_shells
  [ "$proxies" = 0 ] || unpack_proxies
  print_env
}

print_env() {
  echo "SVC_TEST_DATABASE_URL=postgres://svc:svc@127.0.0.1:$pg_port/svc"
  echo "SVC_TEST_KV_URL=redis://127.0.0.1:$kv_port/0"
  [ "$chromium" = 0 ] || echo "CHROMIUM_PATH=$chromium_path"
  [ "$proxies" = 0 ] || { echo "NGINX_PATH=$dir/proxies/usr/sbin/nginx"; echo "CADDY_PATH=$dir/proxies/usr/bin/caddy"; echo "PGBOUNCER_PATH=$dir/proxies/pgbouncer"; }
}

# --- one folder with both servers ---

unpack_servers() {
  stamp=$root/.unpacked-$suite
  [ ! -f "$stamp" ] || return 0
  [ -f "$keyring" ] || fail "There is no Debian keyring at $keyring. Install debian-archive-keyring."
  debs=$dir/apt/cache/archives
  fetch_packages
  rm -rf "$root"
  lay_out_root
  for deb in "$debs"/*.deb; do
    is_needed "${deb##*/}" || continue
    dpkg-deb --extract "$deb" "$root"
  done
  [ -e "$root/usr/bin/sh" ] || ln -s dash "$root/usr/bin/sh"
  rm -rf "$dir/apt" "$root/usr/share/doc" "$root/usr/share/man" "$root/usr/share/locale" \
    "$root/usr/lib/postgresql/17/lib/bitcode"
  : >"$stamp"
}

# Downloads through an apt state of its own: an empty dpkg database makes apt fetch every dependency, libc included.
fetch_packages() {
  mirror=$(debian_mirror | head -n 1)
  [ -n "$mirror" ] || fail "This host's apt sources name no Debian mirror."
  say "fetching PostgreSQL 17, pgvector and Redis ($suite)"
  apt=$dir/apt
  rm -rf "$apt"
  mkdir -p "$apt/lists/partial" "$debs/partial"
  : >"$apt/status"
  echo "deb [signed-by=$keyring] $mirror $suite main" >"$apt/sources.list"
  set -- -qq -o Dir::State="$apt" -o Dir::State::lists="$apt/lists" -o Dir::State::status="$apt/status" \
    -o Dir::Cache="$apt/cache" -o Dir::Etc::sourcelist="$apt/sources.list" -o Dir::Etc::sourceparts=/dev/null \
    -o Dir::Etc::preferencesparts=/dev/null -o APT::Install-Recommends=false -o APT::Sandbox::User=root \
    -o Acquire::Languages=none -o Acquire::Retries=3
  apt-get "$@" update >&2
  apt-get "$@" install --yes --download-only dash tzdata postgresql-17 postgresql-17-pgvector redis-server redis-tools >&2
}

# The mirror the host itself uses, in either of apt's two formats.
debian_mirror() {
  for file in /etc/apt/sources.list.d/*.sources; do
    [ ! -f "$file" ] || sed -n 's/^URIs:[[:space:]]*\([^[:space:]]*\).*/\1/p' "$file" | grep '/debian/*$' || true
  done
  [ ! -f /etc/apt/sources.list ] || awk '$1 == "deb" { for (i = 2; i <= NF; i++) if ($i ~ /\/debian\/?$/) print $i }' /etc/apt/sources.list
}

# Neither perl, nor the JIT compiler, nor the packages that only prepare a host.
is_needed() {
  case $1 in
    libllvm* | libz3* | perl* | libperl* | *-perl_* | locales_* | libc-l10n* | openssl_*) return 1 ;;
    postgresql-common* | postgresql-client-common* | ssl-cert* | adduser_* | init-system-helpers_*) return 1 ;;
  esac
}

lay_out_root() {
  for name in bin sbin lib lib64; do
    mkdir -p "$root/usr/$name"
    ln -s "usr/$name" "$root/$name"
  done
  mkdir -p "$root/dev" "$root/etc" "$root/tmp" "$root/redis"
  chmod 1777 "$root/tmp"
  chown "$uid:$uid" "$root/redis"
  printf 'root:x:0:0::/:/bin/sh\nsvc:x:%s:%s::/tmp:/bin/sh\n' "$uid" "$uid" >"$root/etc/passwd"
  printf 'root:x:0:\nsvc:x:%s:\n' "$uid" >"$root/etc/group"
  # Where a container forbids device nodes a plain file does for what these servers write to it.
  mknod -m 666 "$root/dev/null" c 1 3 2>/dev/null || { : >"$root/dev/null" && chmod 666 "$root/dev/null"; }
}

in_root() {
  timeout "${limit:-0}" chroot --userspec="$uid:$uid" --groups='' "$root" "$@" 9>&-
}

# --- PostgreSQL ---

start_postgres() {
  [ -f "$root$pg_data/PG_VERSION" ] || create_cluster
  postgres_answers || launch_postgres
  [ "$(sql "select 1 from pg_roles where rolname = 'svc'")" = 1 ] || sql "create role svc superuser login password 'svc'"
  [ "$(sql "select 1 from pg_database where datname = 'svc'")" = 1 ] || sql 'create database svc owner svc'
  vector=$(sql "select default_version from pg_available_extensions where name = 'vector'")
  [ -n "$vector" ] || fail 'PostgreSQL runs, but its vector extension is missing.'
  say "PostgreSQL $(sql 'show server_version' | cut -d ' ' -f 1) with vector $vector on 127.0.0.1:$pg_port"
}

create_cluster() {
  rm -rf "$root$pg_data"
  mkdir -m 700 "$root$pg_data"
  chown "$uid:$uid" "$root$pg_data"
  in_root $pg_bin/initdb -D "$pg_data" -U postgres -A trust -E UTF8 --locale=C.UTF-8 --no-sync >"$dir/initdb$instance.log" 2>&1 || {
    cat "$dir/initdb$instance.log" >&2
    rm -rf "$root$pg_data"
    fail 'initdb failed.'
  }
  cat >>"$root$pg_data/postgresql.conf" <<CONF
listen_addresses = '127.0.0.1'
unix_socket_directories = '/tmp'
dynamic_shared_memory_type = mmap
max_connections = 200
jit = off
CONF
}

# After a kill -9 the old backends need a moment to end, so a failed start is tried again. One that was given up may have gone on.
launch_postgres() {
  for attempt in 1 2 3 4 5 6 7 8 9 10; do
    clear_stale_pid
    in_root $pg_bin/pg_ctl -D "$pg_data" -w -t 60 -l "$pg_data/server.log" -o "-p $pg_port -c fsync=$pg_fsync" start >/dev/null 2>&1 && return
    if tail -n 8 "$root$pg_data/server.log" | grep -q 'Address already in use'; then
      fail "Port $pg_port is in use. Stop the other process, or set CI_PG_PORT."
    fi
    sleep 1
    postgres_answers && return
  done
  tail -n 20 "$root$pg_data/server.log" >&2
  fail "PostgreSQL did not start after $attempt attempts."
}

# A pid file outlives a kill -9, and pg_ctl takes a zombie or a stranger with that pid for the server.
clear_stale_pid() {
  file=$root$pg_data/postmaster.pid
  [ -f "$file" ] || return 0
  pid=$(head -n 1 "$file")
  name=$(cat "/proc/$pid/comm" 2>/dev/null) || name=
  state=$(sed 's/.*) //; s/ .*//' "/proc/$pid/stat" 2>/dev/null) || state=
  [ "$name" = postgres ] && [ "$state" != Z ] || rm -f "$file"
}

stop_postgres() { end_postgres fast; }
crash_postgres() { end_postgres immediate; }

end_postgres() {
  [ -d "$root$pg_data" ] || return 0
  clear_stale_pid
  [ ! -f "$root$pg_data/postmaster.pid" ] || in_root $pg_bin/pg_ctl -D "$pg_data" -m "$1" -w stop >/dev/null
}

postgres_answers() { in_root $pg_bin/pg_isready -q -h 127.0.0.1 -p "$pg_port" 2>/dev/null; }
sql() { in_root $pg_bin/psql -X -q -A -t -v ON_ERROR_STOP=1 -h 127.0.0.1 -p "$pg_port" -U postgres -c "$1"; }

# --- Redis ---

start_redis() {
  redis_answers || launch_redis
  say "Redis $(redis info server | sed -n 's/^redis_version:\([0-9.]*\).*/\1/p') on 127.0.0.1:$kv_port"
}

# `--daemonize` returns before the port is bound: only the log says that it could not be.
launch_redis() {
  [ -d "$root$kv_data" ] || install -d -o "$uid" -g "$uid" "$root$kv_data"
  rm -f "$root$kv_data/server.log"
  in_root /usr/bin/redis-server --bind 127.0.0.1 --port "$kv_port" --dir "$kv_data" --appendonly yes --save '' \
    --daemonize yes --logfile "$kv_data/server.log" >/dev/null
  for _ in $(seq 50); do
    if grep -q 'Address already in use' "$root$kv_data/server.log" 2>/dev/null; then
      fail "Port $kv_port is in use. Stop the other process, or set CI_KV_PORT."
    fi
    if redis_answers; then return; fi
    sleep 0.1
  done
  tail -n 20 "$root$kv_data/server.log" >&2
  fail 'Redis did not start.'
}

stop_redis() {
  ! redis_answers || redis shutdown nosave
}

crash_redis() {
  pid=$(redis info server 2>/dev/null | sed -n 's/^process_id:\([0-9]*\).*/\1/p')
  [ -z "$pid" ] || kill -9 "$pid"
}

redis_answers() { redis ping 2>/dev/null | grep -q PONG; }
# Limited, because a stranger on the port may take the connection and never answer.
redis() (limit=2 && in_root /usr/bin/redis-cli -h 127.0.0.1 -p "$kv_port" "$@")

# --- Chromium ---

# Without what a window needs, which takes as much of the processor again as the pages do.
install_chromium() {
  [ ! -x "$chromium_path" ] || return 0
  say 'installing Chromium'
  apt-get update -qq >&2
  DEBIAN_FRONTEND=noninteractive apt-get install --yes -qq --no-install-recommends chromium-headless-shell >&2
}

# --- the shells that completion is for ---

install_shells() {
  ! { command -v zsh && command -v fish; } >/dev/null || return 0
  say 'installing zsh and fish'
  apt-get update -qq >&2
  DEBIAN_FRONTEND=noninteractive apt-get install --yes -qq --no-install-recommends zsh fish >&2
}

# --- proxies that a control plane, or a database, may stand behind ---

# Unpacked beside the servers: to install them would start them, and some hosts have their own. nginx finds its libraries
# on the host, all of which Debian's base has but pcre2, which git and others bring; PgBouncer in the folder.
unpack_proxies() {
  [ ! -x "$dir/proxies/pgbouncer" ] || return 0
  say 'unpacking nginx, Caddy and PgBouncer'
  rm -rf "$dir/proxies" "$dir/debs"
  mkdir -p "$dir/debs"
  apt-get update -qq >&2
  (
    cd "$dir/debs"
    apt-get download -qq nginx caddy libpcre2-8-0 pgbouncer >&2
    # Named otherwise since trixie.
    apt-get download -qq libevent-2.1-7t64 libcares2 >&2 2>/dev/null || apt-get download -qq libevent-2.1-7 libc-ares2 >&2
  )
  for deb in "$dir"/debs/*.deb; do dpkg-deb --extract "$deb" "$dir/proxies"; done
  rm -rf "$dir/debs"
  libraries=$(dirname "$(find "$dir/proxies/usr/lib" -name 'libevent-2.1.so.7' | head -n 1)")
  # It refuses to run as root.
  printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec %s "$@"\n' "$libraries" "$dir/proxies/usr/sbin/pgbouncer" >"$dir/proxies/pgbouncer"
  chmod +x "$dir/proxies/pgbouncer"
}

# --- small things ---

say() { echo "services: $*" >&2; }

fail() {
  say "$*"
  exit 1
}

need_root() { [ "$(id -u)" = 0 ] || fail 'The servers run by chroot, which needs root.'; }

# One at a time. A server must not inherit the lock: in_root closes it.
lock() {
  mkdir -p "$dir"
  exec 9>"$dir/lock"
  flock 9
}

report() { if "$2"; then say "$1: up"; else say "$1: down"; fi; }

main "$@"
