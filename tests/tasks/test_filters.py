from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from components.params import FilterParams
from components.records import Task
from components.tasks import at_sites, embed, filter_tasks, load_files, parse_rows

MakeTask = Callable[..., Task]
LITE = ("webarena_lite_train_647.json", "webarena_lite_165.raw.json")


def kept(train: list[Task], evaluation: list[Task], **params: object) -> list[str]:
    return [task.task_id for task in filter_tasks(train, evaluation, FilterParams(**params))[0]]


def test_a_seeded_task_overlaps_by_website_and_seed_and_not_by_its_wording(task: MakeTask) -> None:
    evaluation = [task("e", website="miniwob/click-button", seed=5, intent="Click on the button.")]
    train = [
        task("same page", website="miniwob/click-button", seed=5, intent="Something else"),
        task("same words", website="miniwob/click-button", seed=6, intent="Click on the button."),
        task("same seed elsewhere", website="miniwob/click-link", seed=5, intent="Click on the button."),
    ]
    assert kept(train, evaluation) == ["same words", "same seed elsewhere"]


def test_intents_overlap_despite_case_spaces_and_final_punctuation(task: MakeTask) -> None:
    evaluation = [task("e", website="a.example", intent="Find a  red Kettle.")]
    train = [
        task("1", website="b.example", intent="find a red kettle"),
        task("2", website="b.example", intent="find a red kettle, now"),
    ]
    assert kept(train, evaluation) == ["2"]


def test_on_one_website_intents_overlap_despite_any_punctuation(task: MakeTask) -> None:
    evaluation = [task("e", website="a.example", intent="Find a kettle (red), under $20.")]
    same_words = "Find a kettle red under 20"
    train = [task("1", website="a.example", intent=same_words), task("2", website="b.example", intent=same_words)]
    assert kept(train, evaluation) == ["2"]


@pytest.mark.parametrize("website", ["Amazon", "www.amazon.example", "Amazon.Example"])
def test_a_website_by_another_name_is_known_by_its_start_page(task: MakeTask, website: str) -> None:
    address = "https://www.amazon.example/deals"
    evaluation = [task("e", website="amazon.example", intent="Find a kettle (red), under $20.")]
    same_words = "Find a kettle red under 20"
    train = [
        task("same site", website=website, start_url=address, intent=same_words),
        task("elsewhere", website=website, start_url="https://other.example/", intent="Find a kettle."),
        task("other words", website=website, start_url=address, intent="Find a kettle."),
    ]
    assert kept(train, evaluation) == ["elsewhere", "other words"]
    blocked = ["amazon.example"]
    assert "same site" not in kept(train, [], blocked_websites=blocked)
    assert "other words" not in kept(train, [], blocked_websites=blocked)


def test_placeholders_of_sites_have_no_host_to_be_compared_by(task: MakeTask) -> None:
    evaluation = [task("e", website="shopping", start_url="__SHOPPING__", intent="Find a kettle (red).")]
    train = [task("map", website="map", start_url="__MAP__/a", intent="Find a kettle red")]
    assert kept(train, evaluation) == ["map"]


def test_a_verified_row_overlaps_by_its_intent_without_the_answer_form(task: MakeTask) -> None:
    row = {
        "sites": ["shopping_admin"], "task_id": 11, "intent_template_id": 288, "start_urls": ["__SHOPPING_ADMIN__"],
        "intent": 'Get the number of reviews that mention "disappointed"', "intent_template": "", "revision": 2,
        "instantiation_dict": {}, "eval": [{"evaluator": "AgentResponseEvaluator", "expected": {}}],
    }  # fmt: skip
    evaluation, rejections = parse_rows([row], "webarena-verified", "rows.json")
    assert (rejections, evaluation[0].intent == row["intent"]) == ([], False)
    train = [
        task("same", website="map", intent=row["intent"]),
        task("same words", website="shopping_admin", intent="Get the number of reviews that mention 'disappointed'."),
        task("other", website="shopping_admin", intent="Get the number of reviews"),
    ]
    assert kept(train, evaluation) == ["other"]


def test_lite_training_tasks_with_the_words_of_verified_rows_are_dropped() -> None:
    root = Path(__file__).parents[2]
    files = (
        root.parent / "shared/data/webarena_lite_train_647.json",
        root / "data/benchmarks/webarena-verified.json",
    )
    if not all(file.exists() for file in files):
        pytest.skip("the published files are not here")
    train, evaluation = (load_files([file]).tasks for file in files)
    assert len(kept(train, evaluation)) == 647 - 125


