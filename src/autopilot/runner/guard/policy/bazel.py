"""Bazel.

Must not accept orders that the run wrote itself, or a program for the tool to run.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING

from autopilot.runner.guard.policy.forms import Call, Form, Policy, same
from autopilot.runner.guard.verdict import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

_BAZEL_FLAGS = (
    "--config=word --test_output=word --jobs=number --keep_going --test_filter=text "
    "--nocache_test_results -c:word"
)
_QUERY = re.compile(
    r"(deps|rdeps|allpaths|somepath|kind|attr|filter|labels|tests|buildfiles|set)"
    r"\([A-Za-z0-9_/.:@+*() ,\"'^-]*\)"
)
_BAZEL_FILES = ("build", "build.bazel", "workspace", "workspace.bazel", "module.bazel", "*.bzl", ".bazelrc")
_LABEL = re.compile(r"-?(@[A-Za-z0-9_]+)?//[A-Za-z0-9_/.:+-]*|:[A-Za-z0-9_.-]+|\.\.\.")


def _bazel(call: Call) -> None:
    name = call.args[0].text if call.args else ""
    if name not in {"build", "test", "query"}:
        raise Refused("subcommand", "bazel build, test and query")
    call.act.unchanged(_BAZEL_FILES, call.name)
    for word in Form(_BAZEL_FLAGS, "text+").read(call.after(1)).operands:
        if name == "query" and _QUERY.fullmatch(word.text):
            continue
        if not _LABEL.fullmatch(word.text):
            raise Refused("operand", f"{word.text!r} is no label")


PROGRAMS: Mapping[str, Policy] = MappingProxyType({**same(_bazel, "bazel", "bazelisk")})
