"""Mirrors: fetched by many at once, packed by us alone, and cleared of what a killed git left."""

from __future__ import annotations

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from autopilot.config.git import Git
from autopilot.daemon.gc import mirrors
from autopilot.runner.mirror import fetch_base
from autopilot.runner.remote import choose_base, look_at
from tests.support.gitcmd import git
from tests.support.programs import write_named
from tests.support.repos import commit_files
from tests.support.yard import DAY_S, Yard


def loosen(mirror: Path, number: int) -> list[str]:
    """Put so many loose objects into a mirror, that no ref names."""
    text = b"".join(b"%d\n" % each for each in range(number))
    made = []
    for each in range(number):
        done = subprocess.run(
            ["git", f"--git-dir={mirror}", "hash-object", "-w", "--stdin"],
            input=text + b"%d" % each,
            capture_output=True,
            check=True,
        )
        made.append(done.stdout.decode().strip())
    return made


def age(yard: Yard, path: Path, age_s: float) -> Path:
    now_s = yard.stage.clock.now_ms() / 1000
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    os.utime(path, (now_s - age_s, now_s - age_s))
    return path


@pytest.mark.field_report("GIT-023")
def test_loose_objects_are_packed_and_one_that_no_ref_names_stays(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = yard.run()
    yard.publish(spec)
    mirror = spec.repo.mirror
    monkeypatch.setattr(mirrors, "LOOSE_FROM", 20)
    there = len(list(mirror.glob("objects/[0-9a-f][0-9a-f]/*")))
    made = loosen(mirror, 30)
    told = yard.sweep(apply=True)
    [state] = told.mirrors
    assert (state.loose_before, state.loose, state.packs) == (there + len(set(made)), 0, 1)
    for sha in made:
        assert git(mirror, "cat-file", "-t", sha) == "blob"


def test_a_run_cut_before_the_packing_still_finds_every_object_that_it_borrows(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The base that a parked run was cut from is named by no ref of the mirror any more."""
    from autopilot.schemas.run import Outcome

    spec = yard.run()
    yard.end(spec, Outcome.ASKED)
    old = git(spec.run_dir / "repo.git", "rev-parse", "origin/main")
    git(yard.repo.checkout, "checkout", "-q", "--orphan", "anew")
    git(yard.repo.checkout, "commit", "-q", "-m", "History was rewritten")
    git(yard.repo.checkout, "push", "-q", "--force", "origin", "anew:main")
    yard.host.fetch(spec)
    for name in git(spec.repo.mirror, "for-each-ref", "--format=%(refname)").splitlines():
        assert git(spec.repo.mirror, "rev-parse", name) != old
    monkeypatch.setattr(mirrors, "LOOSE_FROM", 1)
    monkeypatch.setattr(mirrors, "PACKS_FROM", 1)
    yard.sweep(apply=True)
    yard.sweep(apply=True)
    assert git(spec.worktree, "fsck", "--full", "--no-dangling") == ""
    assert git(spec.worktree, "show", f"{old}:answer.txt") == "wrong"


@pytest.mark.field_report("GIT-023")
def test_no_mirror_is_packed_while_a_run_is_under_way(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    yard.run()
    monkeypatch.setattr(mirrors, "LOOSE_FROM", 1)
    [state] = yard.sweep(apply=True).mirrors
    assert "left alone while runs are under way" in state.note
    assert state.loose_before is None


@pytest.mark.field_report("GIT-024")
def test_what_a_killed_maintenance_left_is_removed_and_reported_and_the_effect_is_measured(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = yard.run()
    yard.publish(spec)
    mirror = spec.repo.mirror
    stale = [
        age(yard, mirror / name, 2 * DAY_S)
        for name in ("objects/maintenance.lock", "gc.pid", "packed-refs.lock", "objects/pack/tmp_pack_x1")
    ]
    fresh = age(yard, mirror / "objects" / "info" / "commit-graph.lock", 60)
    monkeypatch.setattr(mirrors, "LOOSE_FROM", 5)
    loosen(mirror, 10)
    [state] = yard.sweep(apply=True).mirrors
    assert sorted(state.removed) == sorted(str(path.relative_to(mirror)) for path in stale)
    assert not any(path.exists() for path in stale)
    assert fresh.exists()
    assert "belongs to a process that works now" in state.note
    assert (state.loose, state.garbage) == (0, 0)
    [again] = yard.sweep(apply=True).mirrors
    assert again.removed == ()


@pytest.mark.field_report("GIT-024")
def test_a_lock_that_a_process_has_open_is_left_alone(yard: Yard) -> None:
    spec = yard.run()
    yard.publish(spec)
    lock = age(yard, spec.repo.mirror / "objects" / "maintenance.lock", 2 * DAY_S)
    with lock.open("rb"):
        os.utime(lock, (0, 0))
        [state] = yard.sweep(apply=True).mirrors
    assert lock.exists()
    assert f"process {os.getpid()}" in state.note


@pytest.mark.field_report("GIT-024")
def test_a_git_that_says_yes_and_does_nothing_is_told(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = yard.run()
    yard.publish(spec)
    loosen(spec.repo.mirror, 10)
    monkeypatch.setattr(mirrors, "LOOSE_FROM", 5)
    run = Git.run

    def lazy(self: Git, *args: str, **where: object) -> bytes:
        return b"" if args[0] == "repack" else run(self, *args, **where)  # type: ignore[arg-type]

    monkeypatch.setattr(Git, "run", lazy)
    [state] = yard.sweep(apply=True).mirrors
    assert "did nothing" in state.note


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.field_report("GIT-021", "GIT-020")
def test_sixteen_starts_at_once_each_get_the_tip_they_asked_for_while_the_remote_moves(
    yard: Yard,
) -> None:
    """Each gets a tip no older than the one at its start and no newer than the one at its end."""
    rounds = 20
    spec = yard.run()
    remote = yard.repo.remote
    bases = [f"line-{number}" for number in range(4)]
    # Made before anything is pushed, so that the order of the tips is known whoever looks when.
    tips = {
        base: [
            commit_files(remote, f"made-of-{base}", {"turn.txt": f"{base} {turn}\n"})
            for turn in range(rounds + 1)
        ]
        for base in bases
    }

    def push_all(turn: int) -> None:
        for base in bases:
            git(remote, "update-ref", f"refs/heads/{base}", tips[base][turn])

    def tip(base: str) -> int:
        return tips[base].index(git(remote, "rev-parse", f"refs/heads/{base}"))

    def start(number: int) -> tuple[int, int, int]:
        base = bases[number % len(bases)]
        wanted = spec.model_copy(update={"repo": spec.repo.model_copy(update={"base": base})})
        first = tip(base)
        chosen, sha = replace(yard.host).fetch(wanted)
        assert chosen.name == base
        return first, tips[base].index(sha), tip(base)

    push_all(0)
    for turn in range(1, rounds + 1):
        with ThreadPoolExecutor(17) as pool:
            pusher = pool.submit(push_all, turn)
            for first, got, last in pool.map(start, range(16)):
                assert first <= got <= last
            pusher.result()
    for number, base in enumerate(bases):
        assert start(number) == (rounds, rounds, rounds), base
    assert not (spec.repo.mirror / "FETCH_HEAD").exists()


@pytest.mark.field_report("GIT-020")
def test_a_fetch_that_loses_a_race_for_a_ref_is_tried_again_and_no_failure(
    yard: Yard, tmp_path: Path
) -> None:
    spec = yard.run()
    shim, count = tmp_path / "bin" / "git", tmp_path / "count"
    shim.parent.mkdir()
    real = subprocess.run(["which", "git"], capture_output=True, text=True, check=True).stdout.strip()
    said = "error: cannot lock ref 'refs/autopilot/incoming': is at 1111 but expected 2222"
    write_named(
        shim,
        "import os, sys, pathlib\n"
        f"mark = pathlib.Path({str(count)!r})\n"
        "if 'fetch' in sys.argv and not mark.exists():\n"
        f"    mark.touch(); sys.stderr.write({said!r} + '\\n'); sys.exit(1)\n"
        f"os.execv({real!r}, ['git', *sys.argv[1:]])\n",
    )
    base = {**os.environ, "PATH": f"{shim.parent}:{os.environ['PATH']}"}
    own, network = yard.host.git, replace(yard.host.network, base=base)
    remote = look_at(network, spec.repo.url)
    sha = fetch_base(
        own,
        network,
        spec.repo,
        base=choose_base(spec.repo, remote),
        remote=remote,
        on_lock_removed=lambda _: None,
    )
    assert count.exists()
    assert sha == yard.repo.base_sha


def test_a_repository_that_is_not_configured_any_more_is_told_of(yard: Yard) -> None:
    spec = yard.run()
    spec.repo.mirror.rename(spec.repo.mirror.with_name("gone.git"))
    [item] = [item for item in yard.sweep().kept if item.kind == "mirror"]
    assert "not configured any more" in item.why
