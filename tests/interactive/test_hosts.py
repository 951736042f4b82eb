"""Which hosts a run may open: the first page's with its subdomains, those that were allowed, and no other port."""

from __future__ import annotations

import pytest

from components.interactive.hosts import HostRules, option_for
from components.interactive.options import RunError, start_address
from components.params import EgressParams


def rules(url: str, *allow: str, **recipe: list[str]) -> HostRules:
    return HostRules.of(url, allow, EgressParams(**recipe))


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("https://shop.example/basket", True),
        ("http://shop.example/", True),
        ("https://www.shop.example/", True),
        ("https://pay.shop.example/", True),
        ("wss://live.shop.example/", True),
        ("https://other.example/", False),
        ("https://shop.example.evil.com/", False),
        ("https://notshop.example/", False),
        ("https://bad.shop.example/", False),
        ("about:blank", True),
    ],
)
def test_the_first_host_and_its_subdomains_are_allowed(url, allowed):
    assert rules("https://www.shop.example/", blocked_hosts=["bad.shop.example"]).allows(url) is allowed


@pytest.mark.parametrize("address", ["https://pay.example", "pay.example/basket"])
def test_an_address_is_no_host(address):
    with pytest.raises(RunError, match=r"is no host name: write the host alone, such as pay.example"):
        rules("https://shop.example/", address)


def test_hosts_are_written_in_any_case():
    own = rules("https://shop.example/", "Pay.Example", blocked_hosts=["Ads.Shop.Example"])
    assert own.allows("https://pay.example/")
    assert not own.allows("https://ads.shop.example/")
    assert "ads.shop.example" in own.egress.blocked_hosts


@pytest.mark.parametrize("url", ["https://bücher.example/", start_address("https://bücher.example/")])
def test_a_host_beyond_ascii_is_allowed_as_browsers_request_it(url):
    own = rules(url, "*.müller.example")
    assert own.first == "xn--bcher-kva.example"
    assert own.allows("https://xn--bcher-kva.example/basket")
    assert own.allows("https://www.bücher.example/")
    assert own.allows("https://a.xn--mller-kva.example/")
    assert not own.allows("https://xn--bcher-kva.com/")
    assert option_for("https://müller.example:81/") == "xn--mller-kva.example:81"


@pytest.mark.parametrize("given", ["[::1]:9", "::1:9"])
def test_an_ipv6_address_may_have_brackets(given):
    own = rules("https://shop.example/", given)
    assert own.allows("http://[::1]:9/")
    assert not own.allows("http://[::1]:8/")


def test_a_server_on_this_machine_is_allowed_on_its_port_only():
    own = rules("http://127.0.0.1:8000/")
    assert own.allows("http://127.0.0.1:8000/basket")
    assert not own.allows("http://127.0.0.1:9000/")
    assert not own.allows("http://127.0.0.1/")
    assert own.egress.guard
    assert own.hosts == ["127.0.0.1:8000"]


def test_further_hosts_are_patterns_or_ports():
    more = rules("http://127.0.0.1:8000/", "*.cdn.example", "127.0.0.1:9000")
    assert more.allows("https://a.cdn.example/x.js")
    assert more.allows("http://127.0.0.1:9000/")
    assert not more.allows("https://cdn.example/")


def test_a_port_of_a_host_leaves_its_usual_one_open():
    own = rules("https://shop.example/", "shop.example:8443", "api.shop.example:8443")
    for address in ("https://shop.example/", "https://shop.example:8443/", "https://api.shop.example/"):
        assert own.allows(address)
    asked = own.with_host_of("https://pay.example:81/")
    assert asked.allows("https://pay.example:81/")
    assert asked.with_host_of("https://pay.example/").allows("https://pay.example/")


def test_a_port_of_a_public_host_opens_no_server_of_this_machine(monkeypatch):
    """A name that was public when it was allowed may lead to this machine later (DNS rebinding)."""
    monkeypatch.setattr("components.interactive.hosts._is_private", lambda host: host == "127.0.0.1")
    own = rules("https://shop.example/", "cdn.example:3000").with_host_of("http://pay.example:81/")
    assert own.allows("http://cdn.example:3000/")
    assert own.allows("http://pay.example:81/")
    assert not own.allows("http://pay.example:82/")
    assert own.egress.private_hosts == []
    assert own.with_host_of("http://127.0.0.1:9/").egress.private_hosts == ["127.0.0.1:9"]


def test_an_allowed_page_allows_its_host_alone():
    after = rules("https://shop.example/").with_host_of("https://pay.example/a", "http://127.0.0.2:81/")
    assert after.allows("https://pay.example/b")
    assert not after.allows("https://www.pay.example/")
    assert after.allows("http://127.0.0.2:81/")
    assert not after.allows("http://127.0.0.2:82/")


def test_the_option_for_an_address_has_the_port_if_it_is_unusual():
    assert option_for("https://a.example/x") == option_for("http://a.example:80/") == "a.example"
    assert option_for("http://a.example:8080/") == "a.example:8080"


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("shop.example/a", "https://shop.example/a"),
        ("localhost:8000", "http://localhost:8000"),
        ("127.0.0.1", "http://127.0.0.1"),
        ("http://shop.example", "http://shop.example"),
        ("bücher.example/a?b=ü", "https://xn--bcher-kva.example/a?b=ü"),
        ("http://ann:pw@BÜCHER.example:81/", "http://ann:pw@xn--bcher-kva.example:81/"),
    ],
)
def test_an_address_gets_a_scheme_and_a_host_in_ascii(text, url):
    assert start_address(text) == url


@pytest.mark.parametrize(
    "text",
    [
        "",
        "file:///etc/passwd",
        "ftp://a.example",
        "http://",
        "http://a:99999/",
        "chrome://x",
        "[::1",
        "http://[::1",
        "a b.example",
    ],
)
def test_what_is_no_web_page_is_refused(text):
    with pytest.raises(RunError, match="is no address of a web page: give one such as https:"):
        start_address(text)
