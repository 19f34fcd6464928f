#!/bin/bash
# The first process of User Mode Linux: runs driver.py as root, with nothing around it, and turns the machine off.
# Its root is the disk of the machine around, read-only; all that is written is memory, but for the folder $out.
# Arguments: that folder, the interpreter, driver.py.
out=$1 python=$2 driver=$3
trap 'echo o >/proc/sysrq-trigger; sleep 60' EXIT
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/mnt/home
mount -t proc proc /proc
mount -t tmpfs tmpfs /mnt
mkdir -p /mnt/out /mnt/home /mnt/tree /mnt/admin /mnt/repo/objects/info
mount -t hostfs -o "$out" none /mnt/out
touch /mnt/tree/.git /mnt/tree/answer.txt /mnt/admin/commondir
# What the sandbox lays over itself is laid here too, so that there is something to take away.
for place in /usr /mnt/repo /mnt/repo/objects/info /mnt/tree/.git /mnt/admin/commondir; do
    mount --bind "$place" "$place"
done
sleep 1000 &
victim=$!
sed "s/@victim@/$victim/g" /mnt/out/attempts.json >/mnt/attempts.json
"$python" -I -S "$driver" /mnt/attempts.json /mnt/out/report.json >/mnt/out/said 2>&1
