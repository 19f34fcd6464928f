import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autopilot.runner.network.addresses import is_public


@pytest.mark.parametrize(
    "address",
    [
        *(
            "127.0.0.1",
            "127.255.255.254",
            "0.0.0.0",  # noqa: S104 - the address is the data
            "10.1.2.3",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
        ),
        *("169.254.169.254", "169.254.0.1", "100.64.0.1", "100.127.255.255", "100.100.100.200"),
        *(
            "192.0.0.192",
            "198.18.0.1",
            "198.19.255.255",
            "203.0.113.9",
            "224.0.0.1",
            "239.1.1.1",
            "255.255.255.255",
        ),
        *("168.63.129.16", "192.88.99.1", "240.0.0.1"),
        *("::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "ff02::1", "::ffff:127.0.0.1"),
        *(
            "::ffff:10.0.0.1",
            "::ffff:a9fe:a9fe",
            "64:ff9b::7f00:1",
            "64:ff9b::169.254.169.254",
            "64:ff9b:1::1",
        ),
        *("2002:7f00:1::", "2001::1", "2001:db8::1", "100::1", "::127.0.0.1", "5f00::1", "fec0::1"),
        *("localhost", "", "1.1.1", "01.1.1.1", "2606:4700::1111%1"),
    ],
)
def test_what_is_near_is_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        "1.1.1.1",
        "151.101.0.223",
        "172.32.0.1",
        "100.128.0.1",
        "2606:4700::1111",
        "64:ff9b::1.1.1.1",
        "::ffff:1.1.1.1",
    ],
)
def test_an_ordinary_address_is_public(address: str) -> None:
    assert is_public(address)


@given(st.ip_addresses())
def test_nothing_is_public_that_the_standard_library_knows_to_be_private(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    if address.is_private or address.is_loopback or address.is_link_local or address.is_multicast:
        assert not is_public(str(address)) or getattr(address, "ipv4_mapped", None) is not None
