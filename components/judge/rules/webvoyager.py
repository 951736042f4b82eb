"""WebVoyager's reference answers: hints for a judge that cannot decide alone.

The pages are live, most answers are one of many (`possible`), and those that should not change (`golden`) are one
wording of several (He et al. 2024). So there is no rule here, only a hint for the judge. A task has the answer as its
`reference_answer`; its evaluator has the kind of answer and the note on the site.
"""

from __future__ import annotations

from components.judge.rules.specs import HintRule, rule_of
from components.records import Task

_INTRODUCTIONS = {
    "golden": "An answer that was right when the task was written",
    "possible": "One of several answers that were right when the task was written",
}


def hint_of(task: Task) -> str | None:
    """The hint on a task's answer for the judge's prompt; None if the task has no reference answer.

    Raises:
        RuleError: the evaluator has an unknown form.
    """
    rule = rule_of(task.evaluator)
    if not isinstance(rule, HintRule) or not task.reference_answer:
        return None
    notice = rule.notice.strip().rstrip(".")
    parts = [
        f"{_INTRODUCTIONS[rule.answer_type]}: {task.reference_answer.strip().rstrip('.')}.",
        f"Note on the site: {notice}." if notice else "",
        "Pages change; believe what was seen.",
    ]
    return " ".join(filter(None, parts))
