"""The detector finds made-up secrets of every kind and lets look-alikes pass."""

import base64
import json
from importlib import resources
from typing import Any

import pytest

from autopilot.config.detector import decode, find, looks_random, mask

Sample = dict[str, Any]


def samples(label: str) -> list[Any]:
    """Made-up values, kept in parts so that no scanner takes this repository for a leak."""
    lines = resources.files(__package__).joinpath("secret_samples.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return [pytest.param(row, id=row["kind"]) for row in rows if row["label"] == label]


def bytes_of(sample: Sample) -> bytes:
    text = "".join(sample["text_parts"])
    return text.encode("utf-16" if sample["kind"].startswith("utf16") else "utf-8")


@pytest.mark.covers("N10")
@pytest.mark.parametrize("sample", samples("secret"))
def test_a_secret_is_found_and_never_repeated(sample: Sample) -> None:
    hits = find(bytes_of(sample)) or find("".join(sample["path_parts"]).encode())
    assert hits
    secret = "".join(sample["secret_parts"])
    assert secret not in repr(hits)


@pytest.mark.parametrize("sample", samples("not_secret"))
def test_a_look_alike_is_let_through(sample: Sample) -> None:
    assert find(bytes_of(sample)) == ()


def github_token() -> bytes:
    return b"ghp" + b"_" + b"R9dK2mQ7xV4bT8nL1cF6hJ3pZ5wY0sAaGgE4"


def test_the_line_and_a_mark_of_the_secret_are_told() -> None:
    (hit,) = find(b"one\ntwo " + github_token() + b"\n")
    assert (hit.rule, hit.line, len(hit.mark)) == ("github-token", 2, 4)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig"])
def test_an_encoding_does_not_hide_a_secret(encoding: str) -> None:
    assert find((b"k = " + github_token()).decode().encode(encoding))


def test_a_nul_byte_or_binary_around_it_does_not_hide_a_secret() -> None:
    assert find(b"\x00\x01\xff" * 10 + github_token() + b"\x00\xfe")


def test_one_layer_of_base64_does_not_hide_a_secret() -> None:
    assert find(base64.b64encode(b"token: " + github_token()))


@pytest.mark.parametrize(
    "comment", [b"gitleaks:allow", b"nosec", b"kingfisher:ignore", b"pragma: allowlist secret"]
)
def test_no_comment_switches_the_detector_off(comment: bytes) -> None:
    assert find(b"k = " + github_token() + b"  # " + comment)


@pytest.mark.parametrize(
    "text",
    [
        "private_key: PKCS7PrivateKeyTypes,",
        'url = "https://jo%40email.com:a%20secret@www.example.com"',
        'token = r"[-!#$%&0-9a-zA-Z]+"',
        "password: str = field(default_factory=read_password)",
        "api_key = os.environ['API_KEY_2024']",
        'secret = "correct horse battery staple"',
        "postgres://user:password@localhost/db",
        '-----BEGIN PRIVATE KEY-----" in text',
    ],
)
def test_code_that_only_speaks_of_secrets_is_let_through(text: str) -> None:
    assert find(text.encode()) == ()


def test_words_are_not_random_and_machine_made_values_are() -> None:
    assert not looks_random("hunter2hunter2")
    assert not looks_random("your-token-goes-here-1234")
    assert looks_random("kX9" + "vQ2mZ7pL4" + "tB8")


def test_bytes_without_a_mark_are_read_as_utf_8() -> None:
    assert decode("grüße".encode()) == "grüße"


@pytest.mark.parametrize(
    "beginning", ["-eyJ", "eyJ", ".eyJ", "SG.", "password=", "-----BEGIN PRIVATE KEY----- "]
)
def test_a_file_of_nothing_but_beginnings_of_a_secret_holds_nobody(beginning: str) -> None:
    """Cost grows with the size, not with its square: that would be hours here."""
    few = {hit.rule for hit in find(beginning.encode() * 9)}
    many = {hit.rule for hit in find((beginning * (400_000 // len(beginning))).encode())}
    assert many <= few | {"json-web-token"}


def test_a_web_token_behind_other_letters_is_found() -> None:
    token = ".".join(
        ("ey" + "JhbGciOiJIUzI1NiJ9", "ey" + "JzdWIiOiI0MiIsIm4iOjF9", "q7Rk2mPz9XvLw4TnB8sYcJ5dHfGa1e")
    )
    for before in ("", "session_", "-", "x", '"', "Bearer "):
        (hit,) = find(f"one\n{before}{token}\n".encode())
        assert (hit.rule, hit.line) == ("json-web-token", 2)


def test_each_secret_is_told_with_its_own_line() -> None:
    token = "gh" + "p_" + "q7Rk2mPz9XvLw4TnB8sYcJ5dHfGa1e0uIoKx"
    text = "\n".join([token if at % 7 == 3 else "-" for at in range(50)])
    assert [hit.line for hit in find(text.encode())] == [at + 1 for at in range(50) if at % 7 == 3]


@pytest.mark.parametrize("sample", samples("secret"))
def test_a_masked_text_holds_no_secret_any_more(sample: Sample) -> None:
    text = decode(bytes_of(sample)) + "\nand the rest\n"
    masked = mask(text)
    assert "".join(sample["secret_parts"]) not in masked
    assert find(masked.encode()) == ()
    assert masked.endswith("and the rest\n")


@pytest.mark.parametrize("sample", samples("not_secret"))
def test_a_look_alike_is_not_masked(sample: Sample) -> None:
    text = decode(bytes_of(sample))
    assert mask(text) == text


def test_one_layer_of_base64_is_masked_whole() -> None:
    wrapped = base64.b64encode(b"token: " + github_token()).decode()
    assert mask(f"a {wrapped} b") == "a *** b"
