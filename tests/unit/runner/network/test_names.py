import pytest
from hypothesis import given
from hypothesis import strategies as st

from autopilot.runner.network.names import Refusal, Target, read_target


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pypi.org:443", Target("pypi.org", 443)),
        ("PyPI.org:443", Target("pypi.org", 443)),
        ("xn--bcher-kva.example:80", Target("xn--bcher-kva.example", 80)),
        ("localhost:8080", Target("localhost", 8080)),
        ("127.0.0.1:8080", Target("127.0.0.1", 8080, is_address=True)),
        ("[::1]:8080", Target("::1", 8080, is_address=True)),
        ("[0:0::1]:8080", Target("::1", 8080, is_address=True)),
    ],
)
def test_a_plain_name_and_a_port_are_read(text: str, expected: Target) -> None:
    assert read_target(text) == expected


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("good.example\x00.evil.example:443", "host-malformed"),
        ("good.example\t:443", "host-malformed"),
        (" good.example:443", "host-malformed"),
        ("good.example :443", "host-malformed"),
        ("good.example\r\nX: y:443", "host-malformed"),
        ("go\u00f6d.example:443", "host-malformed"),
        ("good\uff0eexample:443", "host-malformed"),
        ("g\u043e\u043ed.example:443", "host-malformed"),
        ("\u212aube.example:443", "host-malformed"),
        ("good%2eexample:443", "host-malformed"),
        ("good_example:443", "host-malformed"),
        ("good..example:443", "host-malformed"),
        ("-good.example:443", "host-malformed"),
        (".good.example:443", "host-malformed"),
        ("good.example/x:443", "host-malformed"),
        ("good.example\\x:443", "host-malformed"),
        ("", "port-malformed"),
        (":443", "host-malformed"),
        ("a" * 64 + ".example:443", "host-malformed"),
        ("a." * 130 + "example:443", "host-malformed"),
        ("good.example.:443", "trailing-dot"),
        ("good.example@evil.example:443", "userinfo"),
        ("user:secret@good.example:443", "userinfo"),
        ("good.example", "port-malformed"),
        ("good.example:", "port-malformed"),
        ("good.example:0", "port-malformed"),
        ("good.example:0443", "port-malformed"),
        ("good.example:+443", "port-malformed"),
        ("good.example:4_43", "port-malformed"),
        ("good.example:65536", "port-malformed"),
        ("good.example:443:443", "port-malformed"),
        ("::1:443", "port-malformed"),
        ("[::1", "port-malformed"),
        ("[good.example]:443", "host-malformed"),
        ("[::1%25lo]:443x", "port-malformed"),
    ],
)
def test_what_could_be_understood_in_two_ways_is_refused(text: str, code: str) -> None:
    read = read_target(text)
    assert isinstance(read, Refusal)
    assert read.code == code


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "127.1", "2130706433", "0x7f000001", "0x7f.1", "017700000001", "0177.0.0.1"),
        *("10.0.0.1", "1.1.1.1", "169.254.169.254", "0", "0x", "example.1", "example.0x1f", "1.2.3.4.5"),
    ],
)
def test_what_any_client_takes_for_a_number_is_an_address_and_no_name(host: str) -> None:
    assert read_target(f"{host}:80") == Target(host, 80, is_address=True)


@given(st.text(max_size=60), st.text(max_size=6))
def test_what_is_read_is_written_as_it_was_but_for_the_case_of_letters(host: str, port: str) -> None:
    text = f"{host}:{port}"
    read = read_target(text)
    if isinstance(read, Target) and not text.startswith("["):
        assert str(read) == text.lower()
