#!/bin/bash
# The first process of User Mode Linux: becomes systemd, with scenes.py beside it, and turns the machine off after it.
# Its root is the disk of the machine around, read-only; all that it writes is memory, but for the folder $out.
# Arguments: the root of the checkout, the interpreter, that folder, UID:GID and name of the one user,
# then three folders that he must be able to read.
root=$1 python=$2 out=$3 user=$4 name=$5
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t tmpfs -o mode=1777 tmpfs /tmp
mount -t tmpfs -o mode=1777 tmpfs /var/tmp
mount -t tmpfs -o mode=755 tmpfs /home
for folder in "$root" "${@:6:3}"; do # what was just covered, be it the checkout itself
    [ -d "$folder" ] || { mkdir -p "$folder" && mount -t hostfs -o "ro,$folder" none "$folder"; }
done
mount -t hostfs -o "$out" none /mnt
ip link set lo up 2>/dev/null || true
(
    cd /home || exit
    until [ -S /run/systemd/private ]; do sleep 0.1; done
    env -i PATH="$PATH" HOME=/home PYTHONPATH="$root:$root/src" PYTHONDONTWRITEBYTECODE=1 \
        "$python" -m tests.support.other_kernel.scenes /mnt/facts.json >/mnt/said 2>&1
    echo o >/proc/sysrq-trigger
) &
exec bash "$root/tests/support/init_boot.sh" "$name" "$user" "/home/$name" "${@:6:3}" # what is left is the kernel's own
