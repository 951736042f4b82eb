"""Why an episode failed: one kind each, derived from its record, and each kind in one of OpenWebRL's four groups.

In appendix E, people sort 100 failures into access and environment (51%), reasoning and constraint tracking (27%),
visual grounding and interaction (13%), and task definition or judge (9%). Here rules sort them by the record: the
ending, the browser's feedback on each call, the address and title of the last page, the judge's rationale, and the
agent's last words. `failure_kind` applies the rules from the most to the least certain; the first that fits decides:

1. the ending, if the environment ended the episode: `blocked`, `page_unavailable`, `infrastructure`; or if a response
   ended it: `format`, `length`;
2. the judge failed: `unjudged`; the rules for this site contradict a model: `judge_error`; the task was done
   and something else, too, by the record of the world: `overdone`;
3. the last page's title or address refuses visitors: `blocked`; it is the browser's own error page: `page_unavailable`;
4. the rationale says that the task cannot be judged or done as it is written: `ill_posed`;
5. identical calls turn after turn: `stuck` if they did nothing, `loop` if the page answered;
6. the agent's last words name a blocker (by `reasoning_markers`, without other evidence): `blocker_reported`;
7. at least half of its last calls failed or did nothing, or the rationale names a wrong element: `misgrounded`;
8. out of steps though the page answered: `out_of_steps`; the rationale names an unmet constraint: `constraint_missed`;
9. otherwise `wrong`, in the group `unclear`: the agent called `done` and was wrong, and the record does not say why.

Accepted: the rationale is matched by its English wording, and ignored if rules wrote it; missing knowledge of the model
leaves no trace and stays `wrong`; two causes in one episode count as the first. A page that scores itself often accepts
a call without a visible change, so there rule 7 counts only calls that failed or typed something else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from enum import StrEnum

from components.browser.blocked import refuses
from components.browser.feedback import AT_BOUNDARY, DIFFERS, NO_EFFECT
from components.evaluation.reasoning_markers import ReasoningMarker
from components.judge import needs_judge, rules_verdict
from components.judge.rules import RuleError, is_complete
from components.judge.verified.client import VerifiedError
from components.records import Outcome, Termination, Trajectory, Turn, Verdict

RULES = "rules"
"""The judge `rules`: its verdicts are not checked by rules again, and its rationales are not read."""
REPEATS = 3
"""Consecutive turns with identical calls that make a loop."""
LAST_CALLS = 5
"""Turns before the end whose calls rule 7 reads."""
LAST_WORDS = 2
"""Turns before the end whose reasoning rule 6 reads."""


class FailureGroup(StrEnum):
    """OpenWebRL's four groups, and one for failures that the record does not explain."""

    ACCESS = "access"
    """Access and environment: pages that do not load, refuse or ask for a CAPTCHA; machines that fail."""
    REASONING = "reasoning"
    """Reasoning, planning and constraint tracking."""
    GROUNDING = "grounding"
    """Visual grounding and interaction."""
    TASK = "task"
    """Task definition and evaluation."""
    UNCLEAR = "unclear"
    """The record does not say."""


PUBLISHED = {
    FailureGroup.ACCESS: 0.51,
    FailureGroup.REASONING: 0.27,
    FailureGroup.GROUNDING: 0.13,
    FailureGroup.TASK: 0.09,
}
"""Shares of 100 failures on Online-Mind2Web without a stealth browser, sorted by hand (OpenWebRL, appendix E)."""


class FailureKind(StrEnum):
    """What went wrong."""

    BLOCKED = "blocked"
    """The site refused: by the episode's ending, or by the title or address of its last page."""
    BLOCKER_REPORTED = "blocker_reported"
    """Only the agent's last words name a CAPTCHA, a verification or denied access."""
    PAGE_UNAVAILABLE = "page_unavailable"
    """A page did not open, or a browser operation failed for good."""
    INFRASTRUCTURE = "infrastructure"
    """The browser or its machine died, time ran out, an endpoint refused a request, or the run was stopped."""
    CONSTRAINT_MISSED = "constraint_missed"
    """The judge's rationale names a requirement that was not met."""
    LOOP = "loop"
    """Out of steps after identical calls, turn after turn, though the page answered."""
    OUT_OF_STEPS = "out_of_steps"
    """Out of steps, still trying, on a page that answered."""
    LENGTH = "length"
    """A response or the context outgrew its limit."""
    STUCK = "stuck"
    """Out of steps after identical calls that did nothing."""
    MISGROUNDED = "misgrounded"
    """Its last calls mostly failed or did nothing, or hit the wrong element."""
    OVERDONE = "overdone"
    """The task was done, and something else too: an action after the page's own ending, or a side effect."""
    FORMAT = "format"
    """Responses could not be parsed, or ended the episode without an answer."""
    JUDGE_ERROR = "judge_error"
    """A model says failure; the rules for this site, such as its own reward, say success."""
    ILL_POSED = "ill_posed"
    """The judge's rationale calls the task ambiguous, impossible or outdated."""
    UNJUDGED = "unjudged"
    """The agent ended the episode, but the judge failed or its verdict was unreadable. This is no failure of the
    agent."""
    WRONG = "wrong"
    """The agent called `done` and was wrong."""


