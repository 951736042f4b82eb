"""VisualWebArena's rows: what the rules ask of pages, numbers and images, with rows of ours and the published ones."""

from __future__ import annotations

import io
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as PILImage

from components.judge import rules_verdict
from components.judge.rules import ImageQuestion, open_questions, rule_of
from components.judge.rules.conditions import WebArenaRule
from components.judge.rules.image_checks import similarity
from components.judge.rules.pages import probes_of
from components.records import Ending, Image, Outcome, Reading, Task, Trajectory
from components.tasks import at_sites, load_files
from tests.samples import a_trajectory

OURS = Path(__file__).parent / "fixtures/visualwebarena_rows.json"
PUBLISHED = Path(__file__).parents[2] / "data/benchmarks/visualwebarena_910.raw.json"
SITES = {
    "shopping": "http://shop.example",
    "classifieds": "http://ads.example",
    "reddit": "http://forum.example",
    "homepage": "http://home.example",
}


def task(number: int) -> Task:
    """A task of the fixture, at addresses."""
    tasks = {task.task_id: task for task in load_files([OURS]).tasks}
    return at_sites(tasks[f"visualwebarena_rows/{number}"], SITES)


def rule(number: int) -> WebArenaRule:
    found = rule_of(task(number).evaluator)
    assert isinstance(found, WebArenaRule)
    return found


def grey(value: int, size: tuple[int, int] = (16, 16)) -> Image:
    out = io.BytesIO()
    PILImage.new("L", size, value).save(out, "PNG")
    return Image.of(out.getvalue())


def episode(number: int, texts: list[str], answer: str = "", url: str = "http://shop.example/", **images) -> Trajectory:
    """An episode that ended with `done`; the readings of its page checks, then those of its image checks."""
    found = rule(number)
    readings = [
        Reading(url=page.url, locator=page.locator, address=url, text=text)
        for page, text in zip(found.pages, texts, strict=True)
    ]
    readings += [
        Reading(url=check.url, locator=check.selector, address=url, text="[]", **images) for check in found.images
    ]
    ending = Ending(url=url, readings=readings)
    return a_trajectory(task(number)).model_copy(update={"answer": answer, "ending": ending})


def outcome(*arguments, **fields) -> Outcome:
    return rules_verdict(episode(*arguments, **fields)).outcome


def test_our_rows_load_with_their_images_as_further_tabs():
    loaded = load_files([OURS])
    assert (len(loaded.tasks), loaded.rejections) == (6, [])
    assert task(2).start_url == (
        "http://shop.example |AND| http://home.example/static/input_images/shopping/task_2/input_0.png"
    )
    assert task(2).evaluator["visual_difficulty"] == "medium"
    assert task(5).start_url == "http://shop.example"


@pytest.mark.parametrize(
    ("description", "wanted"),
    [
        ("Now 130 dollars. A cart for children.", Outcome.SUCCESS),
        ("Was $900.", Outcome.SUCCESS),
        ("Was $90.", Outcome.FAILURE),
        ("Fine art", Outcome.FAILURE),
        ("", Outcome.FAILURE),
    ],
)
def test_a_text_excludes_whole_words_and_numbers_and_must_be_there(description, wanted):
    assert outcome(1, ["130.00 $", description]) is wanted


ORDER = ["3", "Green", "Desk lamp\nChair", "59.99", "3", "Lumo", "Lamp", "bright, and warm"]


@pytest.mark.parametrize(
    ("index", "text", "wanted"),
    [
        (0, "3", Outcome.SUCCESS),
        (0, "30", Outcome.FAILURE),
        (3, "60", Outcome.SUCCESS),
        (3, "$60.00", Outcome.SUCCESS),
        (3, "60.01", Outcome.FAILURE),
        (3, "1,060", Outcome.FAILURE),
        (3, "20", Outcome.FAILURE),
        (3, "", Outcome.FAILURE),
        (3, "about 30", Outcome.FAILURE),
        (4, "12", Outcome.SUCCESS),
        (4, "11", Outcome.FAILURE),
    ],
)
def test_a_number_meets_its_bounds_or_fails(index, text, wanted):
    assert outcome(2, [*ORDER[:index], text, *ORDER[index + 1 :]]) is wanted


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [("It is red.", Outcome.SUCCESS), ("crimson", Outcome.SUCCESS), ("blue", Outcome.FAILURE), ("", Outcome.FAILURE)],
)
def test_one_of_several_words_is_enough(answer, wanted):
    assert outcome(5, [], answer) is wanted


