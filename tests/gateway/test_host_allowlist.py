"""Which hosts a list lets through, and at which addresses they may be."""

import pytest

from outweigh.errors import UsageError
from outweigh.gateway.host_allowlist import AllowedHosts


@pytest.mark.parametrize(
    ("listed", "host", "port"),
    [
        ("hub.test", "hub.test", 443),
        ("hub.test", "hub.test", 80),
        ("PyPI.org", "pypi.ORG.", 443),
        ("git.example.org:8443", "git.example.org", 8443),
        ("*.example.org", "a.example.org", 443),
        ("*.example.org", "deep.er.example.org", 443),
        ("*.example.org:81", "a.example.org", 81),
        ("192.0.2.1", "192.0.2.1", 80),
        ("192.0.2.1", "::ffff:192.0.2.1", 80),
        ("[2001:db8::1]:8080", "2001:DB8:0:0::1", 8080),
        ("bücher.example", "xn--bcher-kva.example", 443),
        ("localhost:3000", "localhost", 3000),
    ],
)
def test_what_is_listed_may_be_asked_for(listed: str, host: str, port: int) -> None:
    assert AllowedHosts([listed]).allows(host, port)


@pytest.mark.parametrize(
    ("listed", "host", "port"),
    [
        ("hub.test", "evil-hub.test", 443),
        ("hub.test", "hub.test.evil.example", 443),
        ("hub.test", "files.hub.test", 443),
        ("hub.test", "hub.test", 22),
        ("hub.test:8443", "hub.test", 443),
        ("*.example.org", "example.org", 443),
        ("*.example.org", "evilexample.org", 443),
        ("*.example.org", "93.184.216.34", 443),
        ("192.0.2.1", "192.0.2.10", 80),
        ("127.0.0.1", "2130706433", 80),
        ("hub.test", "", 443),
    ],
)
def test_what_is_not_listed_may_not(listed: str, host: str, port: int) -> None:
    assert not AllowedHosts([listed]).allows(host, port)


def test_an_empty_list_lets_nobody_through() -> None:
    assert not AllowedHosts([]).allows("hub.test", 443)


@pytest.mark.parametrize(
    "inside",
    [
        *(
            "127.0.0.1",
            "10.1.2.3",
            "192.168.1.1",
            "172.16.0.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "224.0.0.1",
        ),
        *("::1", "fe80::1", "fd00::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "::"),
    ],
)
def test_a_name_below_a_wildcard_must_not_lead_inside(inside: str) -> None:
    hosts = AllowedHosts(["*.example.org"])

    assert not hosts.allows_address("a.example.org", 443, inside)
    assert hosts.allows_address("a.example.org", 443, "93.184.216.34")
    assert hosts.allows_address("a.example.org", 443, "2606:2800:220:1::1")


def test_what_is_listed_as_it_stands_may_lead_inside() -> None:
    assert AllowedHosts(["intern.example.org"]).allows_address("intern.example.org", 443, "10.1.2.3")
    assert AllowedHosts(["*.example.org", "10.1.2.3"]).allows_address("a.example.org", 443, "10.1.2.3")
    assert not AllowedHosts(["*.example.org", "10.1.2.3:81"]).allows_address("a.example.org", 443, "10.1.2.3")
    assert AllowedHosts(["127.0.0.1:5"]).allows_address("127.0.0.1", 5, "127.0.0.1")


@pytest.mark.parametrize(
    "entry",
    [
        *("", "*", "*.", "https://hub.test", "hub.test/simple", "user@hub.test", "hub.test:0", "hub.test:99999"),
        *("hub.test:https", "a b", "*.[::1]", "*hub.test", "a.*.org", ".".join(["ü" * 80] * 4)),
    ],
)
def test_what_is_no_host_is_refused_with_an_example(entry: str) -> None:
    with pytest.raises(UsageError, match=r"allow_hosts.*files"):
        AllowedHosts([entry])
