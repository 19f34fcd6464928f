import pytest

from autopilot.runner.network.names import Refusal
from autopilot.runner.network.policy import Asked, Policy, Way, reading_from, service_at


def endpoints(*urls: str) -> Policy:
    services = [found for url in urls if (found := service_at(url)) is not None]
    assert len(services) == len(urls)
    return Policy((*reading_from(["docs.example", "pypi.org"]), *services))


POLICY = endpoints("https://api.vendor.example", "http://127.0.0.1:8123", "http://models.local:9000/v1")


def judged(method: str, target: str, *hosts: str, has_body: bool = False) -> str:
    way = POLICY.judge(Asked(method=method, target=target, hosts=hosts, has_body=has_body))
    return way.code if isinstance(way, Refusal) else f"{way.endpoint.target} {way.path}"


@pytest.mark.covers("I01")
@pytest.mark.parametrize(
    ("method", "target", "expected"),
    [
        ("CONNECT", "docs.example:443", "docs.example:443 None"),
        ("CONNECT", "DOCS.example:443", "docs.example:443 None"),
        ("GET", "http://docs.example/a?b=http://evil.example/", "docs.example:80 /a?b=http://evil.example/"),
        ("HEAD", "HTTP://docs.example", "docs.example:80 /"),
        ("GET", "http://docs.example:80?q", "docs.example:80 /?q"),
        ("CONNECT", "api.vendor.example:443", "api.vendor.example:443 None"),
        ("POST", "http://models.local:9000/v1/messages", "models.local:9000 /v1/messages"),
        ("CONNECT", "127.0.0.1:8123", "127.0.0.1:8123 None"),
        ("CONNECT", "evil.example:443", "host"),
        ("CONNECT", "docs.example.evil.example:443", "host"),
        ("CONNECT", "notdocs.example:443", "host"),
        ("CONNECT", "example:443", "host"),
        ("CONNECT", "docs.example:22", "port"),
        ("CONNECT", "docs.example:8443", "port"),
        ("CONNECT", "127.0.0.1:8124", "ip-literal"),
        ("CONNECT", "2130706433:8123", "ip-literal"),
        ("CONNECT", "0x7f.1:8123", "ip-literal"),
        ("CONNECT", "[::1]:8123", "ip-literal"),
        ("CONNECT", "[::ffff:127.0.0.1]:8123", "ip-literal"),
        ("CONNECT", "169.254.169.254:80", "ip-literal"),
        ("CONNECT", "localhost:8123", "host"),
        ("CONNECT", "docs.example:80", "tunnel-plain"),
        ("GET", "http://docs.example:443/", "not-encrypted"),
        ("GET", "https://docs.example/", "not-for-a-proxy"),
        ("GET", "/etc/passwd", "not-for-a-proxy"),
        ("GET", "file:///etc/passwd", "not-for-a-proxy"),
        ("GET", "ftp://docs.example/", "not-for-a-proxy"),
        ("OPTIONS", "*", "not-for-a-proxy"),
        ("GET", "http://docs.example@evil.example/", "userinfo"),
        ("GET", "http://evil.example#@docs.example/", "path-malformed"),
        ("GET", "http://evil.example\\@docs.example/", "path-malformed"),
        ("GET", "http://docs.example\\.evil.example/", "path-malformed"),
        ("GET", "http://docs.example#.evil.example", "path-malformed"),
        ("GET", "http:///docs.example/", "host-malformed"),
        ("GET", "http://docs.example.:80/", "trailing-dot"),
    ],
)
def test_a_request_goes_where_the_list_says_or_nowhere(method: str, target: str, expected: str) -> None:
    assert judged(method, target) == expected


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "get"])
def test_what_is_only_read_from_is_asked_by_get_and_head_alone(method: str) -> None:
    assert judged(method, "http://docs.example/") == "method"


@pytest.mark.covers("I04")
def test_a_request_that_carries_a_body_goes_to_the_agents_own_service_only() -> None:
    assert judged("GET", "http://docs.example/", has_body=True) == "body"
    assert judged("POST", "http://models.local:9000/", has_body=True) == "models.local:9000 /"


@pytest.mark.parametrize(
    ("target", "host", "expected"),
    [
        ("docs.example:443", "docs.example:443", "docs.example:443 None"),
        ("docs.example:443", "docs.example", "docs.example:443 None"),
        ("docs.example:443", "evil.example", "host-mismatch"),
        ("docs.example:443", "docs.example:80", "host-mismatch"),
        ("docs.example:443", "", "host-mismatch"),
        ("docs.example:443", "docs.example, evil.example", "host-mismatch"),
    ],
)
def test_a_host_header_must_name_the_same_place(target: str, host: str, expected: str) -> None:
    assert judged("CONNECT", target, host) == expected
    plain = judged("GET", "http://docs.example/", "evil.example")
    assert plain == "host-mismatch"


def test_an_empty_list_lets_nothing_out() -> None:
    asked = Asked(method="CONNECT", target="docs.example:443", hosts=())
    assert isinstance(Policy().judge(asked), Refusal)


@pytest.mark.parametrize(
    "url", ["", "api.vendor.example", "ftp://x.example", "https://", "https://x.example:99999", "x:y"]
)
def test_an_address_that_names_no_service_adds_nothing(url: str) -> None:
    assert service_at(url) is None


def test_a_service_is_known_by_its_scheme_host_and_port() -> None:
    way = POLICY.judge(Asked(method="CONNECT", target="api.vendor.example:443", hosts=()))
    assert isinstance(way, Way)
    assert (way.endpoint.is_tls, way.endpoint.writes) == (True, True)
    near = service_at("http://[::1]:11434/v1")
    assert near is not None
    assert (str(near.target), near.is_tls, near.may_be_near) == ("[::1]:11434", False, True)
