from __future__ import annotations

from collections.abc import Callable

from components.params import FilterParams
from components.records import Task
from components.tasks import filter_tasks

MakeTask = Callable[..., Task]


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


def test_an_intent_overlaps_up_to_case_spaces_and_final_punctuation_on_any_website(task: MakeTask) -> None:
    evaluation = [task("e", website="a.example", intent="Find a  red Kettle.")]
    train = [
        task("1", website="b.example", intent="find a red kettle"),
        task("2", website="b.example", intent="find a red kettle, now"),
    ]
    assert kept(train, evaluation) == ["2"]


def test_on_the_same_website_the_same_words_overlap_whatever_the_punctuation(task: MakeTask) -> None:
    evaluation = [task("e", website="a.example", intent="Find a kettle (red), under $20.")]
    same_words = "Find a kettle red under 20"
    train = [task("1", website="a.example", intent=same_words), task("2", website="b.example", intent=same_words)]
    assert kept(train, evaluation) == ["2"]


def test_numbers_tell_intents_apart(task: MakeTask) -> None:
    evaluation = [task("e", website="a.example", intent="Find a kettle under $20")]
    assert kept([task("1", website="a.example", intent="Find a kettle under $30")], evaluation) == ["1"]


def test_subtasks_go_only_if_the_recipe_says_so(task: MakeTask) -> None:
    train = [task("parent"), task("child", decomposed_from="parent")]
    assert kept(train, []) == ["parent"]
    assert kept(train, [], drop_decomposed=False) == ["parent", "child"]


def test_a_blocked_domain_blocks_its_subdomains_and_nothing_that_merely_ends_alike(task: MakeTask) -> None:
    train = [
        task("1", website="bad.example"),
        task("2", website="shop.bad.example"),
        task("3", website="notbad.example"),
    ]
    assert kept(train, [], blocked_websites=["bad.example"]) == ["3"]


def test_the_long_tail_is_counted_after_the_earlier_steps(task: MakeTask) -> None:
    train = [
        task("a1", website="a.example"),
        task("a2", website="a.example"),
        task("b1", website="b.example"),
        task("b2", website="b.example", decomposed_from="x"),
    ]
    assert kept(train, [], min_tasks_per_website=2) == ["a1", "a2"]


def test_the_funnel_says_what_went_at_each_step_in_order(task: MakeTask) -> None:
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
        ("evaluation overlap", 1, 5),
        ("decomposed subtasks", 1, 4),
        ("blocked websites", 1, 3),
        ("blocked hosts", 0, 3),
        ("long tail", 1, 2),
    ]
    assert funnel.left == 2
    assert funnel.steps[0].examples == ["1: buy a kettle"]
