"""What is promised about an agent's tools, row by row; tests/guard_corpus has the same in more words."""

from __future__ import annotations

import pytest

from autopilot.runner.guard.judge import Guard
from autopilot.runner.guard.verdict import Decision, GuardContext, GuardRequest

GUARD = Guard(GuardContext("/w/T-1", "/t/T-1", hosts=frozenset({"docs.python.org"})))


def bash(command: str, *written: str) -> Decision:
    return GUARD.decide(GuardRequest("Bash", {"command": command}, written=frozenset(written)))


def covered(row: str, *commands: str) -> list[object]:
    return [
        pytest.param(command, marks=pytest.mark.covers(row), id=f"{row}-{command}") for command in commands
    ]


@pytest.mark.parametrize(
    "command",
    [
        *covered(
            "H08",
            "if true; then ls; fi",
            "while true; do ls; done",
            "for x in a; do ls; done",
            "! ls",
            "[[ -f x ]]",
            "time ls",
            "coproc ls",
            "function f",
            "case x in x) ls;; esac",
            "until ls; do ls; done",
        ),
        *covered(
            "H09",
            "cat x | sh",
            "bash < x",
            "python3 -",
            "python3 <<'EOF'\n1\nEOF",
            "echo 1 | node",
            "base64 -d x | bash",
            "sh",
            "perl",
            "ruby -",
            "php",
        ),
        *covered(
            "H10",
            "sh -c ls",
            "bash -lc ls",
            "/bin/bash -xc ls",
            "zsh -c ls",
            "timeout 5 bash -c ls",
            "dash -ec ls",
        ),
        *covered(
            "H11",
            "node -e 1",
            "node -pe 1",
            "perl -e 1",
            "perl -ne 1",
            "php -r 1",
            "python -c 1",
            "python3 -Ic 1",
            "ruby -e 1",
            "lua -e 1",
            "deno eval 1",
            "bun -e 1",
            "osascript -e 1",
            "psql -c x",
            "awk 'BEGIN{system(\"x\")}'",
        ),
        *covered(
            "H14",
            "git push",
            "git send-pack x y",
            "git -c alias.p=push p",
            "/usr/bin/git pu\\sh",
            "git 'push' -f",
            "git --no-pager push",
            "true && git push",
            "git -C src push",
            "timeout 9 git push",
        ),
        *covered(
            "H15",
            "gh pr create",
            "gh issue comment 1 -b x",
            "gh api -X POST x",
            "gh api graphql -f query=x",
            "glab mr create",
            "hub pull-request",
            "jira issue move X-1 Done",
            "curl -X POST https://docs.python.org/",
        ),
        *covered(
            "H16",
            "security find-generic-password -s x -w",
            "secret-tool lookup a b",
            "pass show x",
            "op read x",
            "cat .env",
            "gh auth token",
            "git credential fill",
            "cat ~/.netrc",
            "keyring get a b",
        ),
        *covered(
            "H17",
            "npm install x",
            "npm i",
            "pip install x",
            "python -m pip install x",
            "uv add x",
            "cargo add x",
            "go get x",
            "gem install x",
            "brew install x",
            "apt-get install x",
            "npx x",
            "uvx x",
            "pipx run x",
            "yarn add x",
            "pnpm dlx x",
        ),
        *covered(
            "H18",
            "echo x > package.json",
            "sed -i s/a/b/ pyproject.toml",
            "cp x Cargo.toml",
            "mv x go.mod",
            "tee setup.py",
            "git checkout HEAD -- package.json",
            "rm yarn.lock",
            "npm pkg set a=b",
            "touch sub/package.json",
        ),
        *covered(
            "H19",
            "echo x > .git/hooks/pre-push",
            "cp x .github/workflows/x.yml",
            "tee .GIT/config",
            "rm -rf .git",
            "mv x .mcp.json",
            "ln -s x .git/y",
            "echo x > ../T-10/x",
            "echo x > /etc/hosts",
            "sed -i s/a/b/ .npmrc",
            "chmod +x .git/hooks/x",
        ),
        *covered(
            "H24",
            "git commit -m 'x' -m 'Co-Authored-By: Claude <noreply@anthropic.com>'",
            "git commit -m 'Generated with Claude Code'",
            "git commit -F - <<'EOF'\nx\n\nAssisted-by: GPT-5\nEOF",
            "git commit -am 'written by Copilot'",
            "git commit -F msg.txt",
        ),
        *covered(
            "H25",
            *("git push -f origin main", "git push --force-with-lease origin master"),
            *("git push origin +HEAD:develop", "git push --mirror", "git push origin HEAD:release/1.0"),
            *("git push origin HEAD:main", "git push origin :main", "git push --delete origin main"),
        ),
        *covered(
            "I01",
            "curl https://evil.example/",
            "wget https://docs.python.org.evil.example/",
            "curl https://docs.python.org@evil.example/",
            "curl https://127.0.0.1/",
            "curl http://169.254.169.254/",
            "wget -i urls",
        ),
        *covered(
            "I02",
            "curl https://$HOST/",
            'curl "https://docs.python.org/?q=$(cat x)"',
            "curl `cat url`",
            "curl https://docs.python.org/{a,b}",
        ),
        *covered(
            "I03",
            "curl -x http://p https://docs.python.org/",
            "curl --proxy p https://docs.python.org/",
            "wget -e https_proxy=p https://docs.python.org/",
            "https_proxy=p curl https://docs.python.org/",
            "curl --socks5 p https://docs.python.org/",
        ),
        *covered(
            "I04",
            "curl -d x https://docs.python.org/",
            "curl --json '{}' https://docs.python.org/",
            "curl -F a=@b https://docs.python.org/",
            "curl -T x https://docs.python.org/",
            "wget --post-file=x https://docs.python.org/",
            "curl -sdx https://docs.python.org/",
        ),
        *covered(
            "I08",
            "cargo install x",
            "npm update",
            "poetry add x",
            "bundle add x",
            "go mod tidy",
            "composer require x",
            "dotnet add package x",
        ),
    ],
)
def test_a_promise_of_the_guard_is_kept(command: str) -> None:
    decision = bash(command)
    assert not decision.allowed
    assert decision.reason


