"""What is shown for the sake of programs: their installations, and never a home or what is ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from autopilot.runner.sandbox import system
from autopilot.runner.sandbox.toolchain import Toolchain


def program(path: Path, *, link: Path | None = None) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if link is None:
        path.write_text("#!/bin/sh\n")
    else:
        path.symlink_to(link)
    return path


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "person"
    for name in (".ssh", ".local/share/keyrings", ".config/gh", ".cargo"):
        (home / name).mkdir(parents=True)
    return home


def shown(home: Path, *folders: Path, sealed: tuple[Path, ...] = ()) -> set[Path]:
    """What a PATH of these folders needs below the test's own folder."""
    found = Toolchain(home, sealed).needed(":".join(map(str, folders)))
    return {each for each in found if each.is_relative_to(home.parent)}


def test_an_installation_is_shown_whole(home: Path) -> None:
    node = home / ".nvm/versions/node/v20"
    program(node / "bin/node")
    (node / "lib").mkdir()
    assert shown(home, node / "bin") == {node}


@pytest.mark.parametrize("sign", [".git", ".hg", ".jj", ".env", "other/.git"])
def test_of_a_project_with_a_bin_folder_of_its_own_only_programs_and_libraries_are_shown(
    home: Path, tmp_path: Path, sign: str
) -> None:
    for place in (home / "work/app", tmp_path / "srv/app"):
        program(place / "bin/tool")
        (place / "lib").mkdir()
        (place / sign).mkdir(parents=True)
        assert shown(home, place / "bin") == {place / "bin", place / "lib"}
        link = program(home / ".local/bin" / place.parent.name, link=place / "bin/tool")
        assert {each for each in shown(home, link.parent) if each.is_relative_to(place)} == {
            place / "bin",
            place / "lib",
        }
        link.unlink()


def test_of_a_check_out_that_is_on_path_itself_or_that_a_link_leads_to_only_programs_are_shown(
    home: Path,
) -> None:
    place = home / "scripts"
    tool = program(place / "tool")
    tool.chmod(0o755)
    (place / "notes").write_text("private")
    (place / ".git").mkdir()
    assert shown(home, place) == {tool}
    link = program(home / ".local/bin/tool", link=tool)
    assert shown(home, link.parent) == {link.parent, tool}


def test_an_environment_in_the_root_of_a_project_shows_what_belongs_to_it(home: Path, tmp_path: Path) -> None:
    base = tmp_path / "pythons/3.12"
    (base / "lib").mkdir(parents=True)
    real = program(base / "bin/python3.12")
    place = home / "work/app"
    program(place / "bin/python", link=real)
    (place / "lib").mkdir()
    (place / ".git").mkdir()
    (place / "pyvenv.cfg").write_text("")
    assert shown(home, place / "bin") == {place / "bin", place / "lib", place / "pyvenv.cfg", base}


def test_a_manager_of_versions_is_a_check_out_and_shown_whole_all_the_same(home: Path) -> None:
    manager = home / ".pyenv"
    program(manager / "shims/python")
    for name in ("libexec", ".git", "plugins/x/.git"):
        (manager / name).mkdir(parents=True)
    assert shown(home, manager / "shims") == {manager}


def test_of_a_folder_where_keys_lie_beside_programs_only_the_programs_are_shown(home: Path) -> None:
    tool = program(home / ".local/bin/tool")
    (home / ".local/lib").mkdir()
    assert shown(home, tool.parent) == {home / ".local/bin"}


def test_a_folder_in_the_home_itself_does_not_show_the_home(home: Path) -> None:
    tool = program(home / "bin/tool")
    (home / "lib").mkdir()
    assert shown(home, tool.parent) == {home / "bin"}


def test_a_token_beside_the_programs_of_a_tool_is_not_shown(home: Path) -> None:
    cargo = program(home / ".cargo/bin/cargo")
    (home / ".cargo/credentials.toml").write_text("token")
    (home / ".cargo/lib").mkdir()
    assert shown(home, cargo.parent) == {home / ".cargo/bin"}


