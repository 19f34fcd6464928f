from __future__ import annotations

import json

import pytest

from autopilot.runner.stacks import node_facts
from autopilot.runner.stacks.tree import Tree
from tests.support.memory_tree import memory_tree


def manifest(**scripts: object) -> Tree:
    return memory_tree({"package.json": json.dumps({"scripts": scripts})})


@pytest.mark.parametrize(
    ("script", "argv", "env"),
    [
        ("node --test", ["node", "--test"], {}),
        ("node --test tests/*.test.js", ["node", "--test", "tests/*.test.js"], {}),
        ("node --import tsx --test 'a b.js'", ["node", "--import", "tsx", "--test", "a b.js"], {}),
        ("NODE_ENV=test TZ='a b' node --test", ["node", "--test"], {"NODE_ENV": "test", "TZ": "a b"}),
        ("cross-env NODE_ENV=test node --test", ["node", "--test"], {"NODE_ENV": "test"}),
        ("c8 node --test", ["c8", "node", "--test"], {}),
    ],
)
def test_a_script_that_runs_the_test_runner_of_node_is_understood(
    script: str, argv: list[str], env: dict[str, str]
) -> None:
    found = node_facts.test_invocation(manifest(test=script))
    assert found is not None
    assert (list(found.argv), dict(found.env)) == (argv, env)


@pytest.mark.parametrize(
    "script",
    [
        "jest",
        "vitest run",
        "mocha",
        "node test.js",
        "node --test; true",
        "node --test || true",
        "node --test | tee x",
        "node --test > out",
        "node --test && echo ok",
        "node --test $(cat x)",
        "node --test `x`",
        "(node --test)",
        "node --test 'x",
        "node --test\ntrue",
        "node --test $X",
        "tsc --test node",
    ],
)
def test_a_script_that_does_something_else_is_not_guessed_at(script: str) -> None:
    assert node_facts.test_invocation(manifest(test=script)) is None


def test_the_placeholder_that_npm_writes_is_no_test_script() -> None:
    tree = manifest(test='echo "Error: no test specified" && exit 1')
    assert node_facts.script(tree, "test") == ""
    assert node_facts.test_invocation(tree) is None


def test_without_a_script_files_that_use_the_test_module_of_node_are_enough() -> None:
    tree = memory_tree({"package.json": "{}", "test/a.test.mjs": 'import { test } from "node:test";'})
    found = node_facts.test_invocation(tree)
    assert found is not None
    assert list(found.argv) == ["node", "--test"]
    assert node_facts.test_invocation(memory_tree({"package.json": "{}", "test/a.test.js": "it()"})) is None


@pytest.mark.parametrize(
    "text", ["", "[]", "3", "{", '{"scripts": 3}', '{"scripts": {"test": 3}}', "[" * 100_000]
)
def test_a_manifest_that_makes_no_sense_names_no_script(text: str) -> None:
    assert node_facts.script(memory_tree({"package.json": text}), "test") == ""


@pytest.mark.parametrize(
    ("lock", "expected"),
    [
        ({"packages": {"": {}}}, False),
        ({"packages": {"": {}, "node_modules/a": {}}}, True),
        ({"dependencies": {"a": {}}}, True),
        ({"dependencies": {}}, False),
        ({}, False),
    ],
)
def test_a_lock_file_counts_when_it_names_a_package(lock: dict[str, object], expected: bool) -> None:
    assert node_facts.has_locked_packages(memory_tree({"package-lock.json": json.dumps(lock)})) is expected


def test_a_lock_file_too_large_to_read_surely_names_a_package() -> None:
    assert node_facts.has_locked_packages(memory_tree({"package-lock.json": b" " * (1024 * 1024 + 1)}))
    assert not node_facts.has_locked_packages(memory_tree({"package.json": "{}"}))
