"""No credential reaches a log, however its pieces arrive; everything else does, unchanged."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autopilot.config import tokens
from autopilot.config.redactor import MAX_HELD_BYTES, Redactor

SECRET = 'correct-horse "battery" stäple/1'
TOKEN = "gh" + "p_" + "a1B2" * 9
ANTHROPIC = "sk-" + "ant-" + "api03-" + "a1B2" * 9
KEY = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQ" * 60 + "\n-----END RSA PRIVATE KEY-----"

# Of forms whose loose kind is shorter than what issuers make; in parts, so that no scan finds one here.
BODY = "a1B2c3D4" * 5
SHORT_KEY = KEY.replace("MIIEpAIBAAKCAQ" * 60, "MIIEpAIBAAKCAQ" * 4)
FORMS = (
    *(
        "gh" + "p_" + BODY,
        "github" + "_pat_" + BODY,
        "gl" + "pat-" + BODY,
        "sk-" + "ant-" + BODY,
        "sk-" + BODY,
    ),
    *("AK" + "IA" + "ABCDEFGH12345678", "xo" + "xb-" + BODY, "AI" + "za" + BODY, "sk" + "_live_" + BODY),
    *("np" + "m_" + BODY, "py" + "pi-" + BODY, "hv" + "s." + BODY, "dop" + "_v1_" + "a1b2" * 10),
    *("AT" + "ATT" + BODY, "SG" + "." + BODY + "." + BODY, "AGE-SECRET" + "-KEY-1" + "A1B2" * 8),
    "ey" + "J" + BODY + ".ey" + "J" + BODY + "." + BODY,
    SHORT_KEY,
)
# A token may hold the beginning of its own kind, or of another.
NESTED = (
    "sk-" + "proj-" + BODY + "sk-" + BODY,
    "sk-" + "ant-" + BODY + "-sk-" + "ant-" + BODY,
    "ey" + "J" + BODY + ".ey" + "J" + BODY + "." + "ey" + "J" + BODY,
    "gl" + "pat-" + BODY + "-gh" + "p_" + BODY,
    SHORT_KEY + "\n" + SHORT_KEY,
)


def through(*pieces: bytes, secrets: tuple[str, ...] = (SECRET,)) -> bytes:
    redactor = Redactor(secrets)
    return b"".join([*(redactor.feed(piece) for piece in pieces), redactor.end()])


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


@pytest.mark.field_report("SEC-010")
@pytest.mark.parametrize("size", [1, 2, 3, 7, 16, 61, 5000])
@pytest.mark.parametrize(
    "held",
    [
        SECRET,
        json.dumps(SECRET),
        json.dumps(SECRET, ensure_ascii=False),
        TOKEN,
        ANTHROPIC,
        KEY,
        json.dumps(KEY),
        "AKI" + "A" + "ABCDEFGH12345678",
    ],
)
def test_a_credential_is_taken_out_wherever_the_pieces_are_cut(held: str, size: int) -> None:
    data = f'{{"text":"before {held} after"}}\n'.encode()
    out = through(*cut(data, size))
    bare = held.strip('"').encode()
    assert bare not in out
    assert bare[len(bare) // 2 :] not in out
    assert out.startswith(b'{"text":"before ')
    assert out.endswith(b' after"}\n')
    assert b"***" in out


def test_every_form_is_taken_for_one_as_a_whole() -> None:
    assert all(tokens.value_form().fullmatch(form) for form in FORMS)


@pytest.mark.field_report("SEC-010")
@pytest.mark.parametrize("form", [*FORMS, *NESTED])
def test_two_pieces_share_a_credential_wherever_they_are_cut(form: str) -> None:
    data = f"before {form} after\n".encode()
    for at in range(1, len(data)):
        assert through(data[:at], data[at:]).replace(b"***\n***", b"***") == b"before *** after\n", at


@given(st.sampled_from(FORMS + NESTED), st.integers(0, 2000), st.integers(0, 2000))
def test_three_pieces_share_a_credential(form: str, one: int, other: int) -> None:
    data = f"before {form} after\n".encode()
    first, second = sorted((one % len(data), other % len(data)))
    out = through(data[:first], data[first:second], data[second:])
    assert out.replace(b"***\n***", b"***") == b"before *** after\n"


def test_who_an_address_is_opened_as_is_taken_out() -> None:
    assert through(b"postgres://app:hunter", b"22@db.example/x\n") == b"postgres://***@db.example/x\n"


@pytest.mark.parametrize(
    "line",
    [
        '{"url":"https://x.example","mail":"a@b.example"}',
        "risk-assessment-and-mitigation-of-everything task-manager-component-of-ours",
        "https://x.example/a?b=c d@e",
        "gh p_ sk- AKIA xox ghp_short",
        "@scope/name and a://b",
    ],
)
@pytest.mark.parametrize("size", [1, 5, 1000])
def test_what_is_no_credential_passes_unchanged(line: str, size: int) -> None:
    data = line.encode() + b"\n"
    assert through(*cut(data, size)) == data


@given(st.lists(st.binary(max_size=60), max_size=12))
def test_bytes_without_a_credential_pass_unchanged(pieces: list[bytes]) -> None:
    whole = b"".join(pieces)
    if b"://" not in whole:
        assert through(*pieces) == whole


@given(st.binary(max_size=40), st.binary(max_size=40), st.integers(1, 30))
def test_a_known_value_never_comes_through(before: bytes, after: bytes, size: int) -> None:
    assert SECRET.encode() not in through(*cut(before + SECRET.encode() + after, size))


def test_a_line_is_given_on_as_soon_as_it_is_complete() -> None:
    redactor = Redactor((SECRET,))
    assert redactor.feed(b'{"type":"result"}\n') == b'{"type":"result"}\n'


def test_only_a_little_is_ever_held_back() -> None:
    redactor = Redactor(())
    given_on = redactor.feed(b"-----BEGIN PRIVATE KEY" + b"x" * (3 * MAX_HELD_BYTES))
    assert len(redactor.end()) <= MAX_HELD_BYTES
    assert len(given_on) <= 3


def test_a_value_that_is_too_short_to_be_one_is_left_alone() -> None:
    assert through(b"yes, a no\n", secrets=("no",)) == b"yes, a no\n"


@pytest.mark.parametrize("beginning", ["-eyJ", "eyJ", ".eyJ", "://a", "SG.", "-----BEGIN A"])
def test_a_stream_of_nothing_but_beginnings_goes_on(beginning: str) -> None:
    """Cost grows with the size, not with its square: that would be hours here."""
    text = beginning * (400_000 // len(beginning))
    stream = Redactor([SECRET])
    said = stream.feed(text.encode()) + stream.end()
    assert said.decode() == tokens.redact(text) == text


def test_an_address_without_an_end_is_read_once() -> None:
    text = "://" + "a" * 400_000
    stream = Redactor([SECRET])
    assert (stream.feed(text.encode()) + stream.end()).decode() == tokens.redact(text) == text


@pytest.mark.parametrize("before", ["", "session_", "-", "x", "a.b."])
def test_a_web_token_behind_other_letters_is_taken_out(before: str) -> None:
    token = "ey" + "J" + BODY + ".ey" + "J" + BODY + "." + BODY
    stream = Redactor()
    said = (stream.feed(f"{before}{token} end".encode()) + stream.end()).decode()
    assert BODY not in said
    assert BODY not in tokens.redact(f"{before}{token} end")
    assert said.endswith("*** end")