def test_what_a_link_leads_to_is_shown_too(home: Path) -> None:
    real = program(home / ".local/share/agent/versions/2.1.0/agent")
    link = program(home / ".local/bin/agent", link=real)
    assert shown(home, link.parent) == {link.parent, real.parent}


def test_a_virtual_environment_brings_the_python_that_it_was_made_from(home: Path, tmp_path: Path) -> None:
    base = tmp_path / "pythons/3.12"
    (base / "lib").mkdir(parents=True)
    real = program(base / "bin/python3.12")
    venv = tmp_path / "project/.venv"
    program(venv / "bin/python", link=real)
    (venv / "pyvenv.cfg").write_text("")
    assert shown(home, venv / "bin") == {venv, base}


@pytest.mark.parametrize("name", ["python", "python3.12"])
def test_a_virtual_environment_of_copies_brings_it_too(home: Path, tmp_path: Path, name: str) -> None:
    base = tmp_path / "pythons/3.12"
    (base / "lib").mkdir(parents=True)
    program(base / "bin/python3", link=program(base / "bin/python3.12"))
    venv = tmp_path / "project/.venv"
    copied = program(venv / "bin" / name)
    (venv / "pyvenv.cfg").write_text(f"include-system-site-packages = false\nHome = {base}/bin\n")
    assert shown(home, venv / "bin") == {venv, base}
    found = Toolchain(home).needed("", [str(copied)])
    assert {each for each in found if each.is_relative_to(tmp_path)} == {venv, base}


@pytest.mark.parametrize(
    "made_from", ["person/.ssh", "person", "notes", "notes/bin", "gone/bin", ".venv/bin", "/"]
)
def test_a_virtual_environment_shows_nothing_but_a_python(home: Path, tmp_path: Path, made_from: str) -> None:
    (home / ".ssh/python3").write_text("key")
    (home / "python3").write_text("")
    program(tmp_path / "notes/bin/letter")
    (tmp_path / "notes/lib").mkdir()
    venv = tmp_path / ".venv"
    program(venv / "bin/python")
    (venv / "pyvenv.cfg").write_text(f"home = {tmp_path / made_from}\n")
    assert shown(home, venv / "bin") == {venv}


def test_links_that_lead_round_or_nowhere_come_to_an_end(home: Path, tmp_path: Path) -> None:
    for name, target in (("one", "two"), ("two", "one"), ("self", "self"), ("gone", "../gone/tool")):
        program(tmp_path / "tools/bin" / name, link=Path(target))
    assert shown(home, tmp_path / "tools/bin") == {tmp_path / "tools/bin"}


def test_what_the_systems_own_folders_lead_out_to_is_shown(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system, "FOLDERS", (tmp_path / "opt",))
    base = tmp_path / "pythons/3.12"
    (base / "lib").mkdir(parents=True)
    real = program(base / "bin/python3")
    venv = tmp_path / "opt/venv"
    link = program(venv / "bin/python", link=real)
    assert shown(home, venv / "bin") == set()
    assert Toolchain(home).needed("", [str(link)]) == Toolchain(home).needed("", [str(real)])
    (venv / "pyvenv.cfg").write_text("")
    assert shown(home, venv / "bin") == {base}


@pytest.mark.parametrize(
    "text", [b"", b"home", b"home =", b"home = bin", b"home = /\0/bin", b"\xff", b"home = /a" * 20_000]
)
def test_what_a_virtual_environment_says_badly_shows_nothing(home: Path, tmp_path: Path, text: bytes) -> None:
    venv = tmp_path / ".venv"
    program(venv / "bin/python")
    (venv / "pyvenv.cfg").write_bytes(text)
    assert shown(home, venv / "bin") == {venv}


