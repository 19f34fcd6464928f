"""Programs and tools that no setting lets a run use, and which names a setting may name.

Pure. Must not know the guard's tables or reasons, which are the runner's. Stdlib only.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_TOOL = re.compile(r"mcp__[A-Za-z0-9-]+(?:_[A-Za-z0-9-]+)*__[A-Za-z0-9_-]+")
# A tool that runs what it is given, in a page or elsewhere, is a shell by another name.
_RUNS_CODE = re.compile(
    r"(?i)(?:^|[_-])(?:eval|evaluate|exec|execute|run|shell|bash|terminal|command)(?:[_-]|$)"
)
_PROGRAM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")
NEVER: Mapping[str, str] = MappingProxyType(
    {
        "wrapper": (
            "sudo su doas runuser env xargs nice ionice nohup watch script strace ltrace gdb "
            "setsid stdbuf unshare nsenter chroot parallel entr expect time flock busybox "
            "run-parts taskset chrt setarch"
        ),
        "shell": (
            "export declare typeset local readonly unset alias unalias set shopt trap source . "
            "eval exec command builtin hash enable ulimit umask bind complete read mapfile "
            "readarray let jobs fg bg disown wait times pushd popd dirs history fc caller getopts "
            "return break continue shift logout suspend compgen compopt printenv"
        ),
        "keyword": (
            "if then else elif fi for while until do done case esac select function in coproc ! { } [["
        ),
        "network": (
            "ssh scp sftp rsync nc ncat netcat telnet ftp socat ping ping6 nslookup dig host "
            "traceroute mtr nmap openssl gpg gpg2 curlie http xh aria2c lynx w3m links"
        ),
        "tracker": "hub tea jira linear acli az-devops",
        "publication": "twine flit",
        "installer": (
            "pipx uvx easy_install conda mamba brew apt apt-get aptitude dpkg yum dnf apk pacman "
            "snap flatpak gem cpan luarocks port nix nix-env asdf mise nvm pyenv volta corepack"
        ),
        "cloud": (
            "docker podman nerdctl buildah kubectl helm minikube kind vagrant terraform ansible "
            "ansible-playbook pulumi aws gcloud az flyctl fly heroku vercel netlify wrangler "
            "firebase doctl ibmcloud"
        ),
        "keyring": (
            "security secret-tool pass op keyring kwallet-query gnome-keyring bw lpass vault age sops doppler"
        ),
        "key": "ssh-keygen ssh-add ssh-agent",
        "signal": "kill pkill killall skill xkill fuser renice",
        "scheduler": (
            "crontab at batch systemctl service launchctl systemd-run loginctl initctl rc-service "
            "sv supervisorctl"
        ),
        "session": "tmux screen byobu zellij dtach abduco",
        "system": (
            "mount umount losetup mkfs fdisk chflags chattr chown chgrp setfacl setcap insmod "
            "modprobe sysctl hdiutil diskutil"
        ),
        "screen": "less more man vi vim nvim view emacs nano ed ex pico info most top htop",
        "interpreter": (
            "osascript deno-eval bc dc tclsh wish ipython ipython3 jupyter irb pry groovy scala "
            "ghci julia R Rscript psql mysql mongo mongosh redis-cli sqlite3 iex erl elixir "
            "clojure sbcl guile racket pypy pypy3 python2 luajit pwsh powershell fish ksh csh "
            "tcsh nu elvish octave m4 gnuplot jshell duckdb"
        ),
        "archive": "dd install shred split csplit patch cpio pax ar 7z rar unrar",
        "machine": "id ps pgrep lsof w who last netstat ss ip ifconfig",
        "agent": (
            "claude codex gemini copilot aider opencode cursor-agent autopilot autopilot-on autopilot-off"
        ),
    }
)
"""Programs that no setting allows, by the kind of reason."""
_NEVER = frozenset(name for names in NEVER.values() for name in names.split())


def tool_fault(name: str) -> str | None:
    """Say why a setting cannot allow this tool, or None."""
    if not _TOOL.fullmatch(name):
        return "is no whole name of a tool of an MCP server"
    if _RUNS_CODE.search(name.rpartition("__")[2]):
        return "runs what it is given, which no setting allows"
    return None


def program_fault(name: str) -> str | None:
    """Say why a setting cannot allow this program, or None."""
    if not _PROGRAM.fullmatch(name):
        return "is no plain name of a program"
    if name in _NEVER:
        return "is never started by a run, whatever the settings say"
    return None
