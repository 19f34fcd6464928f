from __future__ import annotations

import os
from collections.abc import Mapping
from decimal import Decimal
from importlib import resources
from pathlib import Path

import pytest

from autopilot.config.layers import ENVIRONMENT_PREFIX, read_defaults
from autopilot.config.load import load, load_with_origins
from autopilot.config.paths import Paths
from autopilot.config.settings import Settings
from autopilot.schemas.errors import ConfigError, ExitCode

DATA = Path(__file__).parent / "data"


@pytest.fixture(autouse=True)
def no_settings_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(ENVIRONMENT_PREFIX)]:
        monkeypatch.delenv(name)


def places(folder: Path, text: str | None = None) -> Paths:
    file = folder / "config.toml"
    if text is not None:
        file.write_text(text)
    return Paths(state=folder / "state", config_file=file, logs=folder / "logs")


def refused(folder: Path, text: str, flags: Mapping[str, object] | None = None) -> list[str]:
    """The lines of the one error, without the file's name."""
    paths = places(folder, text)
    with pytest.raises(ConfigError) as caught:
        load(paths, flags=flags)
    assert (caught.value.code, caught.value.exit_code) == ("config-invalid", ExitCode.CONFIG)
    return caught.value.what.replace(f"{paths.config_file}: ", "").splitlines()


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    settings = load(places(tmp_path))
    assert settings.cost_ceiling_usd == 25
    assert settings.schedule.timezone is None
    assert settings.repos == ()
    assert settings.agent().kind == "claude"


def test_every_brake_and_every_watch_over_a_run_holds_until_it_is_changed(tmp_path: Path) -> None:
    settings = load(places(tmp_path))
    assert settings.awake.enabled
    assert settings.breaker.open_after == 3
    ceilings = [settings.cost_ceiling_usd, settings.run_ceiling_usd, settings.ticket_ceiling_usd]
    assert ceilings == [Decimal(25), Decimal(5), Decimal(10)]
    assert (settings.max_parallel_agents, settings.per_repo_parallel) == (2, 1)
    assert settings.schedule.digest_at == "07:30"


def test_every_default_is_written_in_the_defaults_file_and_nowhere_else() -> None:
    written = read_defaults()
    for name, field in Settings.model_fields.items():
        key = field.alias or name
        assert key in written or key in {"repo", "prices", "channels", "tracker"}, key
        assert field.is_required() or key in {"repo", "prices", "channels", "tracker"}, (
            f"{key} has a second default in the model"
        )
    for table in ("schedule", "timeouts", "breaker", "daemon", "logs", "awake"):
        model = Settings.model_fields[table].annotation
        assert model is not None
        assert set(written[table]) == set(model.model_fields)
        assert all(field.is_required() for field in model.model_fields.values()), table


def test_the_defaults_file_travels_with_the_package() -> None:
    assert resources.files("autopilot.config").joinpath("defaults.toml").is_file()


def test_file_then_environment_then_flags_win_key_by_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = places(tmp_path, "[timeouts]\nwall_s = 1000\ngate_s = 1001\ngit_s = 1002\n")
    monkeypatch.setenv("AUTOPILOT__TIMEOUTS__GATE_S", "2001")
    monkeypatch.setenv("AUTOPILOT__TIMEOUTS__GIT_S", "2002")
    loaded = load_with_origins(paths, flags={"timeouts.git_s": 302, "timeouts.wall_s": None})
    times = loaded.settings.timeouts
    assert (times.wall_s, times.gate_s, times.git_s, times.kill_grace_s) == (1000, 2001, 302, 10)
    assert [loaded.origins[f"timeouts.{key}"] for key in ("wall_s", "gate_s", "git_s", "kill_grace_s")] == [
        str(paths.config_file),
        "AUTOPILOT__TIMEOUTS__GATE_S",
        "--timeouts.git_s",
        "defaults.toml",
    ]


def test_the_environment_may_hold_lists_and_reach_into_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUTOPILOT__AGENTS__CLAUDE__ARGV", '["/opt/claude", "--x"]')
    monkeypatch.setenv("AUTOPILOT__AWAKE__ENABLED", "false")
    monkeypatch.setenv("AUTOPILOT__COST_CEILING_USD", "99.5")
    settings = load(places(tmp_path))
    assert settings.agent("claude").argv == ("/opt/claude", "--x")
    assert (settings.awake.enabled, settings.cost_ceiling_usd) == (False, Decimal("99.5"))