@pytest.mark.parametrize("name", ["", "state", "state/runs", "bin"])
def test_nothing_of_ours_is_shown_nor_what_holds_it(home: Path, tmp_path: Path, name: str) -> None:
    sealed = tmp_path / "ours/state"
    program(tmp_path / "ours" / name / "bin/tool")
    (tmp_path / "ours" / name / "lib").mkdir(exist_ok=True)
    found = shown(home, tmp_path / "ours" / name / "bin", sealed=(sealed,))
    assert not any(sealed.is_relative_to(each) or each.is_relative_to(sealed) for each in found)


@pytest.mark.parametrize("name", ["", ".ssh", ".ssh/keys", ".local", ".local/share", ".config", ".cargo"])
def test_an_operator_cannot_name_a_home_or_its_secrets_as_readable(home: Path, name: str) -> None:
    (home / ".cargo/credentials.toml").write_text("token")
    assert not Toolchain(home).is_showable(home / name)


@pytest.mark.parametrize("name", [".rustup", ".local/share/mise", "sdk/android"])
def test_an_operator_may_name_a_folder_further_down(home: Path, name: str) -> None:
    assert Toolchain(home).is_showable(home / name)


def test_a_relative_or_missing_entry_of_path_shows_nothing(home: Path) -> None:
    assert Toolchain(home).needed("bin:.:") == Toolchain(home).needed("/no/such/folder")
    assert shown(home, program(home / "tools/bin")) == set()


def test_a_virtual_environment_that_copied_its_python_brings_what_that_needs(
    home: Path, tmp_path: Path
) -> None:
    """A copied interpreter leads nowhere: where its library lies stands in `pyvenv.cfg` alone."""
    base, venv = home / ".pyenv/versions/3.12", tmp_path / "checkout/.venv"
    (base / "lib").mkdir(parents=True)
    program(base / "bin/python3.12")
    program(venv / "bin/python")
    (venv / "pyvenv.cfg").write_text(f"home = {base / 'bin'}\nversion = 3.12.1\n")
    assert shown(home, venv / "bin") == {venv, base}


def test_virtual_environments_that_name_each_other_come_to_an_end(home: Path, tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for venv, named in ((one, other), (other, one)):
        program(venv / "bin/python")
        (venv / "pyvenv.cfg").write_text(f"home = {named / 'bin'}\n")
    assert shown(home, one / "bin") == {one, other}


@pytest.mark.parametrize(("told", "on_path"), [("link", "link"), ("real", "link"), ("link", "real")])
def test_a_home_is_not_shown_under_its_other_name(tmp_path: Path, told: str, on_path: str) -> None:
    """HOME was a link, or PATH went by one: all of the home was shown for the sake of its `bin`."""
    for name in (".ssh", ".local/share/keyrings", ".local/lib", "lib"):
        (tmp_path / "real" / name).mkdir(parents=True)
    for folder in (".local/bin", "bin"):
        program(tmp_path / "real" / folder / "tool")
    (tmp_path / "link").symlink_to("real")
    home = tmp_path / told
    found = shown(home, tmp_path / on_path / ".local/bin", tmp_path / on_path / "bin")
    kept = {tmp_path / name / folder for name in (on_path, "real") for folder in (".local/bin", "bin")}
    assert found == kept
    for name in ("link", "real", "link/.ssh", "real/.ssh/keys"):
        assert not Toolchain(home).is_showable(tmp_path / name)


def test_what_is_ours_is_not_shown_under_its_other_name(home: Path, tmp_path: Path) -> None:
    (tmp_path / "real/state").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    for sealed, asked in (("link", "real"), ("real", "link")):
        assert not Toolchain(home, (tmp_path / sealed / "state",)).is_showable(tmp_path / asked)


def test_what_rustup_starts_is_shown_where_its_programs_are_on_path(home: Path) -> None:
    (home / ".rustup").mkdir()
    program(home / ".cargo/bin/cargo", link=Path("rustup"))
    assert shown(home, home / ".cargo/bin") == {home / ".cargo/bin"}
    program(home / ".cargo/bin/rustup")
    assert shown(home, home / ".cargo/bin") == {home / ".cargo/bin", home / ".rustup"}