GROUP = {
    FailureKind.BLOCKED: FailureGroup.ACCESS,
    FailureKind.BLOCKER_REPORTED: FailureGroup.ACCESS,
    FailureKind.PAGE_UNAVAILABLE: FailureGroup.ACCESS,
    FailureKind.INFRASTRUCTURE: FailureGroup.ACCESS,
    FailureKind.CONSTRAINT_MISSED: FailureGroup.REASONING,
    FailureKind.LOOP: FailureGroup.REASONING,
    FailureKind.OUT_OF_STEPS: FailureGroup.REASONING,
    FailureKind.LENGTH: FailureGroup.REASONING,
    FailureKind.STUCK: FailureGroup.GROUNDING,
    FailureKind.MISGROUNDED: FailureGroup.GROUNDING,
    FailureKind.OVERDONE: FailureGroup.REASONING,
    FailureKind.FORMAT: FailureGroup.GROUNDING,
    FailureKind.JUDGE_ERROR: FailureGroup.TASK,
    FailureKind.ILL_POSED: FailureGroup.TASK,
    FailureKind.UNJUDGED: FailureGroup.TASK,
    FailureKind.WRONG: FailureGroup.UNCLEAR,
}

_ENDINGS = {
    Termination.BLOCKED: FailureKind.BLOCKED,
    Termination.ENV_ERROR: FailureKind.PAGE_UNAVAILABLE,
    Termination.ENV_INIT_ERROR: FailureKind.PAGE_UNAVAILABLE,
    Termination.SANDBOX_ERROR: FailureKind.INFRASTRUCTURE,
    Termination.HARNESS_ERROR: FailureKind.INFRASTRUCTURE,
    Termination.TASK_TIMEOUT: FailureKind.INFRASTRUCTURE,
    Termination.INFERENCE_TIMEOUT: FailureKind.INFRASTRUCTURE,
    Termination.REQUEST_REFUSED: FailureKind.INFRASTRUCTURE,
    Termination.ABORTED: FailureKind.INFRASTRUCTURE,
    Termination.FORMAT_ERROR: FailureKind.FORMAT,
    Termination.RESPONSE_LENGTH: FailureKind.LENGTH,
    Termination.CONTEXT_LENGTH: FailureKind.LENGTH,
}
_ERROR_PAGE = "chrome-error:"
_ILL_POSED = re.compile(
    r"\b(?:task|instruction|question|request)\b[^.\n]{0,30}(?<!not )(?<!n't )\b"
    r"(?:ambiguous|under-?specified|ill-?defined|infeasible|impossible|outdated|unanswerable)\b"
    r"|(?<!not an )(?<!not a )\b(?:ambiguous|underspecified|infeasible|outdated) (?:task|instruction|question)\b",
    re.IGNORECASE,
)
_WRONG_ELEMENT = re.compile(
    r"\b(?:wrong|incorrect|unintended) (?:\w+ )?(?:element|button|link|field|icon|control|checkbox|dropdown|tab)\b",
    re.IGNORECASE,
)
_DEMAND = r"(?:requirement|constraint|criteri(?:on|a)|condition|filter|key ?point)s?"
_UNMET = re.compile(
    rf"\b(?:missing|missed|overlook\w*|ignor\w+|violat\w+|unmet|lacks?|not|\w+n't|fail(?:s|ed)? to)\b"
    rf"[^.\n]{{0,40}}\b{_DEMAND}\b"
    rf"|\b{_DEMAND}\b[^.\n]{{0,40}}\b(?:not|\w+n't|never|missing|missed|unmet|violated|ignored|overlooked)\b"
    r"|\b(?:does|do|did|is|was|were)(?: not|n't) (?:meet|met|satisf\w+|fulfil\w*)\b",
    re.IGNORECASE,
)