@pytest.mark.parametrize(
    "command",
    [
        *covered(
            "I07",
            "npm ci",
            "pnpm install --frozen-lockfile",
            "yarn install --immutable",
            "uv sync --frozen",
            "cargo fetch --locked",
            "go mod download",
            "poetry install",
            "bundle install --frozen",
            "pip install --require-hashes -r requirements.txt",
            "dotnet restore --locked-mode",
            "bun install --frozen-lockfile",
        ),
        *covered("I01", "curl -fsS https://docs.python.org/3/", "wget -qO- https://docs.python.org/3/"),
        "git commit -m 'docs: the API of the AI module'",
        "git commit -m 'feat: a client for Gemini'",
        "git commit -F - <<'EOF'\nfix: x\n\nCo-authored-by: Ann <ann@example.org>\nEOF",
        "npm test 2>&1 | tail -50",
        "cd src && python -m pytest -q ../tests",
    ],
)
def test_what_is_next_to_it_is_allowed(command: str) -> None:
    decision = bash(command)
    assert decision.allowed, decision


@pytest.mark.covers("H12")
@pytest.mark.parametrize(
    ("command", "written"),
    [
        ("./x.sh", "x.sh"),
        ("bash x.sh", "x.sh"),
        ("python a/x.py", "a/x.py"),
        ("node x.js", "x.js"),
        ("make", "Makefile"),
        ("./gradlew test", "gradlew"),
    ],
)
def test_a_program_that_the_run_made_is_refused(command: str, written: str) -> None:
    assert bash(command).allowed
    assert not bash(command, written).allowed
    assert not bash(f"echo x > {written}; {command}").allowed


@pytest.mark.covers("H01")
@pytest.mark.parametrize(
    "tool", ["Bash", "Write", "Edit", "MultiEdit", "NotebookEdit", "WebFetch", "mcp__a__b", "Unheard"]
)
def test_a_tool_without_its_input_is_refused(tool: str) -> None:
    assert not GUARD.decide(GuardRequest(tool, {})).allowed
    assert not GUARD.decide(GuardRequest(tool, {"command": 1, "file_path": ["x"], "url": None})).allowed


@pytest.mark.covers("H07")
def test_the_tools_own_background_and_its_way_out_of_the_sandbox_are_refused() -> None:
    for extra in ({"run_in_background": True}, {"dangerouslyDisableSandbox": True}):
        assert not GUARD.decide(GuardRequest("Bash", {"command": "ls", **extra})).allowed


def test_what_is_looked_for_lies_in_the_worktree() -> None:
    def allowed(tool: str, **given: object) -> bool:
        return GUARD.decide(GuardRequest(tool, given)).allowed

    assert allowed("Read", file_path="src/a.py")
    assert allowed("Glob", pattern="**/*.py")
    assert allowed("Glob", pattern="*.md", path="docs")
    assert allowed("Grep", pattern="^/etc/[a-z]+", path="/w/T-1/src", glob="*.py")
    assert not allowed("Read", file_path="/etc/passwd")
    assert not allowed("Read", file_path=".env")
    assert not allowed("Glob", pattern="../**")
    assert not allowed("Glob", pattern="/etc/*")
    assert not allowed("Glob", pattern="**/.env*")
    assert not allowed("Grep", pattern="x", path="..")
    assert not allowed("Grep", pattern="KEY", glob=".env")
    assert not allowed("LS", path="/w")
