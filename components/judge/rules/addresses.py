"""Whether an episode ended at the right address (`url_match`).

An alternative (`A |OR| B`) matches if the host is the same, the reference's path is the page's path or a beginning of
it, and the page's query has all values of the reference's query. Other values in the query and their order do not
matter; the fragment does only if an exact reference has one (`/checkout/#payment`). The published evaluators differ:

- WebArena pools the queries of all alternatives: with `/headphones.html |OR| /electronics.html?cat=60`, an end at the
  first is wrong unless `cat=60` is in its query. Here each alternative has its own query.
- "GOLD in PRED" is a substring test in WebArena: `/f/books` is in `/f/bookshelf`, `/issues/1` in `/issues/18`, and an
  address in the query of any other site counts. Here whole segments of the path count, from its beginning.
- WebArena-Lite searches the address for the whole reference with its query: parameters in another order fail.
- Here paths and values are compared decoded, without case and outer spaces: the sites redirect `/f/earthporn` to
  `/f/EarthPorn`, and a search for " iphone 12" is the same as one for "iphone 12". In the published code such
  references cannot be met.
- A row without `url_note` is "GOLD in PRED" in WebArena and exact in WebArena-Lite; here it is the former (18 rows, all
  of them the page of one issue).
"""

from __future__ import annotations

from posixpath import normpath
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit


def leads_to(reference: str, address: str, exact: bool = False) -> bool:
    """Whether an address is, or lies below, the reference.

    Args:
        exact: the paths must be the same.
    """
    expected, actual = urlsplit(reference.strip()), _parts(address)
    if _host(expected.netloc, expected.scheme) != _host(actual.netloc, actual.scheme):
        return False
    expected_path, actual_path = _segments(expected.path), _segments(actual.path)
    if expected_path != (actual_path if exact else actual_path[: len(expected_path)]):
        return False
    if exact and expected.fragment not in ("", actual.fragment):
        return False
    query = _values(actual.query)
    return all(values <= query.get(name, set()) for name, values in _values(expected.query).items())


def reddit_post(address: str) -> str:
    """The post's page of an address in the forum (Postmill); any other address unchanged."""
    parts = _parts(address)
    segments = parts.path.split("/")
    if len(segments) < 4 or segments[1] != "f":
        return address
    return f"{parts.scheme}://{parts.netloc}/f/{segments[2]}/{segments[3]}/"


def is_address(address: str) -> bool:
    """Whether a text can be read as an address; `http://[x/` cannot."""
    try:
        urlsplit(address.strip())
    except ValueError:
        return False
    return True


def origin_of(address: str) -> str:
    """Scheme and host of an address."""
    parts = _parts(address)
    return f"{parts.scheme}://{parts.netloc}"


def _parts(address: str) -> SplitResult:
    """Splits an address into its parts. All are empty if the text is not a valid address, such as `http://[x`."""
    try:
        return urlsplit(address)
    except ValueError:
        return urlsplit("")


def _host(netloc: str, scheme: str) -> str:
    default = {"http": ":80", "https": ":443"}.get(scheme, "")
    host = netloc.rpartition("@")[2].lower().removesuffix(default)
    return host.replace("127.0.0.1", "localhost", 1) if host.startswith("127.0.0.1") else host


def _segments(path: str) -> list[str]:
    return [part for part in normpath("/" + unquote(path).casefold()).split("/") if part]


def _values(query: str) -> dict[str, set[str]]:
    parameters = parse_qs(query, keep_blank_values=True)
    return {name: {" ".join(value.casefold().split()) for value in values} for name, values in parameters.items()}