def test_a_file_of_every_released_version_still_loads(tmp_path: Path) -> None:
    files = sorted(DATA.glob("config-*.toml"))
    assert files
    for file in files:
        settings = load(places(tmp_path, file.read_text()))
        assert settings.repo("web").project == "owner/web"


def test_every_key_of_the_file_arrives(tmp_path: Path) -> None:
    settings = load(places(tmp_path, (DATA / "config-0.1.0.toml").read_text()))
    defaults = load(places(tmp_path, ""))
    same = {
        key
        for key, value in settings.model_dump(by_alias=True).items()
        if value == defaults.model_dump(by_alias=True)[key]
    }
    assert same == set()
    tables = {name for name, value in settings.model_dump().items() if isinstance(value, dict)}
    tables -= {"agents", "channels", "prices", "trackers"}
    assert len(tables) > 8
    for table in tables:
        ours, theirs = getattr(settings, table).model_dump(), getattr(defaults, table).model_dump()
        assert {key for key in ours if ours[key] == theirs[key]} == set(), table


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("max_paralel_agents = 1", "max_paralel_agents: unknown key; did you mean max_parallel_agents?"),
        ("window = '22:00-23:00'", "window: unknown key; did you mean schedule.window?"),
        (
            "[[repo]]\nname = 'a'\npath = '/a'\ndefault_agent = 'claude'",
            "repo[a].default_agent: unknown key; it belongs at the top of the file, before the first [table]",
        ),
        ("[schedul]\nwindow = ''", "schedul: unknown key; did you mean schedule?"),
        ("[timeouts]\nwal_s = 1", "timeouts.wal_s: unknown key; did you mean wall_s?"),
        ("[timeouts]\npoll_s = 1", "timeouts.poll_s: unknown key; did you mean daemon.poll_s?"),
        ("zzqqxx = 1", "zzqqxx: unknown key"),
        ("[agents.claude]\nmodle = 'x'", "agents.claude.modle: unknown key; did you mean model?"),
        ("[agents.x]\nmodel = 'x'", "agents.x.kind: is missing"),
        ("cost_ceiling_usd = 'much'", "cost_ceiling_usd: should be a valid decimal, not 'much'"),
        ("cost_ceiling_usd = inf", "cost_ceiling_usd: should be a finite number, not Infinity"),
        ("cost_ceiling_usd = 0", "cost_ceiling_usd: should be greater than 0, not 0"),
        ("max_parallel_agents = true", "max_parallel_agents: must be a number, not True"),
        ("max_parallel_agents = 1.5", "max_parallel_agents: should be a valid integer"),
        ("timeouts = 3", "timeouts: should be a valid dictionary or instance of Timeouts, not 3"),
        ("[timeouts]\nwall_s = -1", "timeouts.wall_s: should be greater than 0, not -1"),
        ("stop_launching_percent = 101", "should be less than or equal to 100, not 101"),
        ("[schedule]\nwindow = '22-07'", "schedule.window: should look like 22:00-07:00, or be empty, not"),
        ("[schedule]\nwindow = '22:00-24:00'", "schedule.window: should look like 22:00-07:00"),
        ("[schedule]\nwindow = '07:00-07:00'", "schedule.window: begins and ends at the same time"),
        ("[schedule]\ndigest_at = '7:30'", "schedule.digest_at: should look like 07:30, not '7:30'"),
        ("[schedule]\ndigest_at = '٠٧:٣٠'", "schedule.digest_at: should look like 07:30, not '٠٧:٣٠'"),
        ("[schedule]\ntimezone = 'Mars/Base'", "schedule.timezone: is no time zone of this machine"),
        ("[schedule]\ntimezone = '../etc/passwd'", "schedule.timezone: is no time zone of this machine"),
        ("[logs]\nlevel = 'warnin'", "'warning' or 'error', not 'warnin'; did you mean warning?"),
        ("default_agent = 'cluade'", "default_agent: no agent is called 'cluade'; did you mean claude?"),
        ("[agents.x]\nkind = 'command'", "agents.x.argv: an agent of kind command needs the program"),
        ("[agents.'a b']\nkind = 'claude'", "agents.a b: should begin with a letter or digit and hold"),
        ("run_ceiling_usd = 30", "run_ceiling_usd: is 30, above ticket_ceiling_usd, which is 10"),
        ("backoff_cap_s = 1", "backoff_cap_s: is 1.0, below backoff_s, which is 60.0"),
    ],
)
def test_what_is_wrong_is_named_with_key_value_and_expectation(tmp_path: Path, text: str, told: str) -> None:
    (line,) = [line for line in refused(tmp_path, text) if told in line]
    assert line


