"""A disk that is full while a gate or an agent runs says nothing of the work: it is tried again by name."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from autopilot.config.clock import SystemClock
from autopilot.config.shortage import shortage
from autopilot.daemon.checkup import base, remembered
from autopilot.runner import verify
from autopilot.runner.gates.run import measure_baseline, run_gates
from autopilot.schemas.cell import SandboxSpec
from autopilot.schemas.errors import ExitCode, TransientError
from autopilot.schemas.gate import Verdict, ungreen
from autopilot.schemas.run import Outcome
from tests.support.disks import SmallDisk
from tests.support.gate_runs import Bench, bench
from tests.support.publication import BASE_FILES, FIX, make_publication
from tests.support.publisher import run_publisher
from tests.support.repos import commit_files, init_bare
from tests.support.runs import Host, run_here
from tests.support.scenes import limit, scene
from tests.support.small_project import small_project, small_repo
from tests.support.verifications import result_of, spec_of

pytestmark = pytest.mark.needs(binary="mount", apt="mount")

FILL = "dd if=/dev/zero of=fill bs=1M count=100 2> /dev/null\n"
"""Takes all that is left, as another program on the same disk would."""
FREE = "sleep 1\nrm fill\n"
GREEN = 'printf \'<testsuite tests="1"><testcase classname="a" name="b"/></testsuite>\' > report.xml\n'
CUT = "printf '<testsuite tests=\"1\"><testca' > report.xml\n"
RED = (
    'printf \'<testsuite tests="1"><testcase classname="a" name="b"><failure/></testcase></testsuite>\''
    " > report.xml\nexit 1\n"
)
SILENT = "exec 2> /dev/null\n" + FILL + GREEN
FULL = {
    "to the end": SILENT + "exit 0\n",
    "for a while": SILENT + FREE + "exit 0\n",
    "and it says so": FILL + GREEN + "exit 0\n",
}
OPEN = SandboxSpec(kind="none")
FEW = SandboxSpec(kind="none", disk_mib=20)


def project(check: str) -> dict[str, str]:
    return {**small_project().files, "check.sh": check, "answer.txt": "right\n"}


def gates(disk: SmallDisk, check: str) -> Bench:
    place = disk.folder / "bench"
    place.mkdir()
    return bench(place, project(check))


@pytest.mark.parametrize("check", FULL.values(), ids=FULL)
def test_a_report_that_was_cut_for_want_of_room_says_nothing_about_the_commit(
    disk: SmallDisk, check: str
) -> None:
    with pytest.raises(TransientError) as caught:
        run_gates(gates(disk, check).context())
    assert (caught.value.code, caught.value.hint) == ("disk-full", "free disk space")
    assert f"{disk.folder}/bench" in caught.value.what
    assert "bytes free, less than 5033164; " in caught.value.what


@pytest.mark.parametrize("check", FULL.values(), ids=FULL)
def test_tests_of_a_base_that_had_no_room_are_not_known_to_be_red(disk: SmallDisk, check: str) -> None:
    with pytest.raises(TransientError, match=r"the disk is full: .* bytes free"):
        measure_baseline(gates(disk, check).context())


@pytest.mark.parametrize(("check", "code"), [(CUT, "incomplete"), (RED, "tests-red")])
def test_with_room_a_cut_report_and_a_red_test_are_what_they_were(
    disk: SmallDisk, check: str, code: str
) -> None:
    disk.fill(leaving=6 << 20)
    found = {record.gate: record for record in run_gates(gates(disk, check).context())}
    assert (found["test-summary"].verdict, found["test-summary"].code) == (Verdict.FAILED, code)


def test_a_gate_that_was_whole_before_the_disk_was_full_is_green(disk: SmallDisk) -> None:
    context = gates(disk, GREEN + FILL + FREE).context()
    assert ungreen(run_gates(context), head=context.head.sha) == ()


def test_what_somebody_has_ended_is_no_fault_of_the_disk(disk: SmallDisk) -> None:
    context = gates(disk, FILL + "sleep 60\n").context(should_stop=lambda: "more than it may")
    codes = {record.code for record in run_gates(context) if record.gate == "test-summary"}
    assert codes == {"stopped"}


def test_of_two_red_gates_the_one_that_had_room_is_believed(disk: SmallDisk) -> None:
    files = {**project(FULL["to the end"]), "build.sh": "exit 1\n"}
    files[".autopilot.toml"] += 'build = ["sh", "build.sh"]\n'
    place = disk.folder / "bench"
    place.mkdir()
    context = bench(place, files).context()
    found = {record.gate: record for record in run_gates(context)}
    assert (found["build"].code, found["test-summary"].code) == ("build-red", "incomplete")


def touch(folder: Path, count: int) -> None:
    for number in range(count):
        (folder / str(number)).touch()


def test_no_entry_for_a_new_file_is_no_room(disk: SmallDisk, tmp_path: Path) -> None:
    assert shortage((disk.folder,)) is None
    subprocess.run(["mount", "-o", "remount,nr_inodes=20", str(disk.folder)], check=True)
    with pytest.raises(OSError, match="No space left"):
        touch(disk.folder, 30)
    short = shortage((tmp_path / "not there", disk.folder))
    assert short is not None
    assert str(short) == f"{disk.folder} has no entry free for a new file"


def test_a_run_whose_gates_had_no_room_gives_its_ticket_back(disk: SmallDisk, tmp_path: Path) -> None:
    host = Host(disk.folder / "state")
    steps: list[dict[str, object]] = [
        {"write": {"path": "answer.txt", "text": "right\n"}},
        {"write": {"path": "check.sh", "text": FULL["to the end"]}},
    ]
    result = run_here(host.spec(small_repo(tmp_path / "theirs"), host.agent(steps), sandbox=OPEN))
    assert (result.outcome, result.code) == (Outcome.INFRASTRUCTURE, "disk-full")
    assert "bytes free" in result.message


@pytest.mark.parametrize(
    ("code", "with_room"),
    [(1, (Outcome.AGENT_FAILED, "agent-failed-unknown")), (0, (Outcome.NO_CHANGES, "no-changes"))],
)
def test_an_agent_that_failed_or_changed_nothing_without_room_is_tried_again(
    disk: SmallDisk, tmp_path: Path, code: int, with_room: tuple[Outcome, str]
) -> None:
    theirs = small_repo(tmp_path / "theirs")
    end: list[dict[str, object]] = [{"exit": code}]
    room_for_the_result = "truncate -s -1M fill"
    fills: list[dict[str, object]] = [{"run": ["sh", "-c", f'cd "$TMPDIR"; {FILL}{room_for_the_result}']}]
    for name, steps, spec, ended in (
        ("a", end, OPEN, with_room),
        ("b", fills + end, OPEN, (Outcome.INFRASTRUCTURE, "disk-full")),
        ("c", fills + end, FEW, (Outcome.AGENT_FAILED, "resource-limit")),
    ):
        host = Host(disk.folder / name)
        result = run_here(host.spec(theirs, host.agent(steps), sandbox=spec))
        assert (result.outcome, result.code) == ended, result.message
        shutil.rmtree(disk.folder / name)


@pytest.mark.parametrize("check", [FULL["to the end"], FULL["and it says so"]])
def test_a_run_that_filled_the_disk_by_more_than_it_may_is_ended_for_that(
    disk: SmallDisk, tmp_path: Path, check: str
) -> None:
    host = Host(disk.folder / "state")
    steps: list[dict[str, object]] = [{"write": {"path": "check.sh", "text": check}}]
    result = run_here(host.spec(small_repo(tmp_path / "theirs"), host.agent(steps), sandbox=FEW))
    assert (result.outcome, result.code) == (Outcome.AGENT_FAILED, "resource-limit")
    place = disk.folder / "verify"
    place.mkdir()
    spec = spec_of(place, project(check)).model_copy(update={"sandbox": FEW})
    found = result_of(spec)
    assert (found.code, found.gates) == ("resource-limit", ())


def test_a_verification_without_room_says_so(disk: SmallDisk) -> None:
    place = disk.folder / "verify"
    place.mkdir()
    spec = spec_of(place, project(FULL["to the end"]))
    found = result_of(spec)
    assert (found.code, found.gates) == ("disk-full", ())
    assert "bytes free" in found.error
    disk.fill()  # now it cannot even check the commit out
    assert (again := result_of(spec)).code == "disk-full", again


@pytest.mark.slow
@pytest.mark.parametrize("check", FULL.values(), ids=FULL)
def test_a_publication_whose_gates_have_no_room_is_put_off(
    disk: SmallDisk, tmp_path: Path, check: str
) -> None:
    remote = init_bare(tmp_path / "remote.git")
    commit_files(remote, "main", BASE_FILES | {"check.sh": check})
    forge = {"kind": "local", "push_url": str(remote), "record_dir": str(tmp_path / "forge")}
    publication = make_publication(disk.folder, remote, forge, FIX)
    done = run_publisher(publication.with_spec(sandbox={"kind": "none"}))
    assert (done.verdict["outcome"], done.verdict["code"]) == ("publish-deferred", "disk-full"), done.output
    assert "bytes free" in done.verdict["message"]


@pytest.mark.slow
def test_a_publication_that_has_no_room_to_fetch_into_is_put_off(disk: SmallDisk, tmp_path: Path) -> None:
    remote = init_bare(tmp_path / "remote.git")
    files = {"large.bin": os.urandom(9 << 20)}
    commit_files(remote, "main", BASE_FILES)
    forge = {"kind": "local", "push_url": str(remote), "record_dir": str(tmp_path / "forge")}
    publication = make_publication(tmp_path, remote, forge, {**FIX, **files})
    disk.fill(leaving=8 << 20)
    done = run_publisher(publication.with_spec(workdir=str(disk.folder / "work"), sandbox={"kind": "none"}))
    assert (done.verdict["outcome"], done.verdict["code"]) == ("publish-deferred", "disk-full"), done.output
    checked = [event["check"] for event in done.events if event["event"] == "publish.checked"]
    assert "staging" not in checked, "no check came to an end after the fetch"


def test_a_verification_whose_result_finds_no_room_ends_with_later(disk: SmallDisk, tmp_path: Path) -> None:
    spec = spec_of(tmp_path, project(GREEN))
    spec_file = tmp_path / "spec.json"
    spec_file.write_text(spec.model_dump_json(), encoding="utf-8")
    disk.fill()
    with pytest.raises(TransientError, match="the disk is full") as caught:
        verify.main(spec_file, disk.folder / "result.json", SystemClock())
    assert caught.value.exit_code == ExitCode.LATER


@pytest.mark.slow
def test_a_base_whose_tests_had_no_room_is_not_called_red_nor_remembered(
    disk: SmallDisk, tmp_path: Path
) -> None:
    remote = init_bare(tmp_path / "remote.git")
    commit_files(remote, "main", project(FULL["to the end"]))
    config = (
        '[checkup]\nbaseline_s = 60\n[sandbox]\nkind = "none"\n'
        f'[[repo]]\nname = "shop"\npath = "{remote}"\nbase = "main"\n'
    )
    where = scene(disk.folder / "home", config, clock=SystemClock())
    (line,) = [
        each for each in base.base(where.settings.repos[0], where, limit()) if each.name == "base of shop"
    ]
    assert (line.verdict, "the disk is full" in line.evidence) == ("warning", True), line
    assert list(remembered.place(where).glob("*.json")) == []
