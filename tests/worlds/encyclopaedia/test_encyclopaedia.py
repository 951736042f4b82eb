"""The encyclopaedia: what it holds, that questions about it have exact answers, and that no entity is on both sides."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
from libzim.reader import Archive

from components.records import Task
from components.worlds import WorldError
from components.worlds.encyclopaedia import zim
from components.worlds.encyclopaedia.articles import path_of
from components.worlds.encyclopaedia.facts import SOURCES, entities, plain_letters
from components.worlds.encyclopaedia.questions import KINDS, path, questions


@pytest.fixture(scope="module")
def book(tmp_path_factory) -> Archive:
    return Archive(zim.ensure(tmp_path_factory.mktemp("book")))


class Links(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.found.append(unquote(dict(attributes)["href"] or ""))


def html_of(book: Archive, at: str) -> str:
    return bytes(book.get_entry_by_path(at).get_item().content).decode()


# ---- what it holds --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_all_links_lead_to_one_of_a_few_thousand_articles(book):
    assert len(entities()) > 3000
    for title in entities():
        for target in Links(html_of(book, path_of(title))).found:
            assert book.has_entry_by_path(target), f"{title} links to {target}"


def test_articles_have_paths_of_their_own():
    assert len({path_of(title) for title in entities()}) == len(entities())


def test_facts_agree_with_common_knowledge():
    assert entities()["Chad"].fact("Capital").values[0].article == "N'Djamena"
    assert entities()["N'Djamena"].fact("Country").values[0].text == "Chad"
    assert [value.text for value in entities()["Sodium"].fact("Symbol").values] == ["Na"]
    assert entities()["France"].fact("Currency").aliases == ("EUR",)
    assert [value.text for value in entities()["Euro"].fact("Code").values] == ["EUR"]
    assert "Barium" in [value.text for value in entities()["Humphrey Davy"].fact("Discovered").values]


@pytest.mark.parametrize(
    ("country", "other"),
    [
        ("Burundi", "Bujumbura"), ("Eswatini", "Lobamba"), ("Equatorial Guinea", "Malabo"), ("Palau", "Ngerulmud"),
        ("Hong Kong", "City of Victoria"), ("South Georgia and the South Sandwich Islands", "King Edward Point"),
    ],
)  # fmt: skip
def test_another_city_is_no_spelling_of_the_capital(country, other):
    fact = entities()[country].fact("Capital")
    assert other not in (*fact.aliases, *(value.text for value in fact.values))


@pytest.mark.parametrize(
    ("country", "spelling"), [("Colombia", "Bogotá"), ("Mongolia", "Ulan Bator"), ("Kazakhstan", "Astana")]
)
def test_other_letters_and_alternate_names_spell_the_capital(country, spelling):
    assert spelling in entities()[country].fact("Capital").aliases


@pytest.mark.slow
def test_titles_are_ascii_and_the_page_shows_their_original_spelling(book):
    assert all(title.isascii() for title in entities())
    assert "Küçükçekmece" in html_of(book, "Kucukcekmece")


@pytest.mark.parametrize(
    ("name", "plain"), [("Zürich", "Zurich"), ("Łódź", "Lodz"), ("Iğdır", "Igdir"), ("Ain M’lila", "Ain M'lila")]
)
def test_names_are_written_in_plain_letters(name, plain):
    assert plain_letters(name) == plain


def test_the_file_names_every_source_with_its_licence(book):
    said = book.get_metadata("License").decode()
    assert all(one.package in said and one.licence in said for one in SOURCES)
    assert all(f"{one.package} {one.version}" in book.get_metadata("Source").decode() for one in SOURCES)
    assert all(one.licence.split(";")[0] in html_of(book, "about") for one in SOURCES)


def test_the_documentation_names_every_source_with_its_licence():
    table = (Path(__file__).parents[3] / "docs/concepts/world.md").read_text()
    assert all(f"| `{one.package}` | {one.licence} |" in table for one in SOURCES)


def test_two_builds_hold_the_same_pages_in_the_same_order(book, tmp_path):
    some = dict(list(zim.pages().items())[:200])
    built = []
    for name in ("a.zim", "b.zim"):
        zim.build(some, tmp_path / name)
        archive = Archive(tmp_path / name)
        entries = [archive._get_entry_by_id(number) for number in range(archive.all_entry_count)]
        built.append([(e.path, e.title, bytes(e.get_item().content)) for e in entries if not e.path.endswith("xapian")])
    assert built[0] == built[1]


# ---- questions ------------------------------------------------------------------------------------------------------


def test_a_question_of_two_hops_has_its_path_and_its_answer():
    steps = path("city-currency", entities()["Marseille"])
    assert [(article.title, label, said) for article, label, said in steps] == [
        ("Marseille", "Country", "France"),
        ("France", "Currency", "Euro"),
    ]
    (row,) = [row for row in ask(["capital"], "eval") + ask(["capital"], "train") if row.task_id.endswith("/Chad")]
    assert row.intent in ("What is the Capital of Chad?", "Which city is the Capital of Chad?")
    assert (row.difficulty, row.reference_answer) == (1, "N'Djamena")
    assert row.evaluator == {"type": "qa", "answers": ["N'Djamena"]}


def ask(kinds: list[str], split: str, seed: int = 0) -> list[Task]:
    """As many questions of the kinds as there are."""
    with pytest.raises(WorldError, match="the facts hold") as most:
        questions(kinds, 10**6, split, seed)
    return [Task.model_validate(row) for row in questions(kinds, int(str(most.value).split()[3]), split, seed)]


def test_each_kind_has_questions_to_train_and_to_evaluate_on():
    counts = {name: (len(ask([name], "train")), len(ask([name], "eval"))) for name in KINDS}
    assert {name: count for name, count in counts.items() if count[0] < 15 or count[1] < 8} == {}


OWN = ("city", "country", "element", "discoverer")


def answered(task: Task) -> str | None:
    """The article that an answer links to."""
    fact = entities()[task.rubric[-1].description].fact(task.rubric[-1].facts[0].partition(":")[0])
    return fact.values[0].article


@pytest.mark.slow
def test_questions_to_evaluate_and_to_train_on_share_no_article():
    sides = {}
    for split in ("train", "eval", "heldout"):
        tasks = ask([*KINDS], split)
        sides[split] = {group.description for task in tasks for group in task.rubric}
        # an answer with an article that belongs to one entity, such as a capital, is part of the question too
        sides[split] |= {title for title in map(answered, tasks) if title and entities()[title].kind in OWN}
    assert not sides["train"] & (sides["eval"] | sides["heldout"])


def test_the_answer_stands_on_the_last_article_and_not_in_the_question():
    for task in ask([*KINDS], "eval"):
        last = entities()[task.rubric[-1].description]
        assert task.reference_answer in [value.text for fact in last.facts for value in fact.values]
        assert task.reference_answer.lower() not in task.rubric[0].description.lower()


def test_the_same_seed_gives_the_same_questions_and_another_others():
    assert questions([*KINDS], 60, "train", 0) == questions([*KINDS], 60, "train", 0)
    assert questions([*KINDS], 60, "train", 0) != questions([*KINDS], 60, "train", 1)


def test_kinds_are_sampled_evenly_and_unknown_ones_are_named():
    of = [row["website"] for row in questions(["capital", "symbol"], 20, "train", 0)]
    assert of.count("encyclopaedia/capital") == 10
    with pytest.raises(WorldError, match="no questions of kind 'capitol'"):
        questions(["capitol"], 1, "train", 0)
    with pytest.raises(WorldError, match=r"worlds\.encyclopaedia\.train"):
        questions(["discovered-symbol"], 500, "train", 0)
