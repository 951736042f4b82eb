"""Verdicts by rules, and the probes by which rules read pages at the end of an episode.

- `rule_of` parses a task's evaluator (`specs`, `calls`); `require_rules` refuses unknown forms before any episode, and
  `require_decisive_rules` tasks without a rule where no model judges.
- `probes_of` (`pages`) goes into `EpisodeSettings.probes`: at the end of the episode its browser answers these probes,
  and the trajectory keeps the readings.
- `rules_verdict` (`verdict`) decides from the record alone: the site's own reward (`site_reward`), WebArena
  (`webarena`, with `matching`, `addresses` and `image_checks`), open questions (`qa`). Where only a model can decide,
  it asks `same_answer` or `sees_answer`; `open_questions` returns these questions beforehand.
- `hint_of` (`webvoyager`): the hint for a judge from a reference answer that is no rule.
"""

from components.judge.rules.pages import probes_of
from components.judge.rules.qa import AnswerScores, score_answer
from components.judge.rules.site_reward import COMPLETE, MAX_EVENTS, is_complete, rationale
from components.judge.rules.specs import (
    Rule,
    RuleError,
    require_decisive_rules,
    require_rules,
    rule_of,
    undecidable_tasks,
)
from components.judge.rules.verdict import (
    JUDGE,
    VERSION,
    ImageQuestion,
    Question,
    open_questions,
    rules_verdict,
    without_references,
)
from components.judge.rules.webarena import NEEDS_MODEL, SameAnswer
from components.judge.rules.webvoyager import hint_of

__all__ = [
    "COMPLETE",
    "JUDGE",
    "MAX_EVENTS",
    "NEEDS_MODEL",
    "VERSION",
    "AnswerScores",
    "ImageQuestion",
    "Question",
    "Rule",
    "RuleError",
    "SameAnswer",
    "hint_of",
    "is_complete",
    "open_questions",
    "probes_of",
    "rationale",
    "require_decisive_rules",
    "require_rules",
    "rule_of",
    "rules_verdict",
    "score_answer",
    "undecidable_tasks",
    "without_references",
]
