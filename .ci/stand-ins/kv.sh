#!/bin/sh
# Does for the tests what the entry of the official Valkey image does: takes over the data folder and becomes its own
# user.
set -eu

if [ "$1" = valkey-server ] && [ "$(busybox id -u)" = 0 ]; then
  busybox find . ! -user 999 -exec busybox chown 999:1000 '{}' +
  exec /usr/bin/setpriv --reuid 999 --regid 1000 --clear-groups busybox sh "$0" "$@"
fi

umask 077
exec "$@"
