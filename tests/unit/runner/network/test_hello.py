import pytest
from hypothesis import given
from hypothesis import strategies as st

from autopilot.runner.network.hello import NoHelloError, server_name
from tests.support.hellos import client_hello, in_records

HELLO = client_hello("docs.example")


def test_the_name_that_a_real_client_asks_for_is_read() -> None:
    assert server_name(HELLO) == "docs.example"
    assert server_name(client_hello("DOCS.example")) == "docs.example"
    assert server_name(HELLO + b"\x14\x03\x03\x00\x01\x01") == "docs.example"


def test_a_message_that_is_not_all_there_yet_is_waited_for() -> None:
    assert [server_name(HELLO[:size]) for size in range(len(HELLO))] == [None] * len(HELLO)


@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_a_message_in_many_records_is_put_together(size: int) -> None:
    assert server_name(in_records(HELLO, size)) == "docs.example"


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"\x80\x2e\x01\x00\x02",
        b"\x16\x02\x00\x00\x05",
        b"\x16\x03\x01\x00\x00",
        b"\x16\x03\x01\xff\xff",
        b"\x16\x03\x01\x00\x04\x02\x00\x00\x00",
        b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00",
    ],
)
def test_what_does_not_begin_as_tls_does_is_refused(data: bytes) -> None:
    with pytest.raises(NoHelloError):
        server_name(data)


def test_a_client_that_names_no_server_is_refused() -> None:
    with pytest.raises(NoHelloError):
        server_name(client_hello(None))


@given(st.binary(max_size=400), st.integers(0, 300))
def test_no_bytes_do_more_than_be_refused(noise: bytes, at: int) -> None:
    for data in (
        noise,
        b"\x16\x03\x01" + noise,
        HELLO[:at] + noise,
        HELLO[:at] + noise + HELLO[at + len(noise) :],
    ):
        try:
            name = server_name(data)
        except NoHelloError:
            continue
        assert name is None or name.isascii()
