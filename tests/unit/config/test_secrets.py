from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import pytest

from autopilot.config import environ, secrets
from tests.support.key_ring import said_in_a_session
from tests.support.tree import ROOT


@pytest.fixture
def no_key_ring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere")
    for name in [name for name in os.environ if name.startswith(secrets.VARIABLE_PREFIX)]:
        monkeypatch.delenv(name)


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS always has its key ring")
@pytest.mark.usefixtures("no_key_ring")
def test_without_a_key_ring_there_is_no_credential_and_nothing_in_plain_text_is_tried() -> None:
    assert (secrets.status("github-web"), secrets.read("github-web")) == ("no-backend", None)


@pytest.mark.usefixtures("no_key_ring")
def test_a_variable_stands_in_for_the_key_ring(monkeypatch: pytest.MonkeyPatch) -> None:
    assert secrets.variable_for("github-web.2") == "AUTOPILOT_SECRET_GITHUB_WEB_2"
    monkeypatch.setenv("AUTOPILOT_SECRET_GITHUB_WEB", "made-up")
    assert (secrets.status("github-web"), secrets.read("github-web")) == ("readable", "made-up")


IN_A_SESSION = """
import keyring.backends.SecretService as service
from autopilot.config import secrets
told = [secrets.status("web")]
service.Keyring().set_password("autopilot", "web", "made-up")
told += [secrets.status("web"), secrets.read("web"), secrets.status("other"), str(secrets.read("other"))]
import secretstorage
secretstorage.get_default_collection(secretstorage.dbus_init()).lock()
told += [secrets.status("web")]
try:
    secrets.read("web")
except secrets.ConfigError as error:
    told += [error.code]
print(*told)
"""


@pytest.mark.covers("C03", "C04")
@pytest.mark.needs(binary="gnome-keyring-daemon", apt="gnome-keyring")
@pytest.mark.needs(binary="dbus-run-session", apt="dbus-daemon")
@pytest.mark.skipif(sys.platform != "linux", reason="the Secret Service is Linux only")
def test_a_real_key_ring_tells_readable_missing_and_locked_apart(tmp_path: Path) -> None:
    told = said_in_a_session(tmp_path, IN_A_SESSION)
    assert told == "missing readable made-up missing None locked credential-locked\n"


def test_only_named_key_rings_are_ever_opened() -> None:
    source = (ROOT / "src/autopilot/config/secrets.py").read_text()
    for word in ("get_keyring", "set_keyring", "chainer", "keyrings.alt", "import keyring\n"):
        assert word not in source


@pytest.mark.covers("C07")
@pytest.mark.parametrize("for_agent", [True, False])
def test_a_run_reaches_neither_the_key_ring_nor_what_stands_in_for_it(
    tmp_path: Path, for_agent: bool
) -> None:
    base = {
        "PATH": "/usr/bin",
        "DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/user/1000/bus",
        "XDG_RUNTIME_DIR": "/run/user/1000",
        "AUTOPILOT_SECRET_GH": "made-up",
    }
    build = environ.agent_environment if for_agent else environ.child_environment
    seen = build(base, home=tmp_path, passed=tuple(base))
    if for_agent:
        seen |= environ.agent_environment(base, home=tmp_path, own=tuple(base))
    assert not {"DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "AUTOPILOT_SECRET_GH"} & seen.keys()
    assert "made-up" not in seen.values()


def test_the_command_that_stores_a_credential_can_be_typed_wherever_the_program_lies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "executable", "/opt/a folder/bin/python")
    command, _, variable = secrets.stored_by("github").partition(", or set ")
    assert shlex.split(command) == ["/opt/a folder/bin/python", "-m", "keyring", "set", "autopilot", "github"]
    assert variable == secrets.variable_for("github")