@pytest.mark.parametrize(
    ("of_evaluation", "of_training", "is_kept"),
    [
        ("http://shop.example/a.html", "http://shop.example/b.html", True),
        ("http://shop.example/item?id=1", "http://www.shop.example/item?id=2", True),
        ("__SHOPPING__/a.html", "__SHOPPING__/b.html", True),
        (
            "http://shop.example/a |AND| http://shop.example/b",
            "http://shop.example/a |AND| http://shop.example/c",
            True,
        ),
        ("http://shop.example/a.html", "http://www.shop.example/a.html/#reviews", False),
        ("http://shop.example/", "http://shop.example/b.html", False),
        ("http://shop.example/a.html", "http://shop.example", False),
        ("__SHOPPING__", "__SHOPPING__/b.html", False),
        ("http://shop.example/a.html", "http://other.example/b.html", False),
    ],
)
def test_one_instruction_on_different_pages_of_a_site_is_two_tasks(
    task: MakeTask, of_evaluation: str, of_training: str, is_kept: bool
) -> None:
    evaluation = [task("e", website="shop", start_url=of_evaluation, intent="Add this product to my wish list.")]
    train = [
        task(name, website="shop", start_url=of_training, intent=intent)
        for name, intent in (
            ("same", "Add this product to my wish list."),
            ("case", "add this product to my wish list"),
            ("words", "Add this product, to my wish-list"),
        )
    ]
    assert kept(train, evaluation) == (["same", "case", "words"] if is_kept else [])


def test_all_tasks_that_webagent_r1_trains_on_are_kept() -> None:
    files = [Path(__file__).parents[3] / "shared/data" / name for name in LITE]
    if not all(file.exists() for file in files):
        pytest.skip("the published files are not here")
    sites = dict.fromkeys(
        ("shopping", "shopping_admin", "reddit", "gitlab", "map", "wikipedia"), "http://webarena.example"
    )
    train, evaluation = ([at_sites(one, sites) for one in load_files([file]).tasks] for file in files)
    assert len(kept(train, evaluation)) == 647


def test_intents_with_different_numbers_do_not_overlap(task: MakeTask) -> None:
    evaluation = [task("e", website="a.example", intent="Find a kettle under $20")]
    assert kept([task("1", website="a.example", intent="Find a kettle under $30")], evaluation) == ["1"]


def test_subtasks_go_only_if_the_recipe_says_so(task: MakeTask) -> None:
    train = [task("parent"), task("child", decomposed_from="parent")]
    assert kept(train, []) == ["parent"]
    assert kept(train, [], drop_decomposed=False) == ["parent", "child"]


def test_relatives_of_an_evaluation_task_are_dropped(task: MakeTask) -> None:
    """A part of a task, the task of a part, and another part of it."""
    train = [task("p0"), task("p0#1", decomposed_from="p0"), task("p1#2", decomposed_from="p1"), task("p1"), task("p2")]
    evaluation = [task("p0", split="eval"), task("p1#1", decomposed_from="p1", split="eval")]
    assert kept(train, evaluation, drop_decomposed=False) == ["p2"]
    part = [task("p0#1", decomposed_from="p0"), task("p3")]
    assert kept(part, [task("p0", split="validation")], drop_decomposed=False) == ["p3"]


def test_other_wordings_of_an_evaluation_task_are_dropped(task: MakeTask) -> None:
    """The task of a wording, another one of it, and parts of either."""
    train = [
        *(task(name) for name in ("a~1", "a~12", "a~1~1", "b", "b~2", "c", "c~x", "ab")),
        *(task(f"{parent}#1", decomposed_from=parent) for parent in ("a~1", "b", "c~1")),
    ]
    evaluation = [task("a", split="eval"), task("b~1", split="validation")]
    assert kept(train, evaluation, drop_decomposed=False) == ["c", "c~x", "ab", "c~1#1"]


@pytest.mark.parametrize("blocked", ["bad.example", "www.bad.example", "b?d.example"])
def test_a_blocked_domain_blocks_its_subdomains_but_no_similar_ending(task: MakeTask, blocked: str) -> None:
    train = [
        task("1", website="bad.example"),
        task("2", website="shop.bad.example"),
        task("3", website="notbad.example"),
    ]
    assert kept(train, [], blocked_websites=[blocked]) == ["3"]


@pytest.mark.parametrize("website", ["bücher.example", "Bücher"])
def test_a_blocked_website_beyond_ascii_is_known_by_either_form(task: MakeTask, website: str) -> None:
    addresses = "https://BÜCHER.example/", "https://xn--bcher-kva.example/", "https://shop.bücher.example/"
    train = [task(url, website=website, start_url=url) for url in addresses]
    train.append(task("other", website="b*?/ü", start_url="https://b.example:99999/"))
    for blocked in ("bücher.example", "www.xn--bcher-kva.example"):
        assert kept(train, [], blocked_websites=[blocked]) == ["other"]


@pytest.mark.parametrize(("blocked", "left"), [(":8080", ["443"]), (":443", ["8080"]), ("", [])])
def test_a_blocked_host_with_a_port_leaves_its_other_ports(task: MakeTask, blocked: str, left: list[str]) -> None:
    train = [task("8080", start_url="http://shop.example:8080/"), task("443", start_url="https://shop.example/")]
    assert kept(train, [], blocked_websites=[f"shop.example{blocked}"]) == left


