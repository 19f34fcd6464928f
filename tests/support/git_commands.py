"""Every configuration key through which git runs a program, each with a program that notes its name.

The list is git-config(1) and gitattributes(5), read for values that are commands.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.support.gitcmd import git, git_binary, git_environment
from tests.support.repo_traps import HOOK_NAMES, write_script

PLAIN: Final = (
    *("core.fsmonitor", "core.sshCommand", "core.gitProxy", "core.editor", "core.pager", "core.askPass"),
    *("core.alternateRefsCommand", "credential.helper", "diff.external", "diff.trap.command"),
    *("diff.trap.textconv", "merge.trap.driver", "filter.trap.clean", "filter.trap.smudge"),
    *("filter.trap.process", "gpg.program", "gpg.openpgp.program", "gpg.ssh.program", "gpg.x509.program"),
    *("gpg.ssh.defaultKeyCommand", "gc.recentObjectsHook", "uploadpack.packObjectsHook"),
    *("sequence.editor", "interactive.diffFilter", "pager.log", "pager.diff", "pager.show", "pager.status"),
    *("trailer.trap.command", "trailer.trap.cmd", "remote.origin.uploadpack", "remote.origin.receivepack"),
    *("tar.trap.command", "mergetool.trap.cmd", "difftool.trap.cmd", "browser.trap.cmd", "man.trap.cmd"),
    *("sendemail.smtpServer", "sendemail.tocmd", "imap.tunnel", "hook.trap.command", "guitool.trap.cmd"),
)
ALIASES: Final = (
    *("status", "diff", "log", "add", "commit", "fetch", "push", "checkout", "worktree", "gc", "repack"),
    *("ls-files", "ls-tree", "ls-remote", "cat-file", "rev-parse", "rev-list", "read-tree", "update-ref"),
)
SWITCHES: Final = {
    "commit.gpgSign": "true",
    "tag.gpgSign": "true",
    "push.gpgSign": "true",
    "log.showSignature": "true",
    "hook.trap.event": "pre-commit",
    "gc.auto": "1",
    "receive.autogc": "true",
    "maintenance.auto": "true",
    "protocol.ext.allow": "always",
    "extensions.partialClone": "origin",
    "remote.origin.promisor": "true",
}
_PASSING: Final = ("filter.trap.clean", "filter.trap.smudge", "core.pager")
ATTRIBUTES: Final = "* filter=trap diff=trap merge=trap\n"


@dataclass(frozen=True, slots=True)
class Planted:
    """A repository in which everything is set; `mark` holds the name of whatever ran, a line each."""

    repository: Path
    mark: Path

    def sprung(self) -> set[str]:
        """What ran."""
        return set(self.mark.read_text().splitlines()) if self.mark.exists() else set()


def script_that_plants(folder: Path, mark: Path) -> Path:
    """A shell script that plants everything in the repository it is started in, without running git in it."""
    programs = folder / "programs"
    included = folder / "included"
    rows = {key: str(_program(programs, key, mark)) for key in PLAIN}
    rows["credential.helper"] = f"!{rows['credential.helper']}"
    rows |= {f"alias.{name}": f"!{_program(programs, f'alias.{name}', mark)}" for name in ALIASES}
    rows |= {**SWITCHES, "include.path": str(included)}
    included.write_text(_set("core.fsmonitor", str(_program(programs, "include.path", mark))))
    planted = folder / "planted"
    planted.write_text("".join(_set(key, value) for key, value in rows.items()))
    lines = ['common="$1"', 'mkdir -p "$common/hooks" "$common/info"']
    lines.append(f'cat "{planted}" >> "$common/config"')
    for name in HOOK_NAMES:
        _program(folder / "hooks", f"hook:{name}", mark).rename(folder / "hooks" / name)
    lines.append(f'cp "{folder / "hooks"}"/* "$common/hooks/"')
    lines.append(f'printf "{ATTRIBUTES.strip()}\\n" > "$common/info/attributes"')
    return write_script(folder / "plant.sh", "\n".join(lines))


def plant(repository: Path, folder: Path, mark: Path) -> Planted:
    """Plant everything in a repository that is there."""
    script = script_that_plants(folder, mark)
    common = git(repository, "rev-parse", "--path-format=absolute", "--git-common-dir")
    subprocess.run([script, common], check=True, env=git_environment(), stdin=subprocess.DEVNULL)
    return Planted(repository, mark)


def careless(repository: Path, *words: str) -> None:
    """Run git as somebody who trusts the repository would."""
    subprocess.run(
        [git_binary(), *words],
        cwd=repository,
        env={**git_environment(), "GIT_CONFIG_COUNT": "0"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=60,
    )


def _program(folder: Path, name: str, mark: Path) -> Path:
    file = name.replace(":", "-").replace(".", "-").lower()
    then = "cat" if name in _PASSING else "exit 1"
    return write_script(folder / file, f'echo "{name}" >> "{mark}"\n{then}\n')


def _set(key: str, value: str) -> str:
    """A key as git writes it: eighty calls of `git config` would take longer than the tests."""
    section, _, rest = key.partition(".")
    inner, _, name = rest.rpartition(".")
    head = f'[{section} "{inner}"]' if inner else f"[{section}]"
    return f'{head}\n\t{name} = "{value}"\n'


def calls(*lines: str) -> Sequence[tuple[str, ...]]:
    """Command lines as words."""
    return [tuple(line.split()) for line in lines]
