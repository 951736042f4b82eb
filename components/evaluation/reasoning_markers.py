"""What a policy reasons about, by its wording: the four "lexical proxies" of OpenWebRL, appendix D, table 10.

A step gets every marker whose wording occurs in its reasoning (the text before the first tool call), in any case. The
summary has the share of steps with each marker and the mean length of those responses, and the same for steps without
a marker.

The paper's text has example phrases for each marker and says how conservative each is, but not its exact patterns. The
lists here are our own, built around those phrases. So shares can be compared between runs of this project; beside the
paper's they are only a hint. Accepted: paraphrases are missed, and benign plans may count as retries (the paper says so
of its own patterns).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Literal

from components.records import Record


class ReasoningMarker(StrEnum):
    """A pattern of reasoning. A step may have several."""

    HISTORY = "history_summarization"
    """Lists earlier attempts, actions, failures or exhausted sources."""
    BLOCKER = "blocker_diagnosis"
    """Diagnoses a CAPTCHA, a verification, denied access or a block of automated access."""
    RETRY = "retry_plan"
    """Weighs alternatives, direct navigation or one more attempt."""
    PROOF = "condition_proof"
    """Checks the task's constraints one by one, or says that concrete ones hold."""


_TRIED = r"(?:tried|attempted|checked|searched|visited|explored|exhausted|looked|opened|used|gone through)"
_WORDINGS = {
    ReasoningMarker.HISTORY: (
        rf"(?:i|we)(?:'ve| have) (?:already |now |also |just |previously )*{_TRIED}\b",
        rf"(?:i|we) (?:already|previously) {_TRIED}\b",
        r"i tried\b",
        r"(?:previous|earlier|prior|past) (?:attempt|tries|try|action|step|search|click|approach)",
        r"so far\b",
        r"(?:multiple|several|many|various) (?:approach|attempt|source|tries|quer)\w*",
        r"all (?:the |other |of the )*(?:sources?|attempts?|approaches|options) (?:have |had )*(?:failed|been)\b",
    ),
    ReasoningMarker.BLOCKER: (
        r"(?:re|h)?captcha",
        r"cloudflare\b",
        r"403\b.{0,12}\bforbidden|429\b.{0,12}\btoo many",
        r"access (?:is |was |has been |to \w+ (?:is |was ))?denied\b",
        r"(?:human |security |bot )?verification (?:is |page |was )*(?:required|needed|challenge)",
        r"verify (?:that )?(?:you are|you're|i am|i'm) (?:a )?human|are you (?:a )?(?:robot|human)",
        r"anti-?(?:bot|automation|scraping)|bot (?:detection|protection|check|block)",
        r"automated (?:access|traffic|requests?|browsers?|queries)",
        r"unusual traffic|security (?:check|challenge)",
        r"(?:can ?not|can't|unable to) (?:solve|pass|bypass|get past|complete) (?:the |this |that )?"
        r"(?:verification|challenge|security|puzzle)",
        r"(?:site|page|website|server|request|access|we|i) (?:is |are |am |was |ha(?:s|ve) been )*block(?:ed|ing)\b",
    ),
    ReasoningMarker.RETRY: (
        r"one (?:more|final|last) (?:try|attempt|approach|time|search|idea|thing)",
        r"(?:let me|let's|i'll|i will|i should|i could|i can|maybe|perhaps i) (?:\w+ )?(?:try|retry)\b",
        r"try (?:a |an |the |some )?(?:different|other|another|alternative|new|again)\b",
        r"try \w+ing (?:again|instead)\b",
        r"alternative (?:source|site|website|approach|way|path|route|query|search|method)",
        r"(?:another|different) (?:approach|way|source|site|website|query|method)\b",
        r"go(?:ing)? back (?:to|and)\b",
        r"search(?:ing)? directly|(?:go|navigate|going|navigating) directly to",
        r"let me (?:re-?consider|re-?think|step back|start over)",
    ),
    ReasoningMarker.PROOF: (
        r"(?:meets?|met|satisf(?:y|ies|ied)|fulfil(?:l|ls|led|s)?|match(?:es)?) (?:all |each |every |both )?(?:of )?"
        r"(?:the |these |those |our |my )?(?:\w+ )?(?:requirement|criteri|condition|constraint)",
        r"all (?:of )?(?:the |these )?(?:\w+ )?(?:criteria|requirements|conditions|constraints) "
        r"(?:are |were |have been |now )*(?:met|satisfied|fulfilled)\b",
        r"(?:first|second|third|fourth|next|last|final) (?:condition|requirement|criterion|constraint)\b",
    ),
}
_PATTERNS = {marker: re.compile(rf"\b(?:{'|'.join(wordings)})") for marker, wordings in _WORDINGS.items()}
"""For text in lower case: a search that ignores case takes three times as long."""
_SENTENCE = re.compile(r"[.!?;](?=\s|$)|\n")
_CONSTRAINT = re.compile(
    r"\b(?:under|below|over|above|at least|at most|less than|more than|within|up to|between|maximum of|minimum of) "
    r"[$€£]?\d|[$€£]\d|\b\d+(?:\.\d+)?\+? ?stars?\b|\b\w+-free\b|\bin stock\b"
)
_PROOF_VERB = re.compile(
    r"\b(?:meets|satisfies|fulfils|fulfills|confirms|confirmed|verified|verifies|matches|fits|qualifies|complies)\b|[✓✔✅]"
)


class Step(Record):
    """A turn's markers and lengths. `tokens` is 0 where no ids were recorded (an endpoint, a script)."""

    markers: tuple[ReasoningMarker, ...]
    tokens: int
    characters: int


class MarkerShare(Record):
    """`steps` steps have the marker, a `share` of all; `length_mean` is the mean length of their responses, None
    without such steps."""

    steps: int
    share: float
    length_mean: float | None = None


class MarkerSummary(Record):
    """The markers over `steps` turns. Lengths are in `unit`: tokens, or characters if a step has no tokens.

    `of` has the share of each marker by its name, `any` that of steps with a marker, `none` that of steps without.
    """

    steps: int
    unit: Literal["tokens", "characters"]
    of: dict[str, MarkerShare]
    any: MarkerShare
    none: MarkerShare


def markers_of(reasoning: str) -> tuple[ReasoningMarker, ...]:
    """The markers of a step's reasoning."""
    text = reasoning.lower().replace("’", "'")
    return tuple(marker for marker, pattern in _PATTERNS.items() if pattern.search(text) or _proves(marker, text))


def summarise(steps: Sequence[Step]) -> MarkerSummary | None:
    """Shares and mean lengths; None without steps."""
    if not steps:
        return None
    unit: Literal["tokens", "characters"] = "tokens" if all(step.tokens for step in steps) else "characters"

    def share(members: Sequence[Step]) -> MarkerShare:
        lengths = [step.tokens if unit == "tokens" else step.characters for step in members]
        mean = sum(lengths) / len(lengths) if lengths else None
        return MarkerShare(steps=len(members), share=len(members) / len(steps), length_mean=mean)

    return MarkerSummary(
        steps=len(steps),
        unit=unit,
        of={marker.value: share([step for step in steps if marker in step.markers]) for marker in ReasoningMarker},
        any=share([step for step in steps if step.markers]),
        none=share([step for step in steps if not step.markers]),
    )


def _proves(marker: ReasoningMarker, text: str) -> bool:
    """A mention of a constraint proves nothing: it takes a concrete one and a verb of proof in the same sentence."""
    return marker is ReasoningMarker.PROOF and any(
        _CONSTRAINT.search(sentence) and _PROOF_VERB.search(sentence) for sentence in _SENTENCE.split(text)
    )