def test_a_pattern_of_subdomains_leaves_the_domain(task: MakeTask) -> None:
    train = [task("1", website="bad.example"), task("2", website="shop.bad.example")]
    assert kept(train, [], blocked_websites=["*.bad.example"]) == ["1"]


def test_the_long_tail_is_counted_after_the_earlier_steps(task: MakeTask) -> None:
    train = [
        task("a1", website="a.example"),
        task("a2", website="a.example"),
        task("b1", website="b.example"),
        task("b2", website="b.example", decomposed_from="x"),
    ]
    assert kept(train, [], min_tasks_per_website=2) == ["a1", "a2"]


def test_the_funnel_lists_what_each_step_dropped_in_order(task: MakeTask) -> None:
    evaluation = [task("e", intent="Buy a kettle.")]
    train = [
        task("1", intent="buy a kettle"),
        task("2", decomposed_from="1"),
        task("3", website="bad.example"),
        task("4"),
        task("5"),
        task("6", website="rare.example"),
    ]
    _, funnel = filter_tasks(train, evaluation, FilterParams(blocked_websites=["bad.example"], min_tasks_per_website=2))
    assert [(row["step"], row["dropped"], row["left"]) for row in funnel.rows()] == [
        ("all", 0, 6),
        ("evaluation overlap", 0, 6),
        ("evaluation overlap in words", 1, 5),
        ("decomposed subtasks", 1, 4),
        ("blocked websites", 1, 3),
        ("blocked hosts", 0, 3),
        ("unstable hosts", 0, 3),
        ("long tail", 1, 2),
    ]
    assert funnel.left == 2
    assert funnel.steps[1].examples == ["1: buy a kettle (e)"]


def test_a_paraphrase_goes_and_the_funnel_names_what_it_repeats(task: MakeTask, tmp_path: Path) -> None:
    evaluation = [
        task("rome", intent="Find a cheap flight from Paris to Rome."),
        task("seeded", website="miniwob/x", seed=1, intent="Read the poem of the day."),
    ]
    train = [
        task("1", website="b.example", intent="Search for low-cost flights to Rome from Paris."),
        task("2", website="b.example", intent="Read the poem of the day!"),
        task("3", website="miniwob/x", seed=2, intent="Find a cheap flight from Paris to Rome."),
    ]
    params = FilterParams(overlap_threshold=0.8)
    kept, funnel = filter_tasks(train, evaluation, params, embed=lambda texts: embed(texts, "minilm", cache=tmp_path))
    assert [one.task_id for one in kept] == ["2", "3"]
    meaning = next(step for step in funnel.steps if step.step == "evaluation overlap in meaning")
    assert re.fullmatch(r"1: Search for .* \(0\.[89]\d to rome\)", meaning.examples[0])


def test_a_threshold_without_an_embedder_is_refused(task: MakeTask) -> None:
    with pytest.raises(ValueError, match="needs an embedder"):
        filter_tasks([task("1")], [], FilterParams(overlap_threshold=0.9))


@pytest.mark.parametrize(
    "intent",
    [
        "Log in and read it.",
        "Please try to log in to twitter",
        "Open the wiki, then sign in",
        "Once logged in, read it",
        "Click 'Sign in'",
        "If you can read it without signing in, log in",
        "Select Sign up on the GitHub homepage",
        "Show the last of my orders",
        "Please sign-up here",
        "Create a new account.",
    ],
)
def test_tasks_that_ask_for_a_login_go_if_the_recipe_says_so(task: MakeTask, intent: str) -> None:
    train = [task("1", intent=intent), task("2", evaluator={"require_login": True}), task("3", seed=1, intent=intent)]
    assert kept(train, [], drop_login=True) == ["3"]
    assert kept(train, []) == ["1", "2", "3"]
    needs_none = task("4", intent=intent, evaluator={"require_login": False})
    assert kept([needs_none], [], drop_login=True) == ["4"], "its source says that it needs none"


@pytest.mark.parametrize(
    "intent",
    [
        "Design a logo in blue",
        "Find signing bonuses",
        "Read how trees log years",
        "Show the latest change log on the GitHub page of numpy",
        "Find a neon sign on Etsy under $50",
        "Find a street sign in Tokyo",
        "Find the Yule log in the recipe list",
        "Add a $100 Best Buy gift card for a birthday to my cart.",
        "Find arXiv Forever short sleeve. Then add it to your cart.",
        "Finish a recommended Grammar quiz without login and tell me your final score.",
        "Open an animal learning course for my 6-year-old without login in. I would prefer not to enable search.",
        "Read the article without having to sign up",
    ],
)
def test_similar_words_are_not_taken_for_a_login(task: MakeTask, intent: str) -> None:
    assert kept([task("1", intent=intent)], [], drop_login=True) == ["1"]