def failure_kind(
    trajectory: Trajectory, verdict: Verdict | None, markers: Sequence[Sequence[ReasoningMarker]] = ()
) -> FailureKind | None:
    """The kind of a trajectory's failure, or None for a success.

    A success is what the reward counts as one: `done` with an answer in a valid response, and a verdict of success. The
    verdict on any other ending is ignored and may be None.

    Args:
        markers: the markers of each turn's reasoning; without them, rule 6 is left out.
    """
    if needs_judge(trajectory):
        outcome = verdict.outcome if verdict else None
        if outcome is Outcome.SUCCESS:
            return None
        if outcome is not Outcome.FAILURE:
            return FailureKind.UNJUDGED
        if _is_overdone(trajectory):
            return FailureKind.OVERDONE
        if verdict is not None and verdict.judge != RULES and _rules_say_success(trajectory):
            return FailureKind.JUDGE_ERROR
    elif (kind := _ENDINGS.get(trajectory.termination)) is not None:
        return kind
    elif trajectory.late_actions and trajectory.termination is Termination.DONE:
        if _is_overdone(trajectory):
            return FailureKind.OVERDONE
    elif trajectory.termination is Termination.DONE or _ends_unparsed(trajectory):
        return FailureKind.FORMAT
    return _kind_by_pages(trajectory, _rationale(verdict) if needs_judge(trajectory) else "", markers)


def _kind_by_pages(trajectory: Trajectory, rationale: str, markers: Sequence[Sequence[ReasoningMarker]]) -> FailureKind:
    """Rules 3 to 9: the agent called `done` and was wrong, or ran out of steps."""
    turns, out_of_steps = trajectory.turns, trajectory.termination is Termination.MAX_STEPS
    if turns and turns[-1].observation.url.startswith(_ERROR_PAGE):
        return FailureKind.PAGE_UNAVAILABLE
    if turns and _refused(turns[-1]):
        return FailureKind.BLOCKED
    if _ILL_POSED.search(rationale):
        return FailureKind.ILL_POSED
    if out_of_steps and (repeated := repeats(turns)):
        return FailureKind.LOOP if any(_page_answered(turn) for turn in repeated) else FailureKind.STUCK
    if any(ReasoningMarker.BLOCKER in turn_markers for turn_markers in markers[-LAST_WORDS:]):
        return FailureKind.BLOCKER_REPORTED
    if _mostly_without_effect(turns[-LAST_CALLS:], shows=trajectory.site_reward is None) or _WRONG_ELEMENT.search(
        rationale
    ):
        return FailureKind.MISGROUNDED
    if out_of_steps:
        return FailureKind.OUT_OF_STEPS
    return FailureKind.CONSTRAINT_MISSED if _UNMET.search(rationale) else FailureKind.WRONG


def repeats(turns: Sequence[Turn], times: int = REPEATS) -> list[Turn]:
    """The first `times` consecutive turns that made the same calls with the same arguments; empty without such
    turns."""
    run: list[Turn] = []
    previous = None
    for turn in turns:
        calls = json.dumps([[call.name, call.arguments] for call in turn.tool_calls], sort_keys=True, default=str)
        run = [*run, turn] if turn.tool_calls and calls == previous else [turn]
        if turn.tool_calls and len(run) >= times:
            return run
        previous = calls
    return []


def _rules_say_success(trajectory: Trajectory) -> bool:
    """False also if the task's rule has an unknown form, or webarena-verified is not installed: then only a model can
    judge it."""
    try:
        return rules_verdict(trajectory).outcome is Outcome.SUCCESS
    except (RuleError, VerifiedError):
        return False


def _is_overdone(trajectory: Trajectory) -> bool:
    check = trajectory.state_check
    return is_complete(trajectory) and bool(trajectory.late_actions or (check is not None and check.side_effects))


def _ends_unparsed(trajectory: Trajectory) -> bool:
    return bool(trajectory.turns) and trajectory.turns[-1].parse_error is not None


def _refused(turn: Turn) -> bool:
    titles = [tab.title for tab in turn.observation.tabs if tab.active]
    return any(refuses(title, turn.observation.url) for title in titles)


def _page_answered(turn: Turn) -> bool:
    return any(not _had_no_effect(line) for line in turn.feedback)


def _had_no_effect(feedback: str, shows: bool = True) -> bool:
    """True for a call that failed, typed something other than its text or, on a page that `shows` effects, did
    nothing."""
    notes = (NO_EFFECT, AT_BOUNDARY, DIFFERS) if shows else (DIFFERS,)
    return feedback.startswith("Failed:") or any(note in feedback for note in notes)


def _mostly_without_effect(turns: Sequence[Turn], shows: bool) -> bool:
    lines = [
        line
        for turn in turns
        for call, line in zip(turn.tool_calls, turn.feedback, strict=False)
        if call.name not in ("done", "wait")
    ]
    return bool(lines) and 2 * sum(_had_no_effect(line, shows) for line in lines) >= len(lines)


def _rationale(verdict: Verdict | None) -> str:
    """A model's rationale; empty for rules, whose rationale quotes the page and the task."""
    return verdict.rationale if verdict is not None and verdict.judge != RULES else ""
