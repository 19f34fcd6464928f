"""Where the queue may live."""

from __future__ import annotations

import stat
from pathlib import Path

import psutil
import pytest

from autopilot.daemon.statedir import check_state_dir, mounted
from autopilot.schemas.errors import ConfigError, ExitCode
from tests.support.repos import init_bare


def refusal(state: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        check_state_dir(state)
    assert "AUTOPILOT_HOME" in caught.value.hint
    assert caught.value.exit_code is ExitCode.CONFIG
    return caught.value.code


def test_a_folder_of_ones_own_is_accepted_and_made_private(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    check_state_dir(tmp_path)
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700


@pytest.mark.parametrize("name", ["two\nlines", "a\ttab", "a:b"])
def test_a_folder_whose_name_git_or_a_path_list_cannot_carry_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    assert refusal(tmp_path / name) == "state-dir-name"


@pytest.mark.parametrize("name", ["two words", 'it\'s "so" #1', "ünï-日本語", "-rf", "$(id);*?[a]"])
def test_a_folder_of_another_odd_name_is_accepted(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    check_state_dir(tmp_path / name)


@pytest.mark.field_report("AGT-033")
@pytest.mark.parametrize("is_worktree", [False, True])
def test_a_folder_inside_a_repository_is_refused_also_through_a_link(
    tmp_path: Path, *, is_worktree: bool
) -> None:
    inside = tmp_path / "repo" / "a" / "state"
    inside.mkdir(parents=True)
    git = tmp_path / "repo" / ".git"
    if is_worktree:
        git.write_text("gitdir: elsewhere\n")
    else:
        git.mkdir()
        (git / "HEAD").touch()
    link = tmp_path / "link"
    link.symlink_to(inside)
    assert refusal(inside) == "state-dir-in-repository"
    assert refusal(link) == "state-dir-in-repository"


@pytest.mark.field_report("AGT-033")
def test_an_empty_folder_of_the_name_git_is_no_repository(tmp_path: Path) -> None:
    (tmp_path / "above" / ".git").mkdir(parents=True)
    (tmp_path / "above" / "state").mkdir()
    check_state_dir(tmp_path / "above" / "state")


def test_a_folder_inside_a_bare_repository_is_refused(tmp_path: Path) -> None:
    state = init_bare(tmp_path / "bare.git") / "state"
    state.mkdir()
    assert refusal(state) == "state-dir-in-repository"


@pytest.mark.parametrize("kind", ["ext4", "apfs", "overlay", "fuseblk", "fuse.ntfs"])
def test_a_local_file_system_is_accepted(tmp_path: Path, kind: str) -> None:
    check_state_dir(tmp_path, mounts=lambda: {"/": "nfs", str(tmp_path): kind})


SHARED = [
    "nfs4",
    "CIFS",
    "smb3",
    "fuse.sshfs",
    "fuse.rclone",
    "fuse.vmhgfs-fuse",
    "9p",
    "virtiofs",
    "fuse",
    "osxfs",
]


@pytest.mark.field_report("DMN-023")
@pytest.mark.parametrize("kind", SHARED)
def test_dmn_023_a_network_file_system_or_one_lent_by_a_host_is_refused(tmp_path: Path, kind: str) -> None:
    state = tmp_path / "state"
    state.mkdir()
    mounts = {"/": "ext4", str(tmp_path): kind, f"{tmp_path}/sta": "ext4"}
    with pytest.raises(ConfigError) as caught:
        check_state_dir(state, mounts=lambda: mounts)
    assert caught.value.code == "state-dir-on-network"
    assert kind.lower() in caught.value.what
    check_state_dir(state, mounts=lambda: {**mounts, str(state): "ext4"})


def test_the_mounts_of_this_machine_are_those_that_psutil_sees() -> None:
    assert mounted() == {part.mountpoint: part.fstype for part in psutil.disk_partitions(all=True)}
