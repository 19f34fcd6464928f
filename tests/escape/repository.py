"""Attempts on git: how the run's own repository behaves, other people's repositories, the remote."""

from typing import Final

from tests.escape.attempt import GONE, NO_WAY, SHUT, Attempt, shell

_KEYS: Final = (
    *("core.fsmonitor", "core.hooksPath", "core.sshCommand", "core.pager", "core.editor", "core.askPass"),
    *("core.worktree", "core.attributesFile", "core.gitProxy", "core.alternateRefsCommand"),
    *("filter.x.clean", "filter.x.smudge", "filter.x.process", "diff.external", "diff.x.textconv"),
    *("merge.x.driver", "credential.helper", "gpg.program", "alias.push", "remote.origin.uploadpack"),
    *("remote.origin.receivepack", "remote.origin.pushurl", "url.evil.insteadOf", "include.path"),
    *("protocol.ext.allow", "extensions.worktreeConfig", "remote.evil.promisor", "uploadpack.allowFilter"),
)
_FRESH: Final = (
    "rm -rf '@own_home@/x' && git init -q '@own_home@/x' && cd '@own_home@/x' "
    "&& git -c user.name=a -c user.email=a@b.invalid commit -q --allow-empty -m x "
    "&& git remote add o '@remote@' && git push -q --force o HEAD:main"
)
_IN: Final = "cd '@worktree@' && "
_TAMPER: Final = (
    *shell(
        "configure",
        SHUT,
        [f"{_IN}git config {key} true && git config --unset {key}" for key in _KEYS],
    ),
    *shell(
        "tamper",
        SHUT,
        [
            "printf '[alias]\\n\\tx = y\\n' >> '@repo@/config'",
            "touch '@repo@/config.worktree' && rm '@repo@/config.worktree'",
            "mkdir -p '@repo@/hooks' && touch '@repo@/hooks/pre-commit' && rm -r '@repo@/hooks'",
            "mkdir -p '@repo@/info' && echo '* filter=x' > '@repo@/info/attributes' && rm -r '@repo@/info'",
            "mkdir -p '@repo@/info' && echo '*' > '@repo@/info/exclude' && rm -r '@repo@/info'",
            "mkdir -p '@repo@/info' && echo x > '@repo@/info/grafts' && rm -r '@repo@/info'",
            "echo x > '@repo@/shallow' && rm '@repo@/shallow'",
            "echo x > '@repo@/packed-refs' && rm '@repo@/packed-refs'",
            "echo 'ref: refs/heads/evil' > '@repo@/HEAD' && echo 'ref: refs/heads/main' > '@repo@/HEAD'",
            "echo /tmp >> '@repo@/objects/info/alternates' && sed -i '$d' '@repo@/objects/info/alternates'",
            "echo x > '@repo@/objects/info/http-alternates' && rm '@repo@/objects/info/http-alternates'",
            "mv '@repo@/objects/info' '@repo@/objects/i' && mv '@repo@/objects/i' '@repo@/objects/info'",
            "cp '@admin@/commondir' '@own_home@/c' && cat '@own_home@/c' > '@admin@/commondir'",
            "mv '@admin@/commondir' '@admin@/c' && mv '@admin@/c' '@admin@/commondir'",
            "cp '@admin@/gitdir' '@own_home@/g' && cat '@own_home@/g' > '@admin@/gitdir'",
            f"{_IN}mv .git git && mv git .git",
            f"{_IN}cp .git git && rm .git && mv git .git",
            f"{_IN}cp .git git && echo 'gitdir: /tmp' > .git && mv -f git .git",
            f"{_IN}mv .git git && ln -s '@own_home@' .git && rm .git && mv git .git",
            "mv '@repo@' '@repo@.old' && mv '@repo@.old' '@repo@'",
            "mv '@repo@/objects' '@repo@/o' && mv '@repo@/o' '@repo@/objects'",
            "mv '@repo@/refs' '@repo@/r' && mv '@repo@/r' '@repo@/refs'",
            "mv '@repo@/refs/replace' '@repo@/refs/r' && mv '@repo@/refs/r' '@repo@/refs/replace'",
            f"{_IN}git replace HEAD^{{tree}} $(git mktree </dev/null) && git replace -d HEAD^{{tree}}",
            f"{_IN}R=refs/replace/$(git rev-parse HEAD) && git update-ref $R HEAD && git update-ref -d $R",
            f"{_IN}R=refs/remotes/origin/evil && git update-ref $R HEAD && git update-ref -d $R",
            f"{_IN}git worktree add -q '@repo@/evil' HEAD && git worktree remove --force '@repo@/evil'",
            f"{_IN}git remote add evil /tmp && git remote remove evil",
            "touch '@repo@/worktrees/evil' && rm '@repo@/worktrees/evil'",
            "mkdir '@repo@/modules' && rmdir '@repo@/modules'",
        ],
    ),
)
_LINKS: Final = (("refs/heads/escape", "refs/heads", "/main"), ("refs/tags/escape", "refs/heads/main", ""))


def _by_link(place: str, named: str, below: str) -> str:
    """Link from what a run may write into another repository, look through it, and take it away again."""
    link = f"'@repo@/{place}'"
    made = f"mkdir -p $(dirname {link}) && ln -s '@checkout@/.git/{named}' {link}"
    return f"{made}; cat {link}{below}; R=$?; rm {link}; exit $R"


_ELSEWHERE: Final = (
    *shell(
        "another repository",
        f"{GONE}|not a git repository|not in a git directory|not appear to be",
        [
            "git -C '@checkout@' status --short | grep answer",
            "git -C '@checkout@' stash list | grep idea",
            "git -C '@checkout@' branch evil",
            "cd '@checkout@' && git config core.fsmonitor true && git config --unset core.fsmonitor",
            "touch '@checkout@/.git/hooks/pre-commit'",
            "git clone -q '@checkout@' '@own_home@/copy'",
            f"{_IN}git fetch -q '@checkout@' main",
            f"{_IN}git --git-dir='@checkout@/.git' log -1",
            *(_by_link(*each) for each in _LINKS),
            "GIT_DIR='@checkout@/.git' git stash show -p stash@{0}",
            "git -C '@mirror@' symbolic-ref refs/heads/evil refs/heads/x",
            "ls '@run@/judge.git' | grep HEAD",
            "git -C '@checkout@' -c safe.directory='*' checkout -q -- answer.txt",
            "git -C '@checkout@' -c safe.directory='*' reset -q --hard",
            "git -C '@checkout@' -c safe.directory='*' stash drop -q",
        ],
    ),
    *shell(
        "push",
        rf"{GONE}|{NO_WAY}|Could not read from remote",
        [
            f"{_IN}git ls-remote '@remote@' | grep main",
            f"{_IN}git push -q '@remote@' HEAD:refs/heads/evil-1",
            f"{_IN}git push -q 'file://@remote@' HEAD:refs/heads/evil-2",
            f"{_IN}git push -q --force '@remote@' HEAD:main",
            f"{_IN}git push -q '@remote@' :evil-1",
            f"{_IN}git push -q --mirror '@remote@'; git ls-remote '@remote@' | grep origin/main",
            _FRESH,
            "cp '@remote@/HEAD' '@remote@/refs/heads/evil-3'",
            "printf '#!/bin/sh\\n' > '@remote@/hooks/post-update'",
        ],
    ),
)
REPOSITORY: Final[tuple[Attempt, ...]] = (*_TAMPER, *_ELSEWHERE)
