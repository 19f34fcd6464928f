"""Why a well-known program is not started, and what to do in its place.

Nothing here decides: a program that no policy names is refused with or without a reason of its own.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_FAMILIES: tuple[tuple[str, str], ...] = (
    (
        ("sudo su doas runuser env xargs nice ionice nohup watch script strace ltrace gdb setsid "
        "stdbuf unshare nsenter chroot "
        "parallel entr expect time flock busybox run-parts taskset chrt setarch"),
        "it would run another program unseen; run that program by itself (timeout 60 COMMAND is accepted)",
    ),
    (
        ("export declare typeset local readonly unset alias unalias set shopt trap source . eval exec "
        "command builtin hash enable "
        "ulimit umask bind complete read mapfile readarray let jobs fg bg disown wait times pushd "
        "popd dirs history fc caller getopts return break "
        "continue shift type logout suspend compgen compopt printenv"),
        ("the shell's own state is not changed or shown; write values where they are used, one plain "
        "command after another"),
    ),
    ("if then else elif fi for while until do done case esac select function in coproc ! { } [[",
        "no loops, conditions or functions; join plain commands by && or ||"),
    (
        ("ssh scp sftp rsync nc ncat netcat telnet ftp socat ping ping6 nslookup dig host traceroute "
        "mtr nmap openssl gpg gpg2 curlie http xh aria2c lynx w3m links"),
            "nothing reaches out but curl, wget and WebFetch to a listed host"),
    ("hub glab tea jira linear acli az-devops",
        "trackers and pull requests are written by the publisher after the gates have passed"),
    ("twine flit", "a run publishes nothing"),
    (
        ("pipx uvx easy_install conda mamba brew apt apt-get aptitude dpkg yum dnf apk pacman snap "
        "flatpak gem cpan luarocks port nix nix-env asdf mise nvm pyenv volta corepack"),
            "no package is added; say in your summary which one is needed"),
    (
        ("docker podman nerdctl buildah kubectl helm minikube kind vagrant terraform ansible "
        "ansible-playbook pulumi aws gcloud az flyctl fly heroku vercel netlify wrangler firebase "
        "doctl ibmcloud"), "no container, cluster or cloud is touched"),
    ("security secret-tool pass op keyring kwallet-query gnome-keyring bw lpass vault age sops doppler",
        "no credential store is read"),
    ("ssh-keygen ssh-add ssh-agent", "no keys are made or used"),
    ("kill pkill killall skill xkill fuser renice",
        "no process is signalled; a command that hangs is given timeout 60"),
    ("crontab at batch systemctl service launchctl systemd-run loginctl initctl rc-service sv supervisorctl",
        "nothing is scheduled and no service is touched"),
    ("tmux screen byobu zellij dtach abduco", "nothing outlives the command"),
    (
        ("mount umount losetup mkfs fdisk chflags chattr chown chgrp setfacl setcap insmod modprobe "
        "sysctl hdiutil diskutil"), "the system stays as it is"),
    ("less more man vi vim nvim view emacs nano ed ex pico info most top htop",
        "nobody can type: show with cat, head, tail or sed -n, change with the Edit tool"),
    (
        ("osascript deno-eval bc dc tclsh wish ipython jupyter irb pry groovy scala ghci julia R "
        "Rscript psql mysql mongo mongosh redis-cli sqlite3 iex erl elixir clojure sbcl guile racket"),
            ("no interpreter takes a program from the command line; put it into a test and run the "
            "tests")),
    ("dd install truncate shred split csplit patch cpio pax ar zip 7z rar unrar",
        "files are changed with the Edit and Write tools, cp, mv and rm"),
    ("whoami id hostname ps pgrep lsof w who last netstat ss ip ifconfig",
        "the machine and its other processes are not this run's affair"),
)  # fmt: skip
WHY_NOT: Mapping[str, str] = MappingProxyType(
    {name: f"{name}: {why}" for names, why in _FAMILIES for name in names.split()}
)
