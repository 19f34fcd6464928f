"""What the guard is asked, what it knows, and what it answers.

Must not read a file or decide anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

# Names that nobody but the operator changes. `**` stands for any number of folders, `*` for part of a name.
PROTECTED = (
    ".git", ".git/**", ".claude/**", ".codex/**", ".gemini/**", ".cursor/**", ".github/workflows/**",
    ".github/actions/**", ".gitlab-ci.yml", ".circleci/**", ".vscode/**", ".idea/**", ".mcp.json", ".npmrc",
    ".yarnrc*", ".yarn/**", ".pnpmfile.cjs", ".envrc", ".gitmodules", ".gitconfig", ".husky/**",
    ".pre-commit-config.yaml", ".autopilot.toml", "**/.env*",
    ".gitlab/ci/**", ".travis.y*ml", ".buildkite/**", ".drone.y*ml", ".devcontainer/**", ".lfsconfig",
    ".mvn/**", ".cargo/config*", ".bundle/config", ".mise.toml", ".tool-versions",
    ".opencode/**", "opencode.json*", ".agents/**", ".copilot/**", ".github/hooks/**", ".github/copilot*/**",
    ".github/agents/**", ".github/skills/**", ".github/mcp.json", ".github/extensions/**",
)  # fmt: skip
MANIFESTS = (
    "package.json", "pyproject.toml", "setup.py", "setup.cfg", "requirements*.txt", "Pipfile", "Cargo.toml",
    "go.mod", "go.work", "pom.xml", "build.gradle*", "settings.gradle*", "Gemfile", "*.gemspec", "*.csproj",
    "Package.swift", "Podfile", "composer.json", "deno.json", "deno.jsonc", "mix.exs",
)  # fmt: skip
LOCKFILES = (
    "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock*", "poetry.lock",
    "uv.lock", "pdm.lock", "Pipfile.lock", "Cargo.lock", "go.sum", "Gemfile.lock", "Podfile.lock",
    "composer.lock", "deno.lock", "Package.resolved",
)  # fmt: skip
VARIABLES = frozenset(
    {"CI", "NO_COLOR", "FORCE_COLOR", "RUST_BACKTRACE", "RUST_LOG", "LANG", "LC_ALL", "TZ", "NODE_ENV"}
)


@dataclass(frozen=True, slots=True)
class GuardContext:
    """What a run may touch. Folders are absolute; names are patterns below the worktree."""

    worktree: str
    tmp: str
    hosts: frozenset[str] = frozenset()
    variables: frozenset[str] = VARIABLES
    protected: tuple[str, ...] = PROTECTED
    manifests: tuple[str, ...] = MANIFESTS
    lockfiles: tuple[str, ...] = LOCKFILES
    mcp_tools: frozenset[str] = frozenset()
    programs: frozenset[str] = frozenset()
    """Programs that the operator lists as reading what they are given."""
    commands: tuple[tuple[str, ...], ...] = ()
    """The repository's own commands, word for word, from the policy of the base commit."""
    max_read_bytes: int = 0
    """How much of a file a tool may read at once; 0 = any amount."""
    started_ns: int | None = None
    """When the run began, to know by its inode's time a program that was made since."""


@dataclass(frozen=True, slots=True)
class GuardRequest:
    """One use of a tool, before it happens."""

    tool: str
    given: Mapping[str, object]
    """What the tool was given: `command` for Bash, `file_path` for Write, and so on."""
    cwd: str | None = None
    """Where a shell would run; None: in the worktree."""
    written: frozenset[str] = frozenset()
    """What this run wrote so far: paths, absolute or below the worktree."""
    use_id: str = ""
    """The client's own name of this one use, which its stream repeats; empty where it gives none."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer; `writes` are the files that an allowed request will write."""

    allowed: bool
    code: str = "allowed"
    reason: str = ""
    writes: frozenset[str] = frozenset()


class Refused(Exception):
    """A request is refused: `code` in kebab-case, and a reason that names the accepted form."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason
