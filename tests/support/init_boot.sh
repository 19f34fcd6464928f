# Becomes systemd as the first process of its namespaces. Arguments: name, UID:GID and home of its one user, then the
# folders that he must be able to read.
# The host's units, generators, /run and accounts are covered first: nothing of the host is started or changed.
set -e
name=$1 uid=${2%:*} gid=${2#*:} home=$3
mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/systemd/system /run/dbus /run/user /run/lock /run/log
umount -l /sys/fs/cgroup 2>/dev/null || true
mount -t cgroup2 cgroup2 /sys/fs/cgroup
for file in passwd group shadow; do cp -p /etc/$file /run/$file; done # first is what counts, hence at the top
sed -i "1i $name:x:$uid:$gid::$home:/bin/sh" /run/passwd
sed -i "1i $name:x:$gid:" /run/group
sed -i "1i $name:*:19000:0:99999:7:::" /run/shadow
for file in passwd group shadow; do mount --bind /run/$file /etc/$file; done
mkdir -p /etc/systemd/user /var/lib/systemd
for folder in /etc/systemd/system /etc/systemd/user /var/lib/systemd \
    /usr/lib/systemd/{system,user}-generators /usr/lib/systemd/user/default.target.wants \
    /usr/lib/systemd/system/{sysinit,basic,sockets,local-fs,multi-user,timers,graphical}.target.wants; do
    [ ! -d "$folder" ] || mount -t tmpfs -o mode=755 tmpfs "$folder"
done
for unit in remount-fs binfmt sysctl modules-load tmpfiles-setup udevd journald; do
    ln -s /dev/null /etc/systemd/system/systemd-$unit.service
done
for target in sysinit basic night; do
    printf '[Unit]\nDescription=%s\nDefaultDependencies=no\nAllowIsolate=yes\n' $target \
        >/etc/systemd/system/$target.target
done
# What PAM's module for systemd sets at a log-in; it is a package of its own.
mkdir /etc/systemd/system/user@.service.d
printf '[Service]\nEnvironment=XDG_RUNTIME_DIR=/run/user/%%i\n' >/etc/systemd/system/user@.service.d/runtime.conf
. "$(dirname "$0")/within_reach.sh" "${@:4}"
export container=autopilot-test
exec /lib/systemd/systemd --system --unit=night.target --log-target=console --log-level=info --show-status=0
