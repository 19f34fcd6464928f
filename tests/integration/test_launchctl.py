"""Every command to launchd, against a stand-in that keeps what is loaded as launchd does."""

from __future__ import annotations

from pathlib import Path

import pytest

from autopilot.config.clock import SystemClock
from autopilot.launchd import files, plists
from autopilot.launchd.launchctl import Launchctl
from autopilot.schemas.errors import RefusedError
from tests.support.repo_traps import write_script
from tests.unit.launchd.services import ODD

# Exit codes and texts as launchctl(1) and `launchctl error` tell them.
STAND_IN = r"""
loaded=$(dirname "$0")/loaded; mkdir -p "$loaded"; echo "$*" >>"$(dirname "$0")/log"
label=${2##*/}
case $1 in
print)
    [ "$2" != "gui/$(id -u)" ] || exit 0
    [ -e "$loaded/$label" ] || { echo "Could not find service" >&2; exit 113; }
    state=$(cat "$loaded/$label"); pid=
    if [ "$state" = running ]; then pid='\tpid = 999999\n'; fi
    printf "%s = {\n\tstate = %s\n$pid\truns = 3\n\tlast exit code = 70\n}\n" "$2" "$state" ;;
bootstrap)
    label=$(basename "$3" .plist)
    [ -e "$3" ] || { echo "Bootstrap failed: 5: Input/output error" >&2; exit 5; }
    [ ! -e "$loaded/$label" ] || { echo "Bootstrap failed: 37: already loaded" >&2; exit 37; }
    state=waiting; if grep -A1 RunAtLoad "$3" | grep -q true; then state=running; fi
    echo $state >"$loaded/$label" ;;
kill) label=${3##*/}; [ ! -e "$loaded/$label" ] || echo waiting >"$loaded/$label" ;;
bootout)
    [ -e "$loaded/$label" ] || { echo "Boot-out failed: 3: No such process" >&2; exit 3; }
    rm "$loaded/$label" ;;
kickstart) [ -e "$loaded/$label" ] || exit 113; echo running >"$loaded/$label" ;;
getenv) [ "$2" != KNOWN ] || echo value ;;
esac
"""


@pytest.fixture
def launchctl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Launchctl:
    write_script(tmp_path / "bin" / "launchctl", STAND_IN)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    monkeypatch.setenv("HOME", str(tmp_path))
    return Launchctl(SystemClock())


def said(tmp_path: Path) -> list[str]:
    """The commands that change something, in order."""
    log = tmp_path / "bin" / "log"
    lines = log.read_text().splitlines() if log.exists() else []
    log.unlink(missing_ok=True)
    return [line.replace(str(tmp_path), "~") for line in lines if not line.startswith("print")]


def install(launchctl: Launchctl) -> None:
    planned = files.plan(launchctl, launchctl.files(ODD))
    files.write(planned)
    launchctl.take_up(is_changed=any(file.act != "same" for file in planned))


@pytest.mark.covers("D06")
def test_a_job_is_bootstrapped_once_and_again_only_when_its_list_changed(
    launchctl: Launchctl, tmp_path: Path
) -> None:
    import os

    domain = f"gui/{os.getuid()}"
    first, again = [], []
    for label in (plists.DAEMON, plists.AWAKE):
        loaded = [f"enable {domain}/{label}", f"bootstrap {domain} ~/Library/LaunchAgents/{label}.plist"]
        first += loaded
        again += [f"bootout {domain}/{label}", *loaded]
    install(launchctl)
    assert said(tmp_path) == first
    install(launchctl)
    assert said(tmp_path) == []
    launchctl.take_up(is_changed=True)
    assert said(tmp_path) == again


def test_a_job_is_started_by_kickstart_and_one_that_was_booted_out_is_loaded_first(
    launchctl: Launchctl, tmp_path: Path
) -> None:
    install(launchctl)
    said(tmp_path)
    launchctl.start()
    assert [line.split()[0] for line in said(tmp_path)] == ["kickstart"]
    launchctl.let_go()
    assert [line.split()[0] for line in said(tmp_path)] == ["bootout", "bootout"]
    launchctl.start()
    assert [line.split()[0] for line in said(tmp_path)] == ["bootstrap", "kickstart"]


@pytest.mark.field_report("DMN-047")
def test_what_print_says_is_read(launchctl: Launchctl) -> None:
    assert launchctl.standing().state == "absent"
    install(launchctl)
    standing = launchctl.standing()
    assert (standing.state, standing.restarts, standing.result) == ("running", 2, "last exit code 70")
    assert launchctl.refusal() == ""
    assert (launchctl.knows("KNOWN"), launchctl.knows("UNKNOWN")) == (True, False)


@pytest.mark.covers("D01", "D04")
def test_the_awake_job_runs_from_on_to_off_and_stays_loaded(launchctl: Launchctl, tmp_path: Path) -> None:
    launchctl.keep_awake(is_wanted=True)
    assert said(tmp_path) == []  # not installed
    assert not launchctl.is_awake()
    install(launchctl)
    said(tmp_path)
    launchctl.keep_awake(is_wanted=True)
    assert launchctl.is_awake()
    launchctl.keep_awake(is_wanted=False)
    assert not launchctl.is_awake()
    assert [line.split()[0] for line in said(tmp_path)] == ["kickstart", "kill"]
    launchctl.let_go()
    said(tmp_path)
    launchctl.keep_awake(is_wanted=True)
    assert [line.split()[0] for line in said(tmp_path)] == ["bootstrap", "kickstart"]


def test_a_bootstrap_that_fails_says_what_5_can_mean(launchctl: Launchctl) -> None:
    with pytest.raises(RefusedError) as caught:
        launchctl.take_up(is_changed=True)
    assert "Bootstrap failed: 5" in caught.value.what
    assert "print-disabled" in caught.value.hint


def test_no_load_and_no_unload(launchctl: Launchctl, tmp_path: Path) -> None:
    install(launchctl)
    launchctl.let_go()
    assert not {line.split()[0] for line in said(tmp_path)} & {"load", "unload"}


def test_nothing_is_left_and_a_foreign_list_is_not_ours(launchctl: Launchctl, tmp_path: Path) -> None:
    install(launchctl)
    present = files.ours(launchctl, launchctl.names)
    assert [path.name for path in present] == [f"{plists.DAEMON}.plist", f"{plists.AWAKE}.plist"]
    assert launchctl.home_of(present[0].read_bytes()) == ODD.variables["AUTOPILOT_HOME"]
    launchctl.let_go()
    files.remove(present)
    assert list((tmp_path / "Library" / "LaunchAgents").iterdir()) == []
    (tmp_path / "Library" / "LaunchAgents" / f"{plists.DAEMON}.plist").write_text("<plist>")
    with pytest.raises(RefusedError):
        files.plan(launchctl, launchctl.files(ODD))


def test_without_a_graphical_session_there_is_no_domain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_script(
        tmp_path / "bin" / "launchctl", 'echo "Domain does not support specified action" >&2; exit 125\n'
    )
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    assert "Domain does not support" in Launchctl(SystemClock()).refusal()
