"""Answers and network events derived from each row of webarena-verified: right, right in another form, and wrong ones.

Each kind of variation knows the types that it changes (`results_schema`), so a row has a case of a kind only where it
has a value of that type. The forms are those of the package's own tests (`tests/api/format_variations_utils.py`),
written anew.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any, NamedTuple

SITES = {
    "shopping": "http://shop.example:7770",
    "shopping_admin": "http://shop.example:7780/admin",
    "reddit": "http://forum.example:9999",
    "gitlab": "http://git.example:8023",
    "map": "http://map.example:3000",
    "wikipedia": "http://wiki.example:8888",
}
WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_UNITS = {"km": 1000.0, "mi": 1609.34, "m": 1.0}
_DATES = ("%B %d, %Y", "%B %d %Y", "%b %d, %Y", "%b %d %Y", "%d %B %Y", "%Y-%m-%d", "%m/%d/%Y", "%d %b %Y")
Change = Callable[[Any], Any]
"""Makes another value of one; None where it has no such form."""


class Case(NamedTuple):
    """One answer to a row with the network events of its episode. `kind` says what they are; right ones begin with
    "right", wrong ones with "wrong", and those of rows with a pattern in their references with "unknown"."""

    task_id: int
    kind: str
    answer: str
    entries: list[dict[str, Any]]


def money(form: str) -> Change:
    return lambda value: form.format(float(value)) if isinstance(value, int | float) else None


def minutes(value: Any) -> int | None:
    """The minutes of a duration such as `1hr 35min` or `01:33:00`."""
    if clock := re.fullmatch(r"(\d+):(\d+):(\d+)", str(value)):
        return int(clock[1]) * 60 + int(clock[2])
    hours, rest = re.search(r"(\d+)\s*h", str(value)), re.search(r"(\d+)\s*m", str(value))
    return int(hours[1] if hours else 0) * 60 + int(rest[1] if rest else 0) if hours or rest else None


def duration(form: Callable[[int, int], str], change: Callable[[int], float] = lambda total: total) -> Change:
    def changed(value: Any) -> Any:
        total = minutes(value)
        return None if total is None else form(*divmod(round(change(total)), 60))

    return changed


def distance(unit: str, factor: float = 1.0) -> Change:
    def changed(value: Any) -> Any:
        parts = re.fullmatch(r"([\d.]+)\s*(km|mi|m)\b.*", str(value))
        return f"{float(parts[1]) * _UNITS[parts[2]] * factor / _UNITS[unit]:.6f}{unit}" if parts else None

    return changed


def date(form: str, days: int = 0) -> Change:
    def changed(value: Any) -> Any:
        for known in _DATES:
            try:
                return (datetime.strptime(str(value), known) + timedelta(days=days)).strftime(form)
            except ValueError:
                continue
        return None

    return changed


def month(form: str, later: int = 0) -> Change:
    def changed(value: Any) -> Any:
        try:
            number = datetime.strptime(str(value)[:3], "%b").month
        except ValueError:
            return None
        return datetime(2022, (number - 1 + later) % 12 + 1, 1).strftime(form)

    return changed


def word(value: Any) -> Any:
    return WORDS[value] if isinstance(value, int) and not isinstance(value, bool) and value < len(WORDS) else None


def plain_text(change: Callable[[str], str]) -> Change:
    """A change of a text that is no pattern."""
    return lambda value: change(value) if isinstance(value, str) and value and not value.startswith("^") else None


SAME: dict[tuple[str, str], Change] = {
    ("currency", "with a sign"): money("${:.2f}"),
    ("currency", "with groups"): money("${:,.2f}"),
    ("currency", "as text"): money("{:.2f}"),
    ("duration", "in words"): duration(lambda hours, rest: f"{hours} hours {rest} minutes"),
    ("duration", "short"): duration(lambda hours, rest: f"{hours}h{rest}m"),
    ("duration", "in minutes"): duration(lambda hours, rest: f"{60 * hours + rest} minutes"),
    ("distance", "in metres"): distance("m"),
    ("distance", "in kilometres"): distance("km"),
    ("distance", "in miles"): distance("mi"),
    ("boolean", "as text"): lambda value: "true" if value else "false",
    ("boolean", "as a word"): lambda value: "yes" if value else "no",
    ("number", "as text"): str,
    ("number", "as a word"): word,
    ("date", "ISO"): date("%Y-%m-%d"),
    ("date", "American"): date("%m/%d/%Y"),
    ("date", "short"): date("%b %d, %Y"),
    ("month", "whole"): month("%B"),
    ("month", "short"): month("%b"),
    ("string", "in capitals"): plain_text(str.upper),
}
"""The same value in another form, by type."""
OTHER: dict[tuple[str, str], Change] = {
    ("currency", "one more"): lambda value: value + 1 if isinstance(value, int | float) else None,
    ("duration", "twice and ten minutes"): duration(lambda h, m: f"{h}h{m}m", lambda total: 2 * total + 10),
    ("distance", "half as far again"): distance("m", 1.5),
    ("boolean", "the opposite"): lambda value: not value,
    ("number", "one more"): lambda value: value + 1 if isinstance(value, int | float) else None,
    ("date", "40 days later"): date("%B %d, %Y", 40),
    ("month", "the next"): month("%B", 1),
    ("string", "with a word more"): plain_text(lambda text: f"{text} nonsense"),
    ("location-name", "another"): plain_text(lambda text: "Nowhere Inn"),
}
"""Another value, by type."""


def response(row: dict[str, Any]) -> dict[str, Any]:
    """The answer that a row expects, with the first of each list of alternatives."""
    (check,) = [check for check in row["eval"] if check["evaluator"] == "AgentResponseEvaluator"]
    expected = {"retrieved_data": None} | copy.deepcopy(check["expected"])
    if expected["retrieved_data"] is not None:
        items = check["results_schema"].get("items", {})
        expected["retrieved_data"] = [_first(value, items) for value in expected["retrieved_data"]]
    return expected


def _first(value: Any, schema: dict[str, Any]) -> Any:
    if isinstance(value, list) and schema.get("type") != "array":
        return _first(value[0], schema)
    if isinstance(value, dict):
        kinds = schema.get("properties", {})
        return {key: _first(part, kinds.get(key, {})) for key, part in value.items()}
    return value


def has_pattern(value: Any) -> bool:
    """Whether a value, or a part of it, is a regular expression, which is no answer itself."""
    return '"^' in json.dumps(value)


def changed(row: dict[str, Any], kind: str, change: Change) -> dict[str, Any] | None:
    """The expected answer with each value of a type changed; None if it has none, or one that cannot be changed."""
    (check,) = [check for check in row["eval"] if check["evaluator"] == "AgentResponseEvaluator"]
    answer = response(row)
    found: list[bool] = []

    def walk(value: Any, schema: dict[str, Any]) -> Any:
        if value is None:
            return None
        if schema.get("type") == "object" and isinstance(value, dict):
            kinds = schema.get("properties", {})
            return {key: walk(part, kinds.get(key, {})) for key, part in value.items()}
        if schema.get("type") == "array" and isinstance(value, list):
            return [walk(part, schema.get("items", {})) for part in value]
        if schema.get("format", schema.get("type")) != kind:
            return value
        new = change(value)
        found.append(new is not None)
        return value if new is None else new

    items = check["results_schema"].get("items", {})
    if not isinstance(answer["retrieved_data"], list):
        return None
    answer["retrieved_data"] = [walk(value, items) for value in answer["retrieved_data"]]
    return answer if found and all(found) else None


def events(row: dict[str, Any]) -> list[dict[str, Any]] | None:
    """The network events that a row expects, as entries of a HAR; None if an address or a value is a pattern."""
    checks = [check for check in row["eval"] if check["evaluator"] == "NetworkEventEvaluator"]
    entries = [entry("GET", SITES[row["sites"][0]] + "/")]
    for check in checks:
        expected = check["expected"]
        if check.get("should_not_exist"):
            continue
        if has_pattern(expected) or "$." in json.dumps(expected) or check.get("decode_base64_query"):
            return None
        address = _first(expected["url"], {})
        for site, place in sorted(SITES.items(), key=lambda item: -len(item[0])):
            address = address.replace(f"__{site.upper()}__", place)
        if query := expected.get("query_params"):
            pairs = [f"{name}={_first(value, {})}" for name, value in query.items()]
            address += ("&" if "?" in address else "?") + "&".join(pairs)
        made = entry(expected.get("http_method", "GET"), address, expected.get("response_status", 200))
        for name, value in expected.get("headers", {}).items():
            place = str(_first(value, {}))
            for site, origin in SITES.items():
                place = place.replace(f"__{site.upper()}__", origin)
            made["request"]["headers"].append({"name": name, "value": place})
        if body := expected.get("post_data"):
            values = {name: _first(value, {}) for name, value in body.items()}
            made["request"]["postData"] = {"mimeType": "application/json", "text": json.dumps(values)}
        if content := expected.get("response_content"):
            made["response"]["content"] = {"mimeType": "application/json", "text": json.dumps(content)}
        entries.append(made)
    return entries


def entry(method: str, url: str, status: int = 200) -> dict[str, Any]:
    """A request of a page by its user."""
    headers = [
        {"name": "Accept", "value": "text/html,application/xhtml+xml"},
        {"name": "Sec-Fetch-Dest", "value": "document"},
        {"name": "Sec-Fetch-Mode", "value": "navigate"},
        {"name": "Sec-Fetch-User", "value": "?1"},
    ]
    answer = {"status": status, "redirectURL": "", "headers": [], "cookies": [], "content": {"mimeType": "text/html"}}
    return {"request": {"method": method, "url": url, "headers": headers}, "response": answer}


def cases(row: dict[str, Any]) -> Iterator[Case]:
    """All cases of a row; the network events of answers are the right ones, where they are known."""
    right, seen = response(row), events(row)
    entries = seen or [entry("GET", SITES[row["sites"][0]] + "/")]
    number = row["task_id"]

    def case(kind: str, answer: Any, events: list[dict[str, Any]] = entries) -> Case:
        return Case(number, kind, answer if isinstance(answer, str) else json.dumps(answer), events)

    known = "" if seen and not has_pattern(right) else "unknown "
    yield case(f"{known}right", right)
    yield case(f"{known}right: fenced", f"I looked it up.\n```json\n{json.dumps(right, indent=1)}\n```")
    yield case(f"{known}right: in capitals", right | {key: right[key].upper() for key in ("task_type", "status")})
    for (kind, form), change in SAME.items():
        if (answer := changed(row, kind, change)) is not None:
            yield case(f"{kind} {form}", answer)
    for (kind, form), change in OTHER.items():
        if (answer := changed(row, kind, change)) is not None:
            yield case(f"wrong: {kind} {form}", answer)
    yield case("wrong: no answer", "")
    yield case("wrong: plain text", "It is done.")
    yield case("wrong: another status", right | {"status": "UNKNOWN_ERROR"})
    yield case("wrong: another type of task", right | {"task_type": "none of them"})
    if right["retrieved_data"]:
        yield case("wrong: one value less", right | {"retrieved_data": right["retrieved_data"][1:]})
        yield case("wrong: one value more", right | {"retrieved_data": [*right["retrieved_data"], "one more"]})
    if seen is not None and len({made["request"]["url"].rstrip("/") for made in seen}) > 1:
        last = seen[-1]
        other = {"method": "PATCH", "url": last["request"]["url"] + "x", "headers": last["request"]["headers"]}
        yield case("wrong: the last request is missing", right, seen[:-1])
        yield case("wrong: another last request", right, [*seen[:-1], last | {"request": other}])
