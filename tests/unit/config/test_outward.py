import pytest

from autopilot.config.outward import Outward, Proxy, outward, past_here
from autopilot.schemas.errors import ConfigError


def test_a_host_without_a_proxy_goes_out_by_itself() -> None:
    assert outward({}) == Outward()
    assert outward({}).proxy_for("pypi.org", is_tls=True) is None


def test_each_kind_of_connection_has_its_own_proxy_and_one_may_serve_both() -> None:
    both = outward({"HTTPS_PROXY": "http://a:3128", "http_proxy": "b:8080"})
    assert both.proxy_for("pypi.org", is_tls=True) == Proxy("a", 3128)
    assert both.proxy_for("pypi.org", is_tls=False) == Proxy("b", 8080)
    assert outward({"ALL_PROXY": "http://c"}).https == Proxy("c", 80)


def test_the_login_is_read_and_never_shown() -> None:
    proxy = outward({"https_proxy": "http://me:p%40ss@a:3128"}).https
    assert proxy is not None
    assert proxy.authorization == "Basic bWU6cEBzcw=="
    assert "bWU6" not in repr(proxy)


@pytest.mark.parametrize(
    ("host", "is_direct"),
    [
        ("corp.example", True),
        ("x.corp.example", True),
        ("xcorp.example", False),
        ("pypi.org", False),
        ("here", True),
    ],
)
def test_names_that_need_no_proxy_are_reached_directly(host: str, is_direct: bool) -> None:
    out = outward({"https_proxy": "http://a:1", "NO_PROXY": ".corp.example, here"})
    assert (out.proxy_for(host, is_tls=True) is None) is is_direct
    assert outward({"https_proxy": "http://a:1", "no_proxy": "*"}).proxy_for(host, is_tls=True) is None


@pytest.mark.parametrize("url", ["https://a:1", "socks5://a:1", "http://", "http://a:x", "http://a:99999"])
def test_a_proxy_that_we_cannot_speak_to_is_said_and_not_passed_by(url: str) -> None:
    with pytest.raises(ConfigError) as refused:
        outward({"https_proxy": url})
    assert refused.value.code == "proxy-unusable"
    assert "HTTPS_PROXY" in refused.value.hint


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "127.0.0.1", "127.9.9.9", "::1"])
def test_nothing_stands_between_us_and_this_machine(host: str) -> None:
    both = outward({"http_proxy": "http://a:1", "https_proxy": "http://a:1"})
    assert both.proxy_for(host, is_tls=False) is None
    assert both.proxy_for(host, is_tls=True) is None


@pytest.mark.parametrize("host", ["10.0.0.1", "localhost.example", "::ffff:10.0.0.1", "128.0.0.1"])
def test_a_neighbour_is_not_this_machine(host: str) -> None:
    assert outward({"http_proxy": "http://a:1"}).proxy_for(host, is_tls=False) == Proxy("a", 1)


@pytest.mark.parametrize(
    ("environment", "names"),
    [
        ({}, "localhost,127.0.0.1,::1,127.0.0.0/8"),
        ({"NO_PROXY": ".corp, x"}, ".corp, x,localhost,127.0.0.1,::1,127.0.0.0/8"),
        ({"NO_PROXY": "big", "no_proxy": "small"}, "small,localhost,127.0.0.1,::1,127.0.0.0/8"),
        ({"no_proxy": " * "}, "*"),
    ],
)
def test_a_program_of_ours_goes_past_every_proxy_to_this_machine(
    environment: dict[str, str], names: str
) -> None:
    assert past_here(environment) == {"no_proxy": names, "NO_PROXY": names}
