"""Host names of a recipe are compared with those that browsers request, so they are written as browsers write them."""

from __future__ import annotations

import pytest

from components.params import EgressParams


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("Shop.Example", "shop.example"),
        ("*.bücher.example", "*.xn--bcher-kva.example"),
        ("BÜCHER.example:8443", "xn--bcher-kva.example:8443"),
        ("straße.de", "xn--strae-oqa.de"),  # `new URL("https://straße.de").hostname` in Chromium; ß is not ss
        ("日本語。ＪＰ", "xn--wgv71a119e.jp"),
        ("[::1]:9", "::1:9"),
        ("[::1]", "::1"),
        ("::1:9", "::1:9"),
        ("[ab].example:80", "[ab].example:80"),
        ("*", "*"),
    ],
)
def test_a_host_is_written_as_browsers_write_it(text: str, pattern: str) -> None:
    assert EgressParams(allowed_hosts=[text]).allowed_hosts == [pattern]


def test_a_wildcard_beside_letters_beyond_ascii_is_refused() -> None:
    with pytest.raises(ValueError, match="bü\\* has a wildcard beside letters beyond ASCII: write this part in full"):
        EgressParams(allowed_hosts=["bü*.example"])
