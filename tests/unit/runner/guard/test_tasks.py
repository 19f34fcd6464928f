"""The runners of a project's own tasks: what a name may say, and that its orders are the base commit's."""

from __future__ import annotations

import pytest

from autopilot.runner.guard.judge import Guard
from autopilot.runner.guard.policy.outward import is_outward
from autopilot.runner.guard.verdict import GuardContext, GuardRequest

GUARD = Guard(GuardContext("/w/T-1", "/t/T-1"))
RUNNERS = (
    "make {}", "just test-{}", "task build-{}", "npm run {}", "pnpm run {}", "yarn run {}", "bun run {}",
    "composer run test-{}", "nox -s {}", "nox -k {}", "tox -e {}", "tox run -e {}", "cargo xtask {}",
    "bundle exec rake test:{}", "npx --no-install nx run app:test-{}", "npx --no-install turbo run test:{}",
    "cmake --build build -t {}",
)  # fmt: skip
OUTWARD = (
    "deploy",
    "release",
    "publish",
    "push",
    "ship",
    "pub",
    "upload",
    "promote",
    "dockerBuild",
    "db-drop",
)
STEERED = (
    ("mvn test", "pom.xml"), ("gradle test", "build.gradle"), ("composer test", "composer.json"),
    ("composer install", "composer.json"), ("bazel test //a", "BUILD"), ("bazel build //a", "defs.bzl"),
    ("sbt test", "build.sbt"), ("swift test", "Package.swift"), ("dotnet test", "a.csproj"),
    ("dotnet build", "Directory.Build.targets"), ("mix test", "mix.exs"), ("zig build test", "build.zig"),
    ("lein test", "project.clj"), ("rebar3 eunit", "rebar.config"), ("meson compile -C b", "meson.build"),
    ("npx --no-install nx test app", "project.json"), ("npx --no-install turbo run test", "turbo.json"),
    ("pod install --deployment", "Podfile"), ("make", "Makefile"), ("npm test", "package.json"),
    ("dune test", "dune"), ("prove -l t", ".proverc"), ("busted", ".busted"), ("luacheck src", ".luacheckrc"),
    ("clj -M:test", "deps.edn"), ("trunk build", "Trunk.toml"), ("deno task test", "deno.json"),
    ("npx --no-install graphql-codegen", "codegen.ts"), ("hatch run test", "pyproject.toml"),
)  # fmt: skip


def allowed(command: str, *written: str) -> bool:
    return GUARD.decide(GuardRequest("Bash", {"command": command}, written=frozenset(written))).allowed


@pytest.mark.parametrize("runner", RUNNERS)
def test_no_runner_starts_a_task_that_puts_something_out(runner: str) -> None:
    assert allowed(runner.format("unit"))
    for name in OUTWARD:
        assert not allowed(runner.format(name)), (runner, name)


@pytest.mark.covers("H12")
@pytest.mark.parametrize(("command", "file"), STEERED)
def test_a_tool_whose_orders_the_run_changed_is_refused(command: str, file: str) -> None:
    assert allowed(command)
    assert not allowed(command, file)
    assert not allowed(command, f"sub/{file}")


def test_a_place_is_outward_unless_something_is_done_for_it_here() -> None:
    for name in ("prod", "migrate:prod", "start-live", "staging", "db:production"):
        assert is_outward(name), name
    for name in ("build:prod", "test:live", "lint-staging", "buildProd"):
        assert not is_outward(name), name


def test_a_word_is_a_whole_one_where_it_is_short() -> None:
    for name in ("test:relationships", "public", "drops-nothing", "livereload", "product-tests", "unit"):
        assert not is_outward(name), name
    for name in ("postinstall", "dockerpush", "preRelease", "npmPublish", "gitPush", "ship", "DEPLOY"):
        assert is_outward(name), name
    assert not is_outward("assembleRelease", but="release")
    assert is_outward("publishRelease", but="release")
