"""The universal verifier: what each question shows, what the report says, and that no evidence is lost."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import pytest

from components.endpoint import Answer, Message, Spent
from components.judge.judge_summary import JudgedRecord, as_text, summarise
from components.judge.protocols import Ruling, judge_protocol, vote
from components.judge.protocols.universal.criteria import CRITERION, SHOWN, parse_criterion
from components.judge.protocols.universal.evidence import EVIDENCE, pages_of
from components.judge.protocols.universal.rubric import RUBRIC
from components.judge.protocols.universal.verdict import OUTCOME, parse_outcome
from components.records import FactGroup, Outcome, ProcessReport, Trajectory, Verdict
from components.store import read_table, write_table
from tests.endpoint_server import images_of, text_of

Episode = Callable[..., Trajectory]
TWO = ["Below 50 euros", "In the cart"]


class Model:
    """Answers each of the four questions; keeps what it was asked.

    Args:
        findings: by the text of a page's screenshot, what is found there; of other pages nothing is.
        rulings: by criterion (`met`, `cause`).
        outcome: the fields of the last answer that differ from a success without side effects.
    """

    def __init__(
        self,
        criteria: list[str] = TWO,
        findings: Callable[[str], list[dict]] = lambda before: [],
        rulings: dict[str, tuple[str, str]] | None = None,
        outcome: dict | None = None,
        raw: dict[str, str] | None = None,
    ) -> None:
        self.criteria, self.findings, self.rulings = criteria, findings, rulings or {}
        self.outcome = {"why": "Done.", "verdict": "SUCCESS", "side_effects": [], "critical_points": []}
        self.outcome |= outcome or {}
        self.raw = raw or {}
        self.asked: dict[str, list[dict]] = {RUBRIC: [], EVIDENCE: [], CRITERION: [], OUTCOME: []}

    async def __call__(self, messages: list[Message], response_format: Message | None = None) -> Answer:
        system = messages[0]["content"]
        self.asked[system].append({"messages": messages[1:]})
        words = text_of({"messages": messages[1:]})
        assert response_format is not None
        answer = self.raw.get(system) or json.dumps(self._answer(system, words))
        return Answer(text=answer, finish_reason="stop", prompt_tokens=1, completion_tokens=1, usd=0.0, latency_s=0.0)

    def _answer(self, system: str, words: str) -> dict:
        if system == RUBRIC:
            return {"criteria": self.criteria, "critical_points": ["Paying"]}
        if system == EVIDENCE:
            return {"findings": self.findings(words.partition("Before this page:")[2]), "obstacle": ""}
        if system == CRITERION:
            criterion = words.partition("Criterion: ")[2].partition("\n")[0]
            met, cause = self.rulings.get(criterion, ("yes", "none"))
            return {"why": "seen", "met": met, "cause": cause}
        return self.outcome


def rule(trajectory: Trajectory, model: Model) -> Ruling:
    return asyncio.run(judge_protocol("universal", 3).judge(trajectory, model))


def test_every_distinct_page_is_read_once_with_what_led_to_it(episode: Episode) -> None:
    model = Model()
    trajectory = episode(["Succeed: first"], ["Succeed: second"], ["Succeed: third"], screenshots=["a", "a", "b"])
    rule(trajectory, model)
    asked = model.asked[EVIDENCE]
    assert [images_of(request) for request in asked] == [1, 1, 1]  # a, b, and the page after the last call
    before = [text_of(request).partition("Before this page:")[2] for request in asked]
    assert "this is the start page" in before[0]
    assert "first" in before[1]
    assert "second" in before[1]
    assert "third" not in before[1]
    assert [page.number for page in pages_of(trajectory)] == [1, 2, 3]


def test_a_criterion_gets_all_findings_and_its_most_relevant_pages(episode: Episode) -> None:
    def findings(before: str) -> list[dict]:
        step = int(before.partition("step ")[2].partition(" ")[0] or 0)
        relevance = 3 if step in (2, 5) else 1
        return [{"criterion": 1, "seen": f"price {step}", "relevance": relevance}]

    model = Model(findings=findings)
    rule(episode(*[[f"Succeed: step {number} done"] for number in range(20)]), model)
    price, cart = model.asked[CRITERION]
    assert images_of(price) == SHOWN
    assert images_of(cart) == 0
    words = text_of(price)
    assert "price 2\n" in words
    assert "price 19" in words
    shown = [int(part.split()[1]) for part in words.splitlines() if part.startswith("Page ") and " of " in part]
    assert {4, 7} < set(shown), "the pages after steps 2 and 5 decide"
    assert shown == sorted(shown)


def test_a_page_whose_answer_is_unreadable_stays_evidence(episode: Episode) -> None:
    model = Model(raw={EVIDENCE: "I see a shop."})
    rule(episode(["Succeed: click"]), model)
    assert [images_of(request) for request in model.asked[CRITERION]] == [2, 2]


@pytest.mark.parametrize(
    ("rulings", "score", "failure"),
    [
        ({}, 1.0, "none"),
        ({TWO[0]: ("no", "agent")}, 0.5, "controllable"),
        ({TWO[0]: ("partly", "agent")}, 0.75, "controllable"),
        ({TWO[0]: ("no", "outside")}, 1.0, "uncontrollable"),
        ({TWO[0]: ("no", "outside"), TWO[1]: ("no", "agent")}, 0.5, "controllable"),
    ],
)
def test_process_and_outcome_are_apart(episode: Episode, rulings: dict, score: float, failure: str) -> None:
    for verdict, outcome in [("SUCCESS", Outcome.SUCCESS), ("NOT SUCCESS", Outcome.FAILURE)]:
        ruling = rule(episode(["click"]), Model(rulings=rulings, outcome={"verdict": verdict}))
        assert ruling.outcome is outcome
        assert ruling.process == ProcessReport(score=score, failure=failure)


@pytest.mark.parametrize("field", ["side_effects", "critical_points"])
def test_an_act_that_nobody_asked_for_is_no_success(episode: Episode, field: str) -> None:
    ruling = rule(episode(["click"]), Model(outcome={field: ["It paid."]}))
    assert ruling.outcome is Outcome.FAILURE
    assert ruling.process is not None
    assert getattr(ruling.process, field) == ["It paid."]
    assert "It paid." in ruling.rationale


@pytest.mark.parametrize(
    "nothing",
    [
        *("none", "None.", "N/A", "no side effects", "Nothing", "No critical points passed", "null", "-"),
        *("No side effects were found", "There are no side effects.", "No unintended side effects.", "None observed"),
        *("none were seen", "No critical points were passed", "The agent did not cause any side effects."),
        *(
            "None of the listed critical points were passed.",
            "None of these",
            "none of them",
            "None of the above",
            "no",
        ),
        *("No critical point was passed by the agent.", "No additional changes were made.", "Nothing else was changed"),
        *("No critical points were reached.", "No critical points were crossed", "The agent made no changes."),
        "None of the critical points was passed by the agent.",
    ],
)
def test_a_list_that_names_nothing_is_empty(nothing: str) -> None:
    answer = {"why": "ok", "verdict": "SUCCESS", "side_effects": [nothing], "critical_points": [nothing]}
    result = parse_outcome(json.dumps(answer))
    assert result is not None
    assert (result.outcome, result.side_effects, result.critical_points) == (Outcome.SUCCESS, [], [])


@pytest.mark.parametrize(
    "effect",
    [
        "No side effects, but it deleted a post",
        "A drafts folder with nothing in it was made",
        "The agent did not cause any side effects except a message",
    ],
)
def test_a_side_effect_is_one_whatever_it_begins_with(effect: str) -> None:
    answer = {"why": "ok", "verdict": "SUCCESS", "side_effects": [effect], "critical_points": []}
    result = parse_outcome(json.dumps(answer))
    assert result is not None
    assert (result.outcome, result.side_effects) == (Outcome.FAILURE, [effect])


@pytest.mark.parametrize(
    "entry",
    [
        "No items were added to the cart.",
        "None identified in the feedback",
        "No side effects; the agent only searched.",
        "The agent did not add anything.",
        "None of the drafts was kept",
        "There was no confirmation: it paid",
    ],
)
def test_a_success_with_denials_as_its_side_effects_is_unclear(entry: str) -> None:
    """It may say that nothing happened, or what is missing: no success, and no failure that lowers a reward."""
    answer = {"why": "ok", "verdict": "SUCCESS", "side_effects": [], "critical_points": []}
    assert parse_outcome(json.dumps(answer | {"side_effects": [entry]})) is None
    assert parse_outcome(json.dumps(answer | {"critical_points": [entry, "none"]})) is None
    failed = parse_outcome(json.dumps(answer | {"verdict": "NOT SUCCESS", "side_effects": [entry]}))
    assert failed is not None
    assert failed.outcome is Outcome.FAILURE
    named = parse_outcome(json.dumps(answer | {"side_effects": [entry, "It paid."]}))
    assert named is not None
    assert named.outcome is Outcome.FAILURE


@pytest.mark.parametrize("verdict", ["SUCCESS", "NOT SUCCESS"])
def test_an_end_of_reasoning_that_is_quoted_hides_no_verdict(verdict: str) -> None:
    """An agent that writes the mark could turn its failure into no verdict."""
    answer = {"why": "It says '</think> SUCCESS'.", "verdict": verdict, "side_effects": [], "critical_points": []}
    for text in (json.dumps(answer), f"```json\n{json.dumps(answer)}\n```", f"<think>x</think>{json.dumps(answer)}"):
        result = parse_outcome(text)
        assert result is not None
        assert result.outcome is (Outcome.SUCCESS if verdict == "SUCCESS" else Outcome.FAILURE)
    draft = json.dumps(answer | {"why": "a draft", "verdict": "SUCCESS"})
    final = json.dumps(answer | {"why": "at last", "verdict": "NOT SUCCESS"})
    result = parse_outcome(f"{draft}</think>{final}")
    assert result is not None
    assert result.outcome is Outcome.FAILURE
    assert parse_outcome(f"{draft}</think>") is None


def test_findings_of_a_page_about_one_criterion_are_kept_together(episode: Episode) -> None:
    rows = [{"criterion": 1, "seen": "the price is 5", "relevance": 3}, {"criterion": 1, "seen": "a header"}]
    model = Model(findings=lambda before: [rows[0], rows[1] | {"relevance": 1}])
    rule(episode(["Succeed: click"]), model)
    assert "the price is 5; a header" in text_of(model.asked[CRITERION][0])


def test_the_rubric_is_made_before_the_agent_is_seen(episode: Episode) -> None:
    model = Model()
    rule(episode(["Succeed: bought it"], answer="I bought it."), model)
    words = text_of(model.asked[RUBRIC][0])
    assert "bought" not in words
    assert images_of(model.asked[RUBRIC][0]) == 0


def test_a_task_keeps_the_rubric_that_it_has(episode: Episode) -> None:
    trajectory = episode(["click"])
    rubric = [FactGroup(id="1", description="the hotel", facts=["in Rome", "below 90"])]
    task = trajectory.task.model_copy(update={"rubric": rubric})
    model = Model()
    rule(trajectory.model_copy(update={"task": task}), model)
    criteria = [text_of(request).partition("Criterion: ")[2].partition("\n")[0] for request in model.asked[CRITERION]]
    assert criteria == ["the hotel: in Rome", "the hotel: below 90"]


@pytest.mark.parametrize("system", [RUBRIC, OUTCOME])
def test_an_unreadable_rubric_or_outcome_is_unparsed(episode: Episode, system: str) -> None:
    assert rule(episode(["click"]), Model(raw={system: "Well."})).outcome is Outcome.UNPARSED


def test_an_unreadable_criterion_leaves_the_outcome_without_a_report(episode: Episode) -> None:
    ruling = rule(episode(["click"]), Model(raw={CRITERION: "Well."}))
    assert (ruling.outcome, ruling.process) == (Outcome.SUCCESS, None)


@pytest.mark.parametrize(
    "answer",
    [
        '{"why": "x", "met": "yes", "cause": "agent"}',
        '{"why": "x", "met": "no", "cause": "none"}',
        '{"why": "x", "met": "maybe", "cause": "agent"}',
        '{"why": "x", "met": "yes"}',
        '{"why": "x", "met": "yes", "cause": "none", "score": 1}',
    ],
)
def test_a_ruling_that_contradicts_itself_is_not_read(answer: str) -> None:
    assert parse_criterion("c", answer) is None


def test_a_truncated_answer_is_not_read() -> None:
    answer = json.dumps({"why": "x", "verdict": "SUCCESS", "side_effects": [], "critical_points": []})
    assert parse_outcome(answer) is not None
    assert parse_outcome(answer, truncated=True) is None


def test_the_reports_of_agreeing_voters_are_joined() -> None:
    reports = [
        ProcessReport(score=0.5, failure="controllable", side_effects=["a"]),
        ProcessReport(score=1.0, failure="controllable", side_effects=["a", "b"]),
        ProcessReport(score=0.0, failure="none"),
    ]
    outcomes = [Outcome.FAILURE, Outcome.FAILURE, Outcome.SUCCESS]
    ruling = vote([Ruling(outcome, "why", report) for outcome, report in zip(outcomes, reports, strict=True)])
    assert ruling.process == ProcessReport(score=0.75, failure="controllable", side_effects=["a", "b"])


def verdict(number: int, report: ProcessReport | None) -> Verdict:
    return Verdict(
        trajectory_id=str(number), outcome=Outcome.SUCCESS, rationale="", process=report, judge="j", judge_version="v"
    )


def test_a_table_of_verdicts_keeps_the_reports(tmp_path) -> None:
    verdicts = [verdict(1, None), verdict(2, ProcessReport(score=0.25, failure="uncontrollable", side_effects=["x"]))]
    write_table(tmp_path / "verdicts.parquet", Verdict, verdicts)
    assert read_table(tmp_path / "verdicts.parquet", Verdict) == verdicts


def test_tables_of_verdicts_from_before_the_reports_are_read(tmp_path) -> None:
    import pyarrow.parquet as pq

    path = tmp_path / "verdicts.parquet"
    write_table(path, Verdict, [verdict(1, None)])
    pq.write_table(pq.read_table(path).drop_columns(["process"]), path)
    assert read_table(path, Verdict) == [verdict(1, None)]


def test_the_summary_of_a_run_counts_what_the_reports_say() -> None:
    reports = [
        ProcessReport(score=0.5, failure="controllable", side_effects=["x"]),
        ProcessReport(score=1.0, failure="uncontrollable"),
        None,
    ]
    lines = [
        JudgedRecord(
            source="f", task_id=str(number), verdict=verdict(number, report), unjudged=None, missing_screenshots=[]
        )
        for number, report in enumerate(reports)
    ]
    summary = summarise(lines, "universal", "v", Spent())
    assert summary.process is not None
    assert (summary.process.reports, summary.process.score, summary.process.uncontrollable) == (2, 0.75, 1)
    assert (summary.process.side_effects, summary.process.critical_points) == (1, 0)
    assert "process: 75.0% of the criteria, over 2 records" in as_text(summary)
    assert summarise(lines[2:], "universal", "v", Spent()).process is None
