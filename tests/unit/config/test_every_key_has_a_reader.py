"""A setting that nothing reads is a promise that nobody keeps."""

from __future__ import annotations

import re

import pytest

from autopilot.config.keys import known_keys
from tests.architecture.source import SRC
from tests.support.tree import ROOT, tree_files

# How a key is read outside of config, where that is not by its own name below its table.
# `Settings.limits()`, `.agent()` and `.repo()` hand values on under these names.
READ_AS = {
    **{f"timeouts.{key}": rf"limits\.{key}\b" for key in ("wall_s", "silence_s", "no_progress_s")},
    **{f"timeouts.{key}": rf"(limits|timeouts)\.{key}\b" for key in ("gate_s", "git_s", "kill_grace_s")},
    "run_ceiling_usd": r"\.run_ceiling_(usd|micro_usd)\b",
    "identity.name": r"identity\.name\b",
    "identity.email": r"identity\.email\b",
    "identity.username": r"(identity|settings)\.(username|identity)\b",
    **{
        f"agents.<name>.{key}": rf"(agent|spec)\.{key}\b"
        for key in ("kind", "argv", "model", "billing", "script", "api", "broker", "base_url_env", "key_env")
    },
    "agents.<name>.env_pass": r"agent\.env_pass\b",
    **{
        f"prices.<name>.{key}_usd_per_mtok": r"agent\.prices\b"
        for key in ("input", "output", "cache_read", "cache_write")
    },
    **{f"phase_budgets.{key}_tokens": r"limits\.phase_tokens\b" for key in ("plan", "dev", "review")},
    **{f"intake.{key}": r"intake\.trust\(\)" for key in ("trusted_associations", "trusted_authors")},
    **{
        f"sandbox.{key}": rf"spec\.{key}\b"
        for key in ("readable", "nested", "memory_mib", "max_processes", "cpu_percent", "disk_mib")
    },
    **{
        f"channels.<name>.{key}": rf"(known|channel)\.{key}\b"
        for key in ("kind", "argv", "credential", "format", "limit_s")
    },
    **{
        f"tracker.<name>.{key}": rf"tracker\.{key}\b"
        for key in ("kind", "url", "site", "account", "credential", "projects")
    },
    "repo.name": r"repo\.name\b",
    "repo.path": r"\.fetch_from\b",
    "repo.url": r"\.fetch_from\b",
    "repo.push_url": r"\.push_to\b",
    **{
        f"repo.{key}": rf"(repo|repository|configured)\.{key}\b"
        for key in ("base", "agent", "forge", "project", "api_url", "credential", "env_pass")
    },
}
KEYS = sorted(key.dotted for key in known_keys())


@pytest.fixture(scope="module")
def sources() -> dict[str, str]:
    """The text of every module outside of config, by its path."""
    ours = (f"{SRC}/config/", f"{SRC}/schemas/")
    found = [name for name in tree_files() if name.suffix == ".py" and name.as_posix().startswith(f"{SRC}/")]
    return {
        name.as_posix(): (ROOT / name).read_text(encoding="utf-8")
        for name in found
        if not name.as_posix().startswith(ours)
    }


@pytest.mark.parametrize("dotted", KEYS)
def test_every_key_reaches_a_reader_outside_of_config(dotted: str, sources: dict[str, str]) -> None:
    table, _, name = dotted.rpartition(".")
    pattern = READ_AS.get(dotted, rf"{re.escape(table)}\.{name}\b" if table else rf"settings\.{name}\b")
    found = [path for path, text in sources.items() if re.search(pattern, text)]
    assert found, f"nothing reads {dotted}"


def test_the_table_names_only_keys_that_exist() -> None:
    assert set(READ_AS) <= set(KEYS)
