"""A text leaves through a channel once, or not at all, and what cannot be told is called that."""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from autopilot.config.clock import SystemClock
from autopilot.config.secrets import variable_for
from autopilot.publish import __main__ as publisher
from autopilot.publish.delivery import deliver
from autopilot.schemas.delivery import ChannelSpec, DeliveryReport, DeliverySpec
from tests.support.hostile_server import HostileServer
from tests.support.receiver import PATH, Receiver
from tests.support.token_examples import token_examples

TEXT = "T-1 Say it & more: <https://forge.example/o/r/pull/1>\nEin Entwurf – hazır\n"
TOKENS = [token_examples()[kind][0] for kind in ("github-token", "slack-webhook", "aws-access-key")]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


@pytest.fixture(autouse=True)
def address(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable_for("team-hook"), receiver.address)


def webhook(*, form: str = "slack", limit_s: float = 5) -> ChannelSpec:
    return ChannelSpec.model_validate(
        {"name": "team", "kind": "webhook", "credential": "team-hook", "format": form, "limit_s": limit_s}
    )


def program(folder: Path, *lines: str, limit_s: float = 20) -> ChannelSpec:
    script = folder / "channel.py"
    script.write_text("\n".join(("import os, sys, time", *lines)))
    argv = (sys.executable, "-P", str(script), "an argument; and $HOME")
    return ChannelSpec(name="desk", kind="command", argv=argv, limit_s=limit_s)


def spec(folder: Path, channel: ChannelSpec, text: str = TEXT) -> DeliverySpec:
    return DeliverySpec(
        id="1-1",
        report=folder / "report.json",
        workdir=folder / "work",
        mark=folder / "mark",
        to=channel,
        text=text,
        roots=("/srv/autopilot/state",),
        kill_grace_s=1,
        created_ms=1,
    )


def sent(folder: Path, channel: ChannelSpec, text: str = TEXT) -> DeliveryReport:
    report = deliver(spec(folder, channel, text), clock=SystemClock(), folder=folder)
    assert bool(report.hint) == (report.outcome != "sent"), "there is something to do about it, or nothing"
    return report


