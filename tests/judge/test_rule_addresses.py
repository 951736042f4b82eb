from __future__ import annotations

import pytest

from components.judge.rules.addresses import leads_to, reddit_post

SHOP = "http://shop.example:7770"


@pytest.mark.parametrize(
    ("reference", "address"),
    [
        ("/contact", "/contact"),
        ("/contact", "/contact/"),
        ("/contact/", "/contact"),
        ("/contact", "/contact/index/index"),
        ("/sales/order/", "/sales/order/view/order_id/3/"),
        ("/a?x=1&y=2", "/a?y=2&x=1&page=3"),
        ("/issues/?label_name%5B%5D=help%20wanted", "/issues/?sort=up&label_name[]=help+wanted"),
        ("/issues/?label_name%5B%5D=bug", "/issues?label_name[]=ui&label_name[]=bug"),
        ("/result/?q=%20iphone%2012%20case", "/result/?q=iphone+12+case"),
        ("/f/earthporn", "/f/EarthPorn/3/a-post"),
        ("/a%20b", "/a b"),
        ("/../jaw.html", "/jaw.html"),
        ("/x", "/x#reviews"),
        ("/a?key=", "/a?key="),
    ],
)
def test_addresses_with_allowed_differences_lead_to_the_reference(reference, address):
    assert leads_to(SHOP + reference, SHOP + address)


@pytest.mark.parametrize(
    ("reference", "address"),
    [
        ("/f/books", "/f/bookshelf"),
        ("/issues/1", "/issues/18"),
        ("/a?x=1", "/a"),
        ("/a?x=1", "/a?x=12"),
        ("/a?key=", "/a"),
        ("/a/b", "/a"),
        ("/contact", "/search?next=" + SHOP + "/contact"),
    ],
)
def test_other_addresses_do_not_lead_to_the_reference(reference, address):
    assert not leads_to(SHOP + reference, SHOP + address)


def test_another_host_or_port_is_another_site():
    assert not leads_to("http://a.example/x", "http://b.example/x")
    assert not leads_to("http://a.example:1/x", "http://a.example:2/x")
    assert not leads_to("http://a.example/x", "http://b.example/a.example/x")
    assert leads_to("http://A.example:80/x", "http://a.example/x")
    assert leads_to("http://localhost:8080/x", "http://127.0.0.1:8080/x")


def test_a_text_that_is_no_address_leads_nowhere():
    assert not leads_to("http://a.example/x", "http://[x")


def test_an_exact_address_does_not_lie_below():
    assert leads_to(SHOP + "/contact", SHOP + "/contact/?x=1", exact=True)
    assert not leads_to(SHOP + "/contact", SHOP + "/contact/index", exact=True)


def test_the_fragment_of_an_exact_address_counts():
    payment = SHOP + "/checkout/#payment"
    assert leads_to(payment, SHOP + "/checkout#payment", exact=True)
    assert not leads_to(payment, SHOP + "/checkout/#shipping", exact=True)
    assert leads_to(SHOP + "/checkout/", SHOP + "/checkout/#shipping", exact=True)


@pytest.mark.parametrize(
    ("address", "post"),
    [
        ("http://r:9999/f/books/59421/friendly-reminder", "http://r:9999/f/books/59421/"),
        ("http://r:9999/f/books/59421/-/comment/8", "http://r:9999/f/books/59421/"),
        ("http://r:9999/f/books", "http://r:9999/f/books"),
        ("http://r:9999/user/ann/account/x", "http://r:9999/user/ann/account/x"),
    ],
)
def test_the_post_is_read_from_an_address(address, post):
    assert reddit_post(address) == post
