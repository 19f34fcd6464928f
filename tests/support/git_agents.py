"""Fake agents that go at git: they commit, rewind, re-init and plant commands.

What they do to a repository happened in the field; the names of the reports are in
the docstrings.
"""

from pathlib import Path
from typing import Final

from tests.support.agents import Agent, write_agent
from tests.support.projects import Project

ATTRIBUTION: Final = "Co-Authored-By: Robot <robot@example.invalid>"


def commits_itself(folder: Path, project: Project) -> Agent:
    """Mend the file and commit it on the branch, with an attribution trailer."""
    return write_agent(
        folder,
        "commits-itself",
        f"""
        {_mend(project)}
        git("add", "-A")
        note(git("commit", "-m", "Mend it\\n\\n{ATTRIBUTION}").returncode)
        """,
    )


def detaches_and_commits_twice(folder: Path, project: Project) -> Agent:
    """Leave the branch for a detached HEAD and make two commits there; notes their shas."""
    return write_agent(
        folder,
        "detaches",
        f"""
        git("checkout", "-q", "--detach")
        open("first.txt", "w").write("first\\n")
        git("add", "-A")
        git("commit", "-q", "-m", "First")
        note(git("rev-parse", "HEAD").stdout.decode().strip())
        {_mend(project)}
        git("add", "-A")
        git("commit", "-q", "-m", "Second\\n\\n{ATTRIBUTION}")
        note(git("rev-parse", "HEAD").stdout.decode().strip())
        """,
    )


def reinitialises(folder: Path, project: Project) -> Agent:
    """`GIT_DIR=<the worktree's> git init` without a work tree: flips core.bare (GIT-041)."""
    return write_agent(
        folder,
        "reinitialises",
        f"""
        {_mend(project)}
        own = git("rev-parse", "--absolute-git-dir").stdout.decode().strip()
        common = git("rev-parse", "--path-format=absolute", "--git-common-dir").stdout.decode().strip()
        for git_dir in (own, common):
            note(git("init", "-q", GIT_DIR=git_dir).returncode)
        git("config", "--file", common + "/config", "core.bare", "true")
        """,
    )


def plants_commands(folder: Path, project: Project) -> Agent:
    """Make git's configuration, hooks and attributes run a program that notes itself."""
    return write_agent(
        folder,
        "plants-commands",
        f"""
        {_mend(project)}
        program = MARK + ".planted"
        with open(program, "w") as planted:
            planted.write("#!/bin/sh\\necho planted >> '" + MARK + "'\\ncat\\n")
        os.chmod(program, 0o755)
        for key in ("core.fsmonitor", "core.sshCommand", "filter.x.clean", "filter.x.smudge",
                    "diff.external", "gpg.program", "core.pager"):
            git("config", key, program)
        git("config", "commit.gpgsign", "true")
        open(".gitattributes", "w").write("* filter=x\\n")
        hooks = git("rev-parse", "--git-path", "hooks").stdout.decode().strip()
        os.makedirs(hooks, exist_ok=True)
        for name in ("pre-commit", "post-checkout", "post-commit", "reference-transaction", "pre-push"):
            open(f"{{hooks}}/{{name}}", "w").write(f"#!/bin/sh\\nexec '{{program}}'\\n")
            os.chmod(f"{{hooks}}/{{name}}", 0o755)
        """,
    )


def deletes_its_folder(folder: Path) -> Agent:
    """Remove the whole working directory, `.git` included (GIT-013)."""
    return write_agent(
        folder,
        "deletes-its-folder",
        """
        import shutil
        shutil.rmtree(os.getcwd(), ignore_errors=True)
        """,
    )


def nests_repository(folder: Path) -> Agent:
    """Make a repository with a commit inside the worktree: `add -A` would make a gitlink."""
    return write_agent(
        folder,
        "nests-repository",
        """
        os.mkdir("vendored")
        open("vendored/code.py", "w").write("x = 1\\n")
        git("init", "-q", "vendored")
        git("-C", "vendored", "add", "-A")
        note(git("-C", "vendored", "commit", "-q", "-m", "Inner").returncode)
        """,
    )


def makes_shallow(folder: Path) -> Agent:
    """Fetch with depth 1 in the worktree, which makes the shared store shallow (GIT-038)."""
    return write_agent(
        folder,
        "makes-shallow",
        """
        note(git("fetch", "-q", "--depth=1", "origin").returncode)
        """,
    )


def _mend(project: Project) -> str:
    return f"open({project.broken_path!r}, 'w').write({project.fixed_file()!r})"