def test_everything_wrong_is_listed_at_once_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUTOPILOT__TIMEOUTS__WALL_S", "long")
    text = "a_key = 1\ndefault_agent = 'x'\n[logs]\nlevel = 'loud'\n"
    lines = refused(tmp_path, text, {"timeouts.git_s": -1})
    assert len(lines) == 5
    assert "AUTOPILOT__TIMEOUTS__WALL_S: timeouts.wall_s: should be a valid number" in "\n".join(lines)
    assert "--timeouts.git_s: timeouts.git_s: should be greater than 0, not -1" in lines


def test_a_fault_names_the_file(tmp_path: Path) -> None:
    paths = places(tmp_path, "[agents.x]\nmodel = 'y'\n")
    with pytest.raises(ConfigError) as caught:
        load(paths)
    assert caught.value.what == f"{paths.config_file}: agents.x.kind: is missing"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a = 1\nb = \n", "(at line 2, column 5)"),
        ("a = 1\nb = ", "(at line 2, the end of the file)"),
        ("[timeouts\n", "(at line 1, column 10)"),
        ("a = 1\na = 2\n", "(at line 2, column 6)"),
    ],
)
def test_a_file_that_is_no_toml_names_the_line(tmp_path: Path, text: str, told: str) -> None:
    paths = places(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        load(paths)
    assert caught.value.code == "config-syntax"
    assert str(paths.config_file) in caught.value.what
    assert told in caught.value.what


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    paths = places(tmp_path)
    paths.config_file.write_bytes(b"x = '\xff'")
    with pytest.raises(ConfigError, match="no UTF-8 text"):
        load(paths)
    paths.config_file.unlink()
    paths.config_file.mkdir()
    with pytest.raises(ConfigError, match="it is no plain file"):
        load(paths)


def test_a_byte_order_mark_is_no_fault(tmp_path: Path) -> None:
    paths = places(tmp_path)
    paths.config_file.write_bytes(b"\xef\xbb\xbfmax_parallel_agents = 7\n")
    assert load(paths).max_parallel_agents == 7


def test_settings_cannot_be_changed_afterwards(tmp_path: Path) -> None:
    settings = load(places(tmp_path))
    with pytest.raises(ValueError, match="frozen"):
        settings.max_parallel_agents = 3  # type: ignore[misc]


def test_the_limits_of_a_run_come_from_the_settings(tmp_path: Path) -> None:
    limits = load(places(tmp_path, "run_ceiling_usd = 1.25\n[timeouts]\ngate_s = 7\n")).limits()
    assert (limits.run_ceiling_micro_usd, limits.gate_s, limits.wall_s) == (1_250_000, 7, 7200)


def test_an_unknown_repository_or_agent_names_the_nearest(tmp_path: Path) -> None:
    settings = load(places(tmp_path, "[[repo]]\nname = 'app'\npath = '/srv/app'\n"))
    with pytest.raises(ConfigError) as caught:
        settings.repo("ap")
    assert (caught.value.code, caught.value.hint) == ("repo-unknown", "did you mean app?")
    with pytest.raises(ConfigError) as caught:
        settings.agent("claud")
    assert (caught.value.code, caught.value.hint) == ("agent-unknown", "did you mean claude?")


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", ["pipe", "folder", "device", "link to a pipe"])
def test_a_configuration_that_is_no_plain_file_is_refused_without_waiting(tmp_path: Path, kind: str) -> None:
    paths = places(tmp_path)
    if kind == "pipe":
        os.mkfifo(paths.config_file)
    elif kind == "folder":
        paths.config_file.mkdir()
    elif kind == "device":
        paths.config_file.symlink_to(os.devnull)
    else:
        os.mkfifo(tmp_path / "pipe")
        paths.config_file.symlink_to(tmp_path / "pipe")
    with pytest.raises(ConfigError) as caught:
        load(paths)
    assert caught.value.code == "config-unreadable"
    assert "no plain file" in caught.value.what


def test_a_configuration_behind_a_link_is_read(tmp_path: Path) -> None:
    (tmp_path / "kept.toml").write_text("cost_ceiling_usd = 7\n")
    paths = places(tmp_path)
    paths.config_file.symlink_to(tmp_path / "kept.toml")
    assert load(paths).cost_ceiling_usd == 7
