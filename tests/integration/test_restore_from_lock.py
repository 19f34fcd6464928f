"""A real npm restores through the cell what the lock file of the base commit names, and from nowhere else."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from autopilot.config.clock import SystemClock
from autopilot.runner.gates.run import run_gates
from autopilot.runner.sandbox.registry import open_sandbox
from autopilot.schemas.cell import SandboxSpec
from autopilot.schemas.events import Event
from autopilot.schemas.gate import Verdict, ungreen
from autopilot.schemas.network import NetworkSpec
from tests.support.gate_runs import SYSTEM_PATH, Bench, bench, listener
from tests.support.registry import HOST, Registry

pytestmark = [
    pytest.mark.needs(binary="bwrap", apt="bubblewrap"),
    pytest.mark.needs(binary="npm", apt="npm"),
    pytest.mark.needs(binary="openssl", apt="openssl"),
]

MANIFEST = {
    "name": "shop",
    "version": "1.0.0",
    "scripts": {"test": "node --test"},
    "dependencies": {"left": "1.0.0"},
}
PROJECT = {
    "package.json": json.dumps(MANIFEST),
    "test/a.test.js": 'require("node:test").test("a", () => { require("left"); });\n',
}
FROM_LOCK = NetworkSpec(registry_from_lock=True, internal_hosts=(HOST,))


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with Registry(tmp_path) as registry:
        yield registry


def project(registry: Registry, tarball: str | None = None) -> dict[str, str]:
    return {**PROJECT, "package-lock.json": registry.npm_lock(tarball)}


def gates(there: Bench, registry: Registry, **changes: Any) -> dict[str, tuple[Verdict, str]]:  # noqa: ANN401
    """Run them with the registry's certificate in the environment; give each one's verdict and reason."""
    sandbox = open_sandbox(SandboxSpec(readable=(registry.certificate,)), SystemClock())
    context = there.context(path=SYSTEM_PATH, sandbox=sandbox)
    env = {**context.env, "npm_config_cafile": str(registry.certificate)}
    records = run_gates(replace(context, env=env, **changes))
    assert records
    if "network" in changes and not ungreen(records, head=there.head_sha):
        assert registry.asked
    return {record.gate: (record.verdict, record.reason) for record in records}


def hosts_of(heard: list[tuple[Event, Mapping[str, object]]], event: Event, key: str) -> list[object]:
    return [facts[key] for name, facts in heard if name is event]


@pytest.mark.covers("I07")
def test_what_the_base_commits_lock_file_names_is_restored_from_there(
    tmp_path: Path, registry: Registry
) -> None:
    heard, listen = listener()
    there = bench(tmp_path / "b", project(registry))
    verdicts = gates(there, registry, network=FROM_LOCK, on_event=listen)
    assert {verdict for verdict, _ in verdicts.values()} <= {Verdict.PASSED, Verdict.NOT_APPLICABLE}, verdicts
    assert verdicts["test-summary"][0] is Verdict.PASSED
    assert registry.asked == ["/left/-/left-1.0.0.tgz"]
    named = {f"{HOST}:{registry.server_port}": "package-lock.json"}
    assert hosts_of(heard, Event.SETUP_STARTED, "named") == [named]


def test_a_host_that_only_the_branch_names_is_not_reached(tmp_path: Path, registry: Registry) -> None:
    heard, listen = listener()
    other = f"https://other.example:{registry.server_port}/left/-/left-1.0.0.tgz"
    there = bench(tmp_path / "b", project(registry), base=project(registry, other))
    verdicts = gates(there, registry, network=FROM_LOCK, on_event=listen)
    assert {verdict for verdict, _ in verdicts.values()} == {Verdict.ERROR}
    assert f"CONNECT {HOST}:{registry.server_port} (host)" in verdicts["build"][1]
    assert registry.asked == []
    assert set(hosts_of(heard, Event.NETWORK_REFUSED, "host")) == {HOST}


def test_an_operator_may_list_every_host_by_hand(tmp_path: Path, registry: Registry) -> None:
    there = bench(tmp_path / "b", project(registry))
    by_hand = NetworkSpec(registry_hosts=("packages.example",), internal_hosts=(HOST,))
    verdicts = gates(there, registry, network=by_hand)
    assert {verdict for verdict, _ in verdicts.values()} == {Verdict.ERROR}
    assert registry.asked == []


def test_a_private_address_is_not_reached_because_a_lock_file_names_it(
    tmp_path: Path, registry: Registry
) -> None:
    heard, listen = listener()
    there = bench(tmp_path / "b", project(registry))
    gates(there, registry, network=NetworkSpec(registry_from_lock=True), on_event=listen)
    assert registry.asked == []
    assert set(hosts_of(heard, Event.NETWORK_REFUSED, "code")) == {"private-address"}
