"""`autopilot report` on a real home: what is in it, what never is, and where it goes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from autopilot.config import handed
from autopilot.config.logs import LOG_FILE
from autopilot.schemas.errors import ExitCode
from tests.support import canary
from tests.support.cli import Cli, fill
from tests.support.daemon import Daemon
from tests.support.reported import FORM, OF_THE_PERSON, PRIVATE, RING, SECRETS, TITLE, gaps, home_of, made
from tests.support.small_project import small_repo
from tests.support.wait import wait_until


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return home_of(tmp_path)


def plant(cli: Cli) -> None:
    """Put what must not be seen wherever a report looks."""
    fill(cli)
    cli.told("add", "--repo", "shop", TITLE)
    everything = f"{' '.join(SECRETS)} {' '.join(PRIVATE)} https://bob:{canary.WORD}@git.corp.example/x"
    lines = [
        {"ts": 1, "event": "ticket.parked", "reason": everything, "ticket": "T-1"},
        {"ts": 2, "event": "state.unsaved", "error": f"cannot write for {' '.join(SECRETS)}"},
        {"ts": 3, "event": "hold.started", "scope": "repo:shop", "cause": f"git: {' '.join(SECRETS)}"},
        {"ts": 4, "event": "tick.failed", "error": f"ValueError({everything!r})", "trace": everything},
        {
            "ts": 5,
            "event": FORM,
            FORM: FORM,
            "agent": OF_THE_PERSON[0],
            "path": f"{cli.home}/{OF_THE_PERSON[0]}",
        },
    ]
    text = "".join(f"{json.dumps(line)}\n" for line in lines) + f"no json {everything}\n"
    cli.paths.logs.mkdir(exist_ok=True)
    (cli.paths.logs / LOG_FILE).write_text(text)
    (cli.paths.logs / f"{LOG_FILE}.1").write_text(text)
    (cli.paths.logs / "daemon.out").write_text(
        f"autopilot: error state.unsaved why={everything}\n{everything}\n"
    )
    for name in ("T-1-1", f"T-2-{FORM}"):
        run = cli.paths.runs / name
        (run / "publish").mkdir(parents=True)
        (run / "events.jsonl").write_text(text)
        (run / "publish" / "publish-events.jsonl").write_text(text)
        (run / "spec.json").write_text(everything)
    cli.paths.reports.mkdir(exist_ok=True)
    (cli.paths.reports / "crash-2026-09-01.txt").write_text(
        f"time x\nverb add\n{everything}\n\n{everything}\n"
    )
    checkup = cli.paths.state / "checkup"
    checkup.mkdir()
    check = {"name": "account x", "verdict": "go", "evidence": everything}
    (checkup / "look.json").write_text(json.dumps({"go": True, "checks": [check]}))
    handed.write(handed.file_beside(cli.paths.config_file), {"PLAIN_NAME": RING, "OTHER": FORM})
    units = cli.home / ".config" / "systemd" / "user"
    units.mkdir(parents=True)
    unit = f'{_head()}\nEnvironment="X_TOKEN={OF_THE_PERSON[0]}"\nExecStart={" ".join(SECRETS)}\n'
    (units / "autopilot.service").write_text(unit)


def _head() -> str:
    from autopilot.launchd.systemd_units import HEAD

    return HEAD


@pytest.mark.parametrize("words", [(), ("--with-texts",)])
def test_nothing_planted_anywhere_is_seen_in_a_report(cli: Cli, words: tuple[str, ...]) -> None:
    plant(cli)
    files = made(cli, *words)
    assert {"logs/autopilot.jsonl", "logs/daemon.out", "runs/T-1-1/events.jsonl"} <= files.keys()
    assert any(name.startswith("crashes/") for name in files)
    assert "account x" in files["doctor.json"]
    everywhere = "\n".join(f"{name}\n{text}" for name, text in files.items())
    assert [secret for secret in (canary.WORD, *SECRETS) if secret in everywhere] == []
    hidden = ("git.corp", "bob:", "pat@", "someone-at-home", *(() if words else PRIVATE))
    assert [word for word in hidden if word in everywhere] == []
    assert str(cli.home) not in everywhere
    assert "shop" not in everywhere
    assert "till" not in everywhere.replace("until", "").replace("still", "")


def test_words_are_kept_on_a_persons_word_alone_and_tickets_prompts_and_code_not_even_then(cli: Cli) -> None:
    plant(cli)
    assert "Overhaul" not in "".join(made(cli).values())
    files = made(cli, "--with-texts")
    assert "Overhaul the merger" in files["logs/autopilot.jsonl"]
    assert "what log and journals say in words" not in gaps(files)
    assert {"tickets", "repositories", "the configuration file"} <= gaps(files).keys()
    assert "Overhaul" not in files["queue.json"] + files["service.json"]


def test_it_counts_the_queue_and_leaves_its_files_as_they_were(cli: Cli) -> None:
    fill(cli)
    before = {path.name: path.read_bytes() for path in cli.paths.state.glob("autopilot.db*")}
    queue = json.loads(made(cli)["queue.json"])
    assert {path.name: path.read_bytes() for path in cli.paths.state.glob("autopilot.db*")} == before
    assert queue["counts"]["tickets"]["queued"] >= 1
    assert sum(queue["counts"]["tickets"].values()) == queue["rows"]["tickets"]
    assert queue["schema"] == queue["schema_of_this_program"]
    assert queue["integrity"] == {"quick_check": ["ok"], "contradiction": None}


def test_the_answer_for_a_person_names_path_size_contents_and_that_one_looks_first(cli: Cli) -> None:
    said = cli.run("report")
    assert said.code == ExitCode.OK
    (path,) = cli.home.glob("autopilot-report-*.tar.gz")
    assert said.out.startswith(f"{path}, ")
    assert "KiB, readable by you alone" in said.out
    assert "queue.json" in said.out
    assert "left out:" in said.out
    assert "Look into each file before you send it" in said.out
    assert said.err == ""


def test_what_is_there_is_never_replaced(cli: Cli, tmp_path: Path) -> None:
    target = tmp_path / "mine.tar.gz"
    target.write_text("mine")
    said = cli.call("report", "--json", "--output", str(target))
    assert (said.code, said.error["code"]) == (ExitCode.REFUSED, "report-exists")
    assert target.read_text() == "mine"
    dangling = tmp_path / "link"
    dangling.symlink_to("nowhere")
    assert cli.call("report", "--json", "--output", str(dangling)).error["code"] == "report-exists"


def test_an_output_may_be_a_file_or_a_folder_and_one_that_is_nowhere_is_named(
    cli: Cli, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    made(cli, "--output", str(folder))
    made(cli, "--output", str(folder / "a name.tgz"))
    said = cli.call("report", "--json", "--output", str(tmp_path / "gone" / "x"))
    assert (said.code, said.error["code"]) == (ExitCode.REFUSED, "report-nowhere")
    assert "--output" in said.error["hint"]
    assert cli.run("report", "--log-kib", "-1").code == ExitCode.USAGE


def test_the_log_goes_back_as_far_as_was_asked_for_over_files_that_were_turned_over(cli: Cli) -> None:
    cli.paths.logs.mkdir()
    for number, name in enumerate((f"{LOG_FILE}.2", f"{LOG_FILE}.1", LOG_FILE)):
        lines = [json.dumps({"ts": 1000 * number + each, "event": "run.started"}) for each in range(200)]
        (cli.paths.logs / name).write_text("\n".join(lines) + "\n")
    whole = made(cli)["logs/autopilot.jsonl"].splitlines()
    assert [json.loads(line)["ts"] for line in whole] == [1000 * n + e for n in range(3) for e in range(200)]
    end = made(cli, "--log-kib", "10")["logs/autopilot.jsonl"].splitlines()
    assert 200 < len(end) < 400
    assert json.loads(end[-1])["ts"] == 2199
    assert "log" in gaps(made(cli, "--log-kib", "0"))


class TestBesideADaemon:
    """A daemon runs, and has run a ticket."""

    @pytest.fixture
    def daemon(self, tmp_path: Path) -> Iterator[Daemon]:
        project = small_repo(tmp_path / "Initech")
        script = tmp_path / "script.yaml"
        script.write_text(
            "rounds:\n"
            "  - - spend: {usd: 0.5}\n"
            f"    - say: {TITLE} {FORM}\n"
            "    - write: {path: answer.txt, text: right}\n"
        )
        config = (
            "launch_stagger_s = 0\nmin_free_disk_gib = 0\nmin_free_memory_gib = 0\n"
            'default_agent = "scripted"\n'
            '[schedule]\nwindow = ""\n[daemon]\ndrain_s = 1\n[sandbox]\nkind = "none"\n'
            f'[agents.scripted]\nkind = "scripted"\nscript = "{script}"\n'
            f'[[repo]]\nname = "globex-erp"\npath = "{project.remote}"\nbase = "main"\n'
        )
        daemon = Daemon(tmp_path / "home", config=config)
        yield daemon
        daemon.clean_up()

    def test_its_life_is_told_and_nothing_of_the_ticket_or_its_secrets(self, daemon: Daemon) -> None:
        daemon.start()
        daemon.call("POST", "/v1/tickets", title=TITLE, repo="globex-erp", body=f"{TITLE} {FORM}")
        daemon.call("POST", "/v1/switch", on=True, ignore_window=True)
        wait_until(
            lambda: daemon.ticket("T-1")["state"] in {"published", "failed", "parked"}, 100, "the run ended"
        )
        cli = Cli(daemon.home)
        cli.env = daemon.environment() | {"XDG_RUNTIME_DIR": "/nowhere"}
        files = made(cli)
        assert json.loads(files["service.json"])["daemon"]["runs"] is True
        assert json.loads(files["queue.json"])["counts"]["tickets"] == {daemon.ticket("T-1")["state"]: 1}
        assert json.loads(files["queue.json"])["integrity"]["quick_check"] == ["ok"]
        log = [json.loads(line) for line in files["logs/autopilot.jsonl"].splitlines()]
        assert {"daemon.started", "ticket.claimed", "run.finished"} <= {line["event"] for line in log}
        assert {line["repo"] for line in log if "repo" in line} == {"repo-1"}
        (journal,) = [text for name, text in files.items() if name.endswith("/events.jsonl")]
        spoken = [json.loads(line) for line in journal.splitlines() if '"agent.spoke"' in line]
        assert spoken
        assert all(line["text"].endswith(" characters>") for line in spoken)
        for text in (files, made(cli, "--with-texts")):
            everywhere = "".join(f"{name}{part}" for name, part in text.items())
            assert [each for each in (canary.WORD, FORM, "globex-erp") if each in everywhere] == []
        everywhere = "".join(files.values())
        assert [each for each in (TITLE, "Initech", "overhaul", "answer.txt") if each in everywhere] == []
        assert daemon.stop() == ExitCode.OK
