"""robots.txt, asked through the egress guard of hosts on loopback."""

from __future__ import annotations

import asyncio

import pytest

from components.browser.egress import allows
from components.browser.robots import disallowed
from components.params import EgressParams
from tests.benchmarks.price_shops import Shop

RULES = "User-agent: *\nDisallow: /lamp\n\nUser-agent: waymark\nDisallow: /table\n"


@pytest.fixture
def shops():
    made = [
        Shop("127.0.0.2", RULES),
        Shop("127.0.0.3", "User-agent: *\nDisallow: /lamp\n"),
        Shop("127.0.0.4"),
        Shop("127.0.0.5", "down", robots_status=503),
    ]
    yield made
    for shop in made:
        shop.close()


def ask(shops: list[Shop], urls: list[str], **egress: object) -> dict[str, str]:
    private = [f"{shop.host}:{shop.port}" for shop in shops]
    return asyncio.run(disallowed(urls, EgressParams(**{"private_hosts": private, **egress})))


def test_our_own_robots_rules_come_first_and_each_site_is_asked_once(shops):
    ours, others, none, down = (shop.origin for shop in shops)
    urls = [f"{ours}/lamp", f"{ours}/table", f"{others}/lamp", f"{others}/chair", f"{none}/lamp", f"{down}/lamp"]
    said = ask(shops, [*urls, *urls])
    assert said == {
        f"{ours}/table": f"{ours}/robots.txt disallows it",
        f"{others}/lamp": f"{others}/robots.txt disallows it",
        f"{down}/lamp": f"{down}/robots.txt disallows it",  # a server in trouble is left alone (RFC 9309, 2.3.1.4)
    }
    assert [shop.asked_robots for shop in shops] == [1, 1, 1, 1]


@pytest.mark.parametrize(
    "rules",
    [
        "\ufeffUser-agent: *\nDisallow: /",
        "User-agent: *\n\nDisallow: /\n",
        "User-agent: *\nDisallow: //[\nDisallow: //a：b/\nDisallow: /\n",  # paths that Python's parser cannot read
    ],
)
def test_a_byte_order_mark_and_blank_lines_drop_no_rule(rules):
    shop = Shop("127.0.0.6", rules)
    try:
        assert [*ask([shop], [f"{shop.origin}/lamp"])] == [f"{shop.origin}/lamp"]
    finally:
        shop.close()


def test_a_site_that_does_not_answer_is_left_to_the_episodes(shops):
    assert ask(shops, ["http://no-such-host.invalid/lamp", "http://127.0.0.9:9/lamp"], guard=False) == {}
    assert ask(shops, ["http://no-such-host.invalid/lamp", "https://no-such-host.invalid/", "http://127.0.0.9/x"]) == {}


def test_a_host_that_the_guard_forbids_is_not_asked(shops):
    assert ask(shops, [f"{shops[0].origin}/table"], private_hosts=[], allowed_hosts=["*"]) == {}
    assert shops[0].asked_robots == 0


@pytest.mark.parametrize(
    ("url", "is_allowed"),
    [
        ("https://www.example.org/a", True),
        ("https://example.org/", False),  # *.example.org is its subdomains
        ("http://bad.example.org/", False),
        ("http://127.0.0.2:8080/", True),
        ("http://127.0.0.2:8081/", False),
        ("http://shop.internal/", True),
    ],
)
def test_allows_agrees_with_the_guards_rules_by_name(url, is_allowed):
    egress = EgressParams(
        allowed_hosts=["*.example.org"],
        blocked_hosts=["bad.*"],
        private_hosts=["127.0.0.2:8080", "shop.internal"],
    )
    assert allows(egress, url) is is_allowed