def test_an_address_without_a_note_is_exact():
    assert outcome(6, [], url="http://shop.example/checkout/#payment") is Outcome.SUCCESS
    assert outcome(6, [], url="http://shop.example/checkout/#shipping") is Outcome.FAILURE
    assert outcome(6, [], url="http://shop.example/checkout/cart/#payment") is Outcome.FAILURE


POST = "http://forum.example/f/birds/9/a-bird"


def test_images_are_asked_about_only_if_all_else_holds():
    bird, sky = grey(40), grey(200)
    given = episode(4, [], url=POST, images=[sky, bird], copies=[bird])
    asked = open_questions(given)
    assert asked == [
        ImageQuestion("Is this a bird? (yes/no)", "yes", (sky, bird)),
        ImageQuestion("Is it red? (yes/no)", "yes", (sky, bird)),
    ]
    assert rules_verdict(given).outcome is Outcome.ERROR
    assert rules_verdict(given, sees_answer=lambda question, answer, images: True).outcome is Outcome.SUCCESS
    assert rules_verdict(given, sees_answer=lambda question, *_: "red" not in question).outcome is Outcome.FAILURE
    assert rules_verdict(given, sees_answer=lambda *_: None).outcome is Outcome.ERROR
    assert open_questions(episode(4, [], url=POST, images=[sky], copies=[bird])) == []
    assert outcome(4, [], url=POST, images=[sky], copies=[bird]) is Outcome.FAILURE
    assert outcome(4, [], url=POST) is Outcome.FAILURE


def test_images_that_were_not_read_give_no_verdict():
    given = episode(4, [], url=POST, images=[grey(1)], copies=[grey(1)])
    unread = [reading.model_copy(update={"text": None, "error": "status 503"}) for reading in given.ending.readings]
    ending = given.ending.model_copy(update={"readings": unread})
    verdict = rules_verdict(given.model_copy(update={"ending": ending}))
    assert verdict.outcome is Outcome.ERROR
    assert "status 503" in verdict.rationale


def test_similarity_of_plain_images_is_the_formula_of_their_means():
    c1 = 6.5025  # (0.01 * 255)²; variances are 0
    assert similarity(grey(100), grey(100)) == pytest.approx(1)
    assert similarity(grey(100), grey(50)) == pytest.approx((2 * 100 * 50 + c1) / (100**2 + 50**2 + c1))
    assert similarity(grey(0), grey(255, (40, 30))) == pytest.approx(c1 / (255**2 + c1))


def test_similarity_of_two_windows_is_computed_by_hand():
    """7×7 pixels are one window: 25 pixels of 98 and 24 of 0 have mean 50 and sample variance 2450; the reverse image
    has mean 48 and the same variance, and the covariance is −2450."""
    pixels = np.array([98 * (index % 2 == 0) for index in range(49)], dtype=np.uint8).reshape(7, 7)
    pair = []
    for array in (pixels, 98 - pixels):
        out = io.BytesIO()
        PILImage.fromarray(array).save(out, "PNG")
        pair.append(Image.of(out.getvalue()))
    c1, c2 = 6.5025, 58.5225
    by_hand = (2 * 50 * 48 + c1) * (2 * -2450 + c2) / ((50**2 + 48**2 + c1) * (2450 + 2450 + c2))
    assert similarity(*pair) == pytest.approx(by_hand)


def test_a_probe_reads_the_images_that_a_selector_finds():
    copy, vqa = probes_of(task(4), POST)
    assert (copy.locator, copy.address, copy.reads_images) == (".submission__image", None, True)
    assert copy.copies == ["http://home.example/static/input_images/reddit/task_4/input_0.png"]
    assert vqa.copies == []


def test_a_shop_is_asked_at_the_origin_of_the_first_of_several_tabs():
    probes = probes_of(task(2), "http://shop.example/")
    assert " |AND| " in task(2).start_url
    assert {probe.address for probe in probes if probe.must_answer or probe.resolve} == {"http://shop.example"}


@pytest.fixture
def published() -> list[dict]:
    if not PUBLISHED.exists():
        pytest.skip("the published file is not here")
    return json.loads(PUBLISHED.read_text())


def test_every_published_row_is_a_task_with_a_rule_and_probes(published):
    loaded = load_files([PUBLISHED])
    assert (len(loaded.tasks), loaded.rejections) == (910, [])
    counts: Counter[str] = Counter()
    for one in loaded.tasks:
        found = rule_of(one.evaluator)
        assert isinstance(found, WebArenaRule)
        assert len(probes_of(one, POST)) == len(found.pages) + len(found.images)
        counts["images"] += len(found.images)
        counts.update(expectation.kind for page in found.pages for expectation in page.expects)
    assert counts["images"] == 46
    assert (counts["excludes"], counts["satisfies"]) == (9, 17)
