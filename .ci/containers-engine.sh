#!/bin/sh
# The engine of containers.sh, as the first process of namespaces of its own: makes the unpacked packages its root, serves
# podman's API there, and runs the health checks, which podman leaves to systemd.
set -eu
root=$1
state=$2

mount --make-rprivate /
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
# crun refuses the hybrid of both versions that some hosts have.
umount -R "$root/sys/fs/cgroup" 2>/dev/null || true
mount -t cgroup2 none "$root/sys/fs/cgroup"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/run"
mount --bind "$state" "$root/svc"
pivot_root "$root" "$root/host"
cd /
umount -l /host

export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/svc TMPDIR=/svc/tmp
mkdir -p /svc/storage /svc/tmp
# Layers on top of each other where the kernel lets them, else a whole copy of each.
driver=overlay
mkdir -p /svc/try/lower /svc/try/upper /svc/try/work /svc/try/merged
if mount -t overlay -o lowerdir=/svc/try/lower,upperdir=/svc/try/upper,workdir=/svc/try/work none /svc/try/merged; then
  umount /svc/try/merged
else
  driver=vfs
fi
rm -rf /svc/try

engine() { podman --storage-driver "$driver" --root /svc/storage --runroot /run/containers "$@"; }

engine system service --time 0 unix:///svc/engine.sock &
service=$!
round=0
while kill -0 "$service" 2>/dev/null; do
  # A container that is healthy is asked again once in a while.
  set -- --filter health=starting --filter health=unhealthy
  [ $((round % 10)) != 0 ] || set -- "$@" --filter health=healthy
  for id in $(engine ps --quiet "$@" 2>/dev/null); do
    engine healthcheck run "$id" >/dev/null 2>&1 || true
  done
  round=$((round + 1))
  sleep 1
done
