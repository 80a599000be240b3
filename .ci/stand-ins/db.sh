#!/bin/sh
# Does for the tests what the entry of the official PostgreSQL image does: takes over the data folder as root, becomes
# its own user, makes the cluster, its role and its database at the first start, runs the scripts there are for that, and
# then what it is given.
set -eu

data=$PGDATA
user=${POSTGRES_USER:-postgres}

if [ "$(busybox id -u)" = 0 ]; then
  busybox mkdir -p "$data" /var/run/postgresql
  busybox chmod 700 "$data"
  busybox chown 999:999 /var/run/postgresql
  busybox find "$data" ! -user 999 -exec busybox chown 999:999 '{}' +
  exec /usr/bin/setpriv --reuid 999 --regid 999 --clear-groups busybox sh "$0" "$@"
fi

if [ ! -s "$data/PG_VERSION" ]; then
  : "${POSTGRES_PASSWORD:?The password of the superuser must be set.}"
  echo "$POSTGRES_PASSWORD" >/tmp/password
  initdb -D "$data" -U "$user" --pwfile=/tmp/password -E UTF8 --locale=C.UTF-8 --auth-local=trust --auth-host=scram-sha-256 >/dev/null
  busybox rm /tmp/password
  echo 'host all all all scram-sha-256' >>"$data/pg_hba.conf"
  pg_ctl -D "$data" -w -o "-c listen_addresses=''" start >/dev/null
  db=${POSTGRES_DB:-$user}
  [ "$db" = postgres ] || psql -X -q -d postgres -U "$user" -c "create database \"$db\""
  for script in /docker-entrypoint-initdb.d/*.sql; do
    [ ! -f "$script" ] || psql -X -q -v ON_ERROR_STOP=1 -d "$db" -U "$user" -f "$script"
  done
  pg_ctl -D "$data" -m fast -w stop >/dev/null
fi

exec "$@" -c listen_addresses='*'
