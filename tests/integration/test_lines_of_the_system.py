"""Lines that ask the system itself: a real key ring, unlocked and locked; a sleep lock, read back."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from autopilot.config import proc
from autopilot.config.clock import SystemClock
from autopilot.daemon.checkup import power
from tests.support.key_ring import said_in_a_session
from tests.support.repo_traps import write_script
from tests.support.tree import ROOT

CLOCK = SystemClock()
IN_A_SESSION = """
import keyring.backends.SecretService as service
import secretstorage
from autopilot.daemon.checkup import configured, who
def tell():
    line = configured.credential("web", who.ours())
    print(line.verdict.value, "|", line.evidence, "|", line.cure.replace("\\n", " "))
tell()
service.Keyring().set_password("autopilot", "web", "made-up-value")
tell()
secretstorage.get_default_collection(secretstorage.dbus_init()).lock()
tell()
"""


@pytest.mark.covers("C01", "C03", "C08")
@pytest.mark.needs(binary="gnome-keyring-daemon", apt="gnome-keyring")
@pytest.mark.needs(binary="dbus-run-session", apt="dbus-daemon")
@pytest.mark.skipif(sys.platform != "linux", reason="the Secret Service is Linux only")
def test_a_real_key_ring_is_a_go_when_open_and_two_different_no_goes_when_not(tmp_path: Path) -> None:
    told = said_in_a_session(tmp_path, IN_A_SESSION)
    missing, readable, locked = told.splitlines()
    assert missing.startswith("no-go | is missing |")
    assert "keyring set autopilot web" in missing
    assert readable.startswith("go | is there and can be read |")
    assert locked.startswith("no-go | is locked |")
    assert "unlock the key ring" in locked
    assert "made-up-value" not in told


@pytest.mark.parametrize(("desktop", "names_kwallet"), [("GNOME", False), ("plasma:KDE", True)])
def test_without_a_session_the_refusal_says_that_there_is_no_key_ring_and_what_stands_in(
    tmp_path: Path, desktop: str, *, names_kwallet: bool
) -> None:
    script = (
        "from autopilot.daemon.checkup import configured, who\n"
        "line = configured.credential('web', who.ours())\n"
        "print(line.verdict.value, line.evidence, line.cure)\n"
    )
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nowhere",
        "XDG_CURRENT_DESKTOP": desktop,
        "PYTHONPATH": str(ROOT / "src"),
    }
    ended = proc.run(
        [sys.executable, "-P", "-c", script],
        cwd=tmp_path,
        env=env,
        output=tmp_path / "out",
        clock=CLOCK,
        wall_s=60,
    )
    told = ended.tail.decode()
    assert told.startswith("no-go ")
    assert "no key ring can be reached" in told
    assert "AUTOPILOT_SECRET_WEB" in told
    assert ("KWallet" in told) is names_kwallet


class TestSleepLock:
    @pytest.mark.skipif(sys.platform != "linux", reason="caffeinate has a test of its own")
    @pytest.mark.parametrize("lists", [True, False])
    def test_a_lock_counts_only_when_the_system_lists_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lists: bool
    ) -> None:
        """The stand-in gives every lock, as the real program does without polkit's refusal."""
        held = tmp_path / "held"
        held.touch()
        note = (
            f'echo "autopilot 0 root 1 tail sleep:idle ${{word#--why=}} block" > "{held}"' if lists else ":"
        )
        write_script(
            tmp_path / "systemd-inhibit",
            f'#!/bin/sh\nif [ "$1" = --list ]; then cat "{held}"; exit 0; fi\n'
            f'for word; do case "$word" in --why=*) {note} ;; esac; done\n'
            'while [ "${1#--}" != "$1" ]; do shift; done\nexec "$@"\n',
        )
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        line = power.sleep_lock(CLOCK)
        assert line.verdict == ("go" if lists else "warning"), line
        assert ("and lists it" if lists else "does not list it") in line.evidence

    @pytest.mark.field_report("DMN-036")
    def test_a_machine_without_the_program_is_a_warning_with_the_reason(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("autopilot.config.environ._USUAL_FOLDERS", ())
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.setenv("HOME", str(tmp_path))
        line = power.sleep_lock(CLOCK)
        assert (line.verdict, bool(line.cure)) == ("warning", True)
        assert "is not installed" in line.evidence


def test_what_logind_does_when_the_lid_closes_is_asked_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stand-in answers as busctl does; a container has neither logind nor a lid."""
    write_script(
        tmp_path / "busctl",
        '#!/bin/sh\nfor word; do :; done\ncase "$word" in\n'
        'HandleLidSwitchExternalPower) echo \'{"type":"s","data":"ignore"}\' ;;\n'
        'HandleLidSwitch) echo \'{"type":"s","data":"suspend"}\' ;;\nesac\n',
    )
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert power.lid_action(CLOCK, is_on_mains=True) == "ignore"
    assert power.lid_action(CLOCK, is_on_mains=False) == "suspend"
    write_script(tmp_path / "busctl", "#!/bin/sh\necho 'Failed to connect' >&2\nexit 1\n")
    assert power.lid_action(CLOCK, is_on_mains=True) is None
