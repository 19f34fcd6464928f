from __future__ import annotations

import pytest

from autopilot.config.plain import one_line, plain
from autopilot.config.tokens import holds_secret, redact

FAKE_TOKEN = "gh" + "p_" + "a1B2" * 9


@pytest.mark.field_report("AGT-036")
@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"\xff\xfe error: quota\x1b[31m", "\ufffd\ufffd error: quota"),  # field report AGT-036
        (b"\x1b[1;31mred\x1b[0m and \x1b]0;title\x07plain", "red and plain"),
        (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        (b"a\rb\x08c\x00d\x7fe", "abcde"),
        (b"one\r\ntwo\n\n", "one\ntwo"),
        (b"tab\there", "tab\there"),
        ("\u202egnp.exe\u2066\u200b\U000e0041", "gnp.exe"),
        ("naïve 🚀", "naïve 🚀"),
        (b"\x1b", ""),
        (b"\x1b[", ""),
        (b"", ""),
    ],
)
def test_foreign_text_is_shown_without_power_over_the_terminal(raw: bytes | str, shown: str) -> None:
    assert plain(raw) == shown


def test_of_a_long_text_the_end_is_kept() -> None:
    assert plain(b"x" * 100 + b"end", max_chars=5) == "… xxend"


def test_one_line_is_one_line() -> None:
    assert one_line(b"a\n  b\tc\r\nd") == "a b c d"


def test_no_credential_is_shown() -> None:
    shown = plain(f"token {FAKE_TOKEN} at https://me:hunter2@x.invalid/r and https://tok@x.invalid".encode())
    assert shown == "token *** at https://***@x.invalid/r and https://***@x.invalid"
    key = "-----BEGIN " + "RSA PRIVATE KEY-----\nabc\ndef\n-----END RSA PRIVATE KEY-----"
    assert redact(f"a {key} b") == "a *** b"
    assert holds_secret(key)
