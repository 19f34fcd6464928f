"""What must not leave this machine is masked, whatever it is written as; the rest stays as it was."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from urllib.parse import quote

import pytest

from autopilot.config.clock import SystemClock
from autopilot.config.keys import known_keys
from autopilot.config.paths import paths_below
from autopilot.daemon.report.known import Known, learn
from autopilot.daemon.report.masking import Mask
from autopilot.runner.agents.registry import KINDS, kind_of
from autopilot.schemas.run import AgentSpec

PASSWORD = 'plum"tree river 42'
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
SAID = "kT9vQ2xL7mBz"
KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\n" + "b3BlbnNzaC1rZXktdjEAAAAABG5v" * 4
HOME = "/srv/people/alice"


def mask(*secrets: str, **names: str) -> Mask:
    return Mask(Known(secrets=frozenset(secrets), names=names))


@pytest.mark.parametrize(
    "written",
    [
        PASSWORD,
        json.dumps(PASSWORD)[1:-1],
        quote(PASSWORD, ""),
        PASSWORD.encode().hex(),
        base64.b64encode(f"x{PASSWORD}".encode()).decode(),
        base64.urlsafe_b64encode(f"xy{PASSWORD}".encode()).decode(),
    ],
)
def test_a_known_value_is_masked_in_whatever_way_it_is_written(written: str) -> None:
    shown = mask(PASSWORD).text(f"before {written} after")
    assert "before " in shown
    assert " after" in shown
    assert "plum" not in shown
    assert written not in shown


@pytest.mark.parametrize(
    "secret",
    [
        TOKEN,
        "sk-ant-api03-" + "Ab3dEf6hIj" * 5,
        "AKIA" + "QWERTYUIOPASDFGH",
        "hf_" + "aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX2",
        base64.b64encode(f"token={TOKEN}".encode()).decode(),
        KEY,
    ],
)
def test_what_has_the_form_of_a_credential_is_masked_without_being_known(secret: str) -> None:
    shown = mask().text(f"it said {secret} twice: {secret}")
    assert secret not in shown
    assert secret[:24] not in shown


def test_a_password_behind_a_name_is_masked_and_the_name_stays() -> None:
    shown = mask().text('db_password = "kT9!vQ2#xL7m" and port = 5432')
    assert "kT9!vQ2#xL7m" not in shown
    assert "db_password" in shown
    assert "port = 5432" in shown


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("https://bob:hunter2@git.corp.example/a/b.git", "https://…"),
        ("https://x-access-token:abc@github.com/acme/shop.git?key=1", "https://github.com/…"),
        ("https://api.anthropic.com/v1/messages", "https://api.anthropic.com/…"),
        ("https://api.atlassian.com/ex/jira/our-cloud-id", "https://api.atlassian.com/…"),
        ("http://127.0.0.1:8080/x", "http://127.0.0.1:8080/…"),
        ("https://127.0.0.1.corp.example/x", "https://…"),
        ("ssh://git@host.corp.example:2222/a/b", "ssh://…"),
        ("git@host.corp.example:acme/shop.git", "<address>"),
        ("file:///srv/acme/shop.git", "file://…"),
    ],
)
def test_of_an_address_no_more_stays_than_its_kind_and_a_host_that_everybody_knows(
    address: str, shown: str
) -> None:
    assert mask().text(f"fetch {address} failed") == f"fetch {shown} failed"


def test_mail_addresses_are_masked() -> None:
    assert mask().text("as Pat <pat.doe+x@mail.example.org>, now") == "as Pat <<e-mail>>, now"


def test_people_places_and_this_machine_have_stand_ins() -> None:
    masked = Mask(
        Known(places={HOME: "~", "/srv/people": "<people>"}, names={"alice": "<user>", "box7": "<host>"})
    )
    assert masked.text(f"{HOME}/code of ALICE on box7.lan") == "~/code of <user> on <host>.lan"
    assert masked.text(f"{HOME}-old and malice") == "<people>/<user>-old and malice"
    assert masked.text("alice_backup") == "<user>_backup"


def test_the_homes_of_others_are_masked_too() -> None:
    home, users = "/" + "home/", "/" + "Users/"
    assert mask().text(f"{home}bob/x and {users}Bob Dole/x") == f"{home}<user>/x and {users}<user>/x"


def test_values_are_walked_through_and_numbers_stay() -> None:
    seen = mask(PASSWORD).value({"a": [1, None, True, {"b": f"x {PASSWORD}"}], TOKEN: 1.5})
    assert seen == {"a": [1, None, True, {"b": "x ***"}], "***": 1.5}


def test_the_key_beside_a_value_tells_that_it_is_a_password() -> None:
    text = Mask(Known()).document(json.dumps({"client_secret": "kT9vQ2xL7mPz4RwS", "size": 3}))
    assert json.loads(text) == {"client_secret": "***", "size": 3}


def test_a_short_value_is_not_looked_for_and_an_ordinary_text_stays_as_it_was() -> None:
    ordinary = "ticket.moved T-1 from queued to running, run r-1a2b3c4d5e6f (see docs/cli.md) at 12:30:01"
    assert mask("run", "T-1").text(ordinary) == ordinary


def test_it_counts_what_it_masked() -> None:
    masked = mask(PASSWORD)
    masked.text(f"{PASSWORD} {TOKEN} a@b.example c@d.example https://h.example/x")
    assert masked.counts == {"credentials": 2, "e-mail addresses": 2, "addresses": 1}


@pytest.mark.parametrize("left", [PASSWORD, TOKEN, PASSWORD.encode().hex()])
def test_a_last_look_finds_what_slipped_through(left: str) -> None:
    masked = mask(PASSWORD)
    assert masked.still_holds(f"a {left} b".encode())
    assert not masked.still_holds(masked.text(f"a {left} b").encode())


@pytest.mark.parametrize("kind", KINDS)
def test_a_host_that_an_adapter_asks_by_itself_tells_nothing_of_who_asks_it(kind: str) -> None:
    spec = AgentSpec(name="one", kind=kind, model="openai/gpt-5" if kind == "opencode" else "a-model")
    for address in kind_of(spec).services:
        host = address.removesuffix("/v1")
        assert mask().text(f"fetch {address}/x failed") == f"fetch {host}/… failed"


@pytest.mark.parametrize(
    "argv", [["mail", "--password", SAID], ["mail", f"--smtp-password={SAID}"], ["mail", "-token", SAID]]
)
@pytest.mark.parametrize("table", sorted({key.table for key in known_keys() if key.name == "argv"}))
def test_a_password_among_the_words_of_a_command_line_is_known(
    tmp_path: Path, table: str, argv: list[str]
) -> None:
    paths = paths_below(tmp_path)
    paths.config_file.write_text(f"[{table.replace('<name>', 'one')}]\nargv = {json.dumps(argv)}\n")
    assert SAID in learn(paths, SystemClock()).secrets


def test_there_are_command_lines_of_agents_and_of_channels() -> None:
    tables = {key.table for key in known_keys() if key.name == "argv"}
    assert tables == {"agents.<name>", "channels.<name>"}