class TestWebhook:
    def test_slack_is_given_json_in_which_nothing_is_markup(self, tmp_path: Path, receiver: Receiver) -> None:
        report = sent(tmp_path, webhook())
        assert (report.outcome, report.id) == ("sent", "1-1")
        (call,) = receiver.calls
        assert (call.path, call.kind) == (PATH, "application/json")
        assert call.text == TEXT.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        assert list(json.loads(call.body)) == ["text"]

    def test_ntfy_is_given_the_bare_text(self, tmp_path: Path, receiver: Receiver) -> None:
        assert sent(tmp_path, webhook(form="plain")).outcome == "sent"
        (call,) = receiver.calls
        assert (call.kind, call.text) == ("text/plain", TEXT)

    @pytest.mark.parametrize(
        ("answer", "outcome", "code"),
        [
            (204, "sent", ""),
            (302, "rejected", "channel-moved"),
            (403, "rejected", "channel-rejected"),
            (404, "rejected", "channel-rejected"),
            (429, "rejected", "channel-rejected"),
            (408, "unsure", "server-failed"),
            (500, "unsure", "server-failed"),
            (503, "unsure", "server-failed"),
            ("cut", "unsure", "no-answer"),
            ("hang", "unsure", "no-answer"),
        ],
    )
    def test_each_answer_is_sorted_by_how_sure_it_is(
        self, tmp_path: Path, receiver: Receiver, answer: int | str, outcome: str, code: str
    ) -> None:
        receiver.answers.append(answer)
        report = sent(tmp_path, webhook(limit_s=0.5))
        assert (report.outcome, report.code) == (outcome, code)
        assert len(receiver.calls) == 1, "nothing is followed, and nothing is sent again"
        assert ("may have been sent" in report.message) == (outcome == "unsure")
        assert (tmp_path / "mark").exists()
        _hides(report, receiver.address)

    def test_whoever_cannot_be_reached_was_sent_nothing_and_may_be_tried_again(
        self, tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            dead = f"http://127.0.0.1:{taken.getsockname()[1]}{PATH}"
            for address in (dead, f"https://nowhere.invalid{PATH}"):
                monkeypatch.setenv(variable_for("team-hook"), address)
                report = sent(tmp_path, webhook())
                assert (report.outcome, report.code) == ("not-sent", "not-connected")
                _hides(report, address)
                assert not (tmp_path / "mark").exists()
        monkeypatch.setenv(variable_for("team-hook"), receiver.address)
        assert sent(tmp_path, webhook()).outcome == "sent"

    def test_an_answer_that_drips_is_given_up_by_the_whole_time(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with HostileServer(200, {}, b"A: b\r\n", has_endless_headers=True, pause_s=0.05) as server:
            monkeypatch.setenv(variable_for("team-hook"), f"{server.url}{PATH}")
            report = sent(tmp_path, webhook(limit_s=0.4))
        assert (report.outcome, report.code) == ("unsure", "no-answer")
        assert report.message == "no answer came within 0.4 s: it may have been sent"

    def test_a_proxy_that_drips_was_told_nothing_and_will_not_be(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with HostileServer(200, {}, b"A: b\r\n", has_endless_headers=True, pause_s=0.05) as proxy:
            monkeypatch.setenv("HTTPS_PROXY", proxy.url)
            monkeypatch.setenv(variable_for("team-hook"), f"https://chat.example{PATH}")
            report = sent(tmp_path, webhook(limit_s=0.4))
            assert [asked["Host"] for asked in proxy.asked] == ["chat.example:443"]
        assert (report.outcome, report.code) == ("not-sent", "not-connected")
        assert not (tmp_path / "mark").exists()

    @pytest.mark.parametrize(
        "stored",
        [
            "http://chat.example/hooks/x",
            "ftp://chat.example/hooks/x",
            "chat.example/hooks/x",
            "https:///hooks/x",
            "https://chat.example:none/hooks/x",
            "https://chat.exämple/hooks/x",
            "https://chat.example/hooks/x\ny",
        ],
    )
    def test_what_is_no_https_address_is_never_called_nor_repeated(
        self, tmp_path: Path, stored: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv(variable_for("team-hook"), stored)
        report = sent(tmp_path, webhook())
        assert (report.outcome, report.code) == ("not-sent", "channel-address")
        assert "team-hook" in report.message
        _hides(report, stored)
        assert not (tmp_path / "mark").exists()

    def test_an_address_that_is_not_there_is_told_with_its_cure(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv(variable_for("team-hook"))
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere")
        report = sent(tmp_path, webhook())
        assert (report.outcome, report.code) == ("not-sent", "credential-missing")
        assert "autopilot doctor" in report.hint


class TestCommand:
    def test_the_program_reads_the_text_and_no_shell_reads_its_arguments(self, tmp_path: Path) -> None:
        out = tmp_path / "out"
        channel = program(tmp_path, f"open({str(out)!r}, 'w').write(sys.argv[1] + '\\n' + sys.stdin.read())")
        assert sent(tmp_path, channel).outcome == "sent"
        assert out.read_text() == f"an argument; and $HOME\n{TEXT}"

    def test_it_is_handed_no_credential_and_nothing_that_is_ours(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        out = tmp_path / "out"
        monkeypatch.setenv("AUTOPILOT_HOME", "/somewhere")
        monkeypatch.setenv("PYTHONPATH", "/somewhere")
        channel = program(tmp_path, f"open({str(out)!r}, 'w').write('\\n'.join(os.environ))")
        assert sent(tmp_path, channel).outcome == "sent"
        names = out.read_text().split()
        assert "PATH" in names
        ours = [name for name in names if name.startswith(("AUTOPILOT_", "PYTHON"))]
        assert ours == ["AUTOPILOT_TREE"], "the mark by which its tree is found"

    @pytest.mark.parametrize(
        ("line", "code"),
        [
            ("sys.exit(3)", "channel-failed"),
            ("os.kill(os.getpid(), 9)", "channel-failed"),
            ("time.sleep(60)", "channel-stopped"),
        ],
    )
    def test_a_program_that_does_not_end_well_may_have_sent_it(
        self, tmp_path: Path, line: str, code: str
    ) -> None:
        report = sent(tmp_path, program(tmp_path, "print('its words')", line, limit_s=1.5))
        assert (report.outcome, report.code) == ("unsure", code)
        assert "may have been sent" in report.message
        assert "its words" not in report.message
        assert (tmp_path / "mark").exists()

    def test_one_that_cannot_be_started_has_sent_nothing(self, tmp_path: Path) -> None:
        channel = ChannelSpec(name="desk", kind="command", argv=("/nowhere/at-all",))
        report = sent(tmp_path, channel)
        assert (report.outcome, report.code) == ("not-sent", "channel-not-started")
        assert not (tmp_path / "mark").exists()


@pytest.mark.covers("G06")
class TestGate:
    @pytest.mark.parametrize("token", TOKENS, ids=("github", "slack", "aws"))
    def test_a_text_with_a_secret_is_refused_and_nothing_is_sent(
        self, tmp_path: Path, receiver: Receiver, token: str
    ) -> None:
        report = sent(tmp_path, webhook(), f"T-1 {token} is in here")
        assert (report.outcome, report.code) == ("refused", "outward-text")
        assert token not in report.model_dump_json()
        assert not receiver.calls
        assert not (tmp_path / "mark").exists()

    def test_a_secret_that_invisible_characters_hide_is_seen(
        self, tmp_path: Path, receiver: Receiver
    ) -> None:
        token = TOKENS[0]
        report = sent(tmp_path, webhook(), f"{token[:9]}\u200b{token[9:]}")
        assert report.outcome == "refused"
        assert not receiver.calls

    def test_nothing_is_loaded_by_looking_at_it(self, tmp_path: Path, receiver: Receiver) -> None:
        said = "T-1 ![ok](https://a.example/?q=key) <img src=//a.example/x>"
        sent(tmp_path, webhook(form="plain"), said)
        (call,) = receiver.calls
        assert call.text == "T-1 ! [ok](https://a.example/?q=key) < img src=//a.example/x>"

    def test_places_mentions_and_closing_words_are_made_harmless(
        self, tmp_path: Path, receiver: Receiver
    ) -> None:
        text = "@channel: fixes #12, see /srv/autopilot/state/runs/x and /home/pat/secret\u202e"
        assert sent(tmp_path, webhook(form="plain"), text).outcome == "sent"
        (call,) = receiver.calls
        assert call.text == "@ channel: Ref: #12, see [local path] and [local path]"

    @pytest.mark.parametrize("text", ["", " \n", "\u202e", "x" * 17_000])
    def test_nothing_and_too_much_are_refused(self, tmp_path: Path, receiver: Receiver, text: str) -> None:
        assert sent(tmp_path, webhook(), text).outcome == "refused"
        assert not receiver.calls


class TestOnce:
    def test_what_an_earlier_try_left_a_mark_of_is_never_sent_again(
        self, tmp_path: Path, receiver: Receiver
    ) -> None:
        (tmp_path / "mark").write_text("0-1\n")
        report = sent(tmp_path, webhook())
        assert (report.outcome, report.code) == ("unsure", "interrupted")
        assert "may have been sent" in report.message
        assert not receiver.calls

    def test_the_mark_is_there_before_anything_is_sent(self, tmp_path: Path) -> None:
        channel = program(tmp_path, f"sys.exit(not os.path.exists({str(tmp_path / 'mark')!r}))")
        assert sent(tmp_path, channel).outcome == "sent"

    def test_the_process_writes_its_report(self, tmp_path: Path, receiver: Receiver) -> None:
        told = spec(tmp_path, webhook())
        (tmp_path / "spec.json").write_text(told.model_dump_json())
        assert publisher.main(["deliver", str(tmp_path / "spec.json")]) == os.EX_OK
        report = DeliveryReport.model_validate_json(told.report.read_bytes())
        assert (report.outcome, len(receiver.calls)) == ("sent", 1)
        assert receiver.address not in "".join(
            each.read_text() for each in tmp_path.rglob("*") if each.is_file()
        )


def _hides(report: DeliveryReport, address: str) -> None:
    said = report.model_dump_json()
    assert address not in said
    assert PATH not in said
    assert "word of theirs" not in said
