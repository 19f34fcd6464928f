from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from autopilot.config import proc, secrets
from autopilot.config.clock import SystemClock
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
    (tmp_path / "ask.py").write_text(IN_A_SESSION)
    # The daemon must be the first on its bus that is asked for secrets, or a locked one is started.
    script = (
        "printf pw | gnome-keyring-daemon --unlock --components=secrets --daemonize >/dev/null 2>&1; "
        f'exec "{sys.executable}" ask.py'
    )
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "XDG_RUNTIME_DIR": str(tmp_path),
        "PYTHONPATH": str(ROOT / "src"),
    }
    ended = proc.run(
        ["dbus-run-session", "--", "sh", "-c", script],
        cwd=tmp_path,
        env=env,
        output=tmp_path / "out",
        stderr=tmp_path / "err",
        clock=SystemClock(),
        wall_s=60,
        grace_s=1,
    )
    told = ended.tail.decode()
    assert told == "missing readable made-up missing None locked credential-locked\n", (
        ended.stderr_tail.decode()
    )


def test_only_named_key_rings_are_ever_opened() -> None:
    source = (ROOT / "src/autopilot/config/secrets.py").read_text()
    for word in ("get_keyring", "set_keyring", "chainer", "keyrings.alt", "import keyring\n"):
        assert word not in source
