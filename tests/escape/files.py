"""Attempts on files: a person's secrets, our own state, the system."""

from typing import Final

from tests.escape.attempt import GONE, NO_WAY, NOTHING, SHUT, Attempt, python, shell

_SECRETS: Final = (
    *(".ssh/id_ed25519", ".netrc", ".git-credentials", ".aws/credentials", ".config/gh/hosts.yml"),
    *(".local/share/keyrings/login.keyring", ".gnupg/secring.gpg", ".docker/config.json", ".bash_history"),
    *(".claude/.credentials.json", ".npmrc", ".kube/config"),
)
_OURS: Final = (
    *("@state@/autopilot.db", "@state@/config.toml", "@state@/pr-requests/T-2.json", "@other@/answer.txt"),
    *("@run@/judge.git/HEAD", "@run@/events.jsonl", "@run@/spec.json", "@run@/lease", "@run@/agent-1.log"),
    *("@state@/runs/T-2-a1-00000001/repo.git/config", "@mirror@/description"),
)
_READ: Final = (
    *shell("read", GONE, [f"grep @canary@ '@person@/{name}'" for name in _SECRETS]),
    *shell("read", GONE, [f"grep @canary@ '{path}'" for path in (*_OURS, "@checkout@/answer.txt")]),
    *shell(
        "roundabout",
        GONE,
        [
            "cd '@worktree@' && grep @canary@ ../../autopilot.db",
            "cd '@worktree@' && grep @canary@ ../T-2/answer.txt",
            "cd '@worktree@' && grep @canary@ ./../../../person/.netrc",
            "grep @canary@ '/proc/self/root@state@/autopilot.db'",
            "cd '@worktree@' && grep @canary@ /proc/self/cwd/../../autopilot.db",
            "cd '@worktree@' && ln -sfn '@person@/.netrc' one && grep @canary@ one",
            "cd '@worktree@' && ln -sfn '@person@' folder && grep @canary@ folder/.netrc",
            "cd '@worktree@' && ln -sfn 2 3 && ln -sfn '@state@/autopilot.db' 2 && grep @canary@ 3",
            "cd '@worktree@' && ln -f '@person@/.npmrc' hard && grep @canary@ hard",
            "cp -r '@person@/.ssh' '@worktree@/taken' && grep -r @canary@ '@worktree@/taken'",
            "tar cf - -C '@person@' .aws | grep -a @canary@",
            "ls -A '@person@' | grep ssh",
        ],
    ),
    *shell(
        "look around",
        NOTHING,
        [
            "ls '@state@/worktrees' | grep T-2",
            "ls '@state@/runs' | grep T-2",
            "ls '@run@' | grep judge",
            "find '@root@' -name .netrc | grep .",
            "find '@state@' -name '*.db' | grep .",
        ],
    ),
)
_WRITE: Final = (
    *shell(
        "write",
        NO_WAY,
        [
            *(f"echo x >> '{path}'" for path in (*_OURS, "@checkout@/answer.txt")),
            "echo 'ssh-ed25519 AAAA evil' >> '@person@/.ssh/authorized_keys'",
            "echo true >> '@person@/.bashrc'",
            "printf '[alias]\\n\\tpush = !true\\n' > '@person@/.gitconfig'",
            "mkdir -p '@person@/.config/systemd/user' && touch '@person@/.config/systemd/user/evil.service'",
            "touch '@other@/evil'",
            "touch '@run@/result.json'",
            "echo '{}' > '@state@/pr-requests/T-1.json'",
            "mv '@state@/worktrees/T-2' '@state@/worktrees/T-3' && mv '@state@/worktrees/T-3' '@other@'",
            "cd '@worktree@' && ln -sfn '@person@/.profile' profile && echo evil >> profile",
            "touch '@mirror@/objects/evil'",
            "chmod -R u+w '@mirror@/objects' && touch '@mirror@/objects/pack/evil'",
            "mv '@worktree@' '@worktree@-gone' && mv '@worktree@-gone' '@worktree@'",
        ],
    ),
    *shell(
        "the system",
        NO_WAY,
        [
            "touch /etc/evil",
            ": >> /etc/hosts",
            ": >> /etc/passwd",
            "touch /usr/bin/evil",
            "touch /usr/local/evil",
            "touch /opt/evil",
            "touch /evil",
            "mkdir /srv/evil",
            ": >> /proc/sys/kernel/core_pattern",
            ": >> /proc/sysrq-trigger",
            ": >> /proc/sys/vm/drop_caches",
            ": >> /sys/power/state",
            "head -c1 /dev/mem",
            "head -c1 /dev/kmsg",
            "head -c1 /dev/sda",
            "head -c1 /proc/kcore",
            "ls /boot /srv /mnt /media | grep .",
            "mknod '@worktree@/disk' b 8 0",
        ],
        only_inside=True,
    ),
    *shell("masked", SHUT + r"|\A\s*\Z", ["grep root: /etc/shadow", "grep . /etc/gshadow"], only_inside=True),
)
_CLEVER: Final = python(
    "clever",
    NO_WAY,
    {
        "through a folder's descriptor": (
            "import os\nup = os.open('@worktree@', os.O_RDONLY)\n"
            "state = os.open('../..', os.O_RDONLY, dir_fd=up)\n"
            "os.open('autopilot.db', os.O_RDONLY, dir_fd=state)"
        ),
        "a link swapped while it is opened": (
            "import os, threading\nos.chdir('@worktree@')\nopen('dull', 'w').close()\n"
            "def swap():\n"
            "    for _ in range(2000):\n"
            "        os.symlink('dull', 'a'); os.replace('a', 'race')\n"
            "        os.symlink('@person@/.netrc', 'b'); os.replace('b', 'race')\n"
            "turner = threading.Thread(target=swap, daemon=True); turner.start()\nfound = False\nwhy = ''\n"
            "while turner.is_alive() and not found:\n"
            "    try:\n        found = found or '@canary@' in open('race').read()\n"
            "    except OSError as error:\n        why = str(error)\n"
            "print(why)\nraise SystemExit(not found)"
        ),
        "a socket that hands over a descriptor": (
            "import os, socket\na, b = socket.socketpair()\n"
            "socket.send_fds(a, [b'x'], [os.open('@state@/autopilot.db', os.O_RDWR)])"
        ),
        "a file mapped and changed": (
            "import mmap\nf = open('@run@/spec.json', 'r+b')\nmmap.mmap(f.fileno(), 0)[0] = 32"
        ),
        "descriptors that were left open": (
            "import os\nfor fd in range(3, 256):\n"
            "    try:\n        target = os.readlink(f'/proc/self/fd/{fd}')\n"
            "    except OSError:\n        continue\n"
            "    if target.startswith('@state@'):\n        raise SystemExit(0)\n"
            "os.stat('@state@/autopilot.db')"
        ),
    },
)
FILES: Final[tuple[Attempt, ...]] = (*_READ, *_CLEVER, *_WRITE)
