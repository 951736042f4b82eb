"""What an answer says besides its value: refusals, alternatives, and claims that the work is done.

An answer that names a value and refuses, or that names several reasons, is right in any case that it lists. So the
kinds of answers (`answers`) accept it in none.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable

REFUSAL = re.compile(
    r"\b(can ?not|can't|could ?n[o']t|impossible|unable|not possible|\w+n't possible|n/?a|no such|does ?n[o']t exist)\b"
)
_REASONED = re.compile(
    r"(?:\bnot possible|n't possible|\bimpossible|\b(?:can ?not|can't) be done)"
    r"(?=\W*(?::|\b(?:because|since|as|due to)\b))"
)
"""A refusal that a reason follows: "This is not possible: …"."""
_NOT_APPLICABLE = re.compile(r"(?:^|[.,;\n]|\banswer(?: is)?\b|\bor\b)\W*n ?/ ?a\b")
_CLAUSE = re.compile(
    r"[.,:](?!\S)|[;!?\n()]|\s[-\u2013\u2014]\s|\b(?=(?:because|since|due to)\b)|\b(?=as (?:it|there|the)\b)"
)
_OPENS_REASON = re.compile(
    r"\W*(?:is|was|it|it's|its|this|that|they|there|there's|because|since|due|as|sold|out|no|not|none|already|only|locked|"
    r"closed|taken|occupied|unavailable|forbidden|invalid|unknown)\b"
)
_IS_REASON = re.compile(
    r"\b(?:sold out|out of stock|not in stock|unavailable|(?:not|n't) (?:available|allowed|permitted|valid)|locked|"
    r"no permission|forbidden|invalid|already (?:taken|booked|reserved|shipped|sent|completed?)|"
    r"only (?:the )?(?:staff|author))\b"
)
_OBSTACLE = re.compile(
    rf"{_IS_REASON.pattern}|\b(?:closed|full|expired|archived|deleted|removed|cancell?ed|taken|booked|reserved|occupied|"
    r"blocked|disabled|suspended|completed?|impossible|missing)\b"
)
NOT_ABLE = re.compile(
    r"\b(?:not|\w+n't) (?:been )?(?:able to|allowed|permitted)\b"
    r"|\b(?:no|not have|\w+n't have|lack(?:s|ed)?) (?:the )?permission\b"
)
"""A refusal in other words: "I was not able to cancel it". "Dogs are not allowed" may also be an answer, so only tasks
that cannot be done read it so."""
_NUMBER_WORDS = (
    "zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|"
    "eighteen|nineteen|twenty"
)
_OFFERED_NUMBER = re.compile(
    r"(?:(?:(?<!\bno)\.|[;!?])(?=\s)|\n|\bor\b|\botherwise\b|\belse\b|\bif not\b|\banswer(?: is)?\b)\W*"
    r"(?:(?:or|otherwise|else|if not|(?:the )?answer(?: is)?|it is|exactly|about)\W+)*"
    rf"(?:\d+(?:[.,]\d+)*|{_NUMBER_WORDS})[ .]*(?:$|[;!?\n]|(?<=\.) )"
    rf"|,\s*[$€£]?(?:\d{{1,3}}(?:\.\d+)?|{_NUMBER_WORDS})\W*$"
    r"|^\W*(?!1\b)\d+\.\s"
)
"""A number that stands alone beside a sentence: "It is sold out. 6", "It is sold out, otherwise 6". "Hull polish,
500 ml" and "19 March, 2026" have none."""
_TASK_IS_DONE = re.compile(
    r"\b(?:task|job|request|work|instruction)s? (?:(?:is|are|was|were|has been|have been) )?(?:now )?(?:all )?"
    r"(?:completed?|done|finished)\b"
)
_DEED = (
    "added|applied|assigned|booked|bought|cancell?ed|changed|chose|closed|completed|created|did|edited|finished|made|"
    "moved|ordered|placed|posted|purchased|put|replaced|replied|reserved|saved|sent|set|submitted|took|updated|used|"
    "wrote|written"
)
_DID = re.compile(
    rf"\bi(?:'ve| have)? (?:(?:also|already|just|now|then|therefore|successfully) )*(?:{_DEED})\b"
    r"(?! (?:not|nothing|no|none)\b)|\bsuccessfully\b|(?<!nothing was )(?<!not )(?<!be )\bdone\b"
    r"|(?<!nothing )(?<!nothing else )\binstead\b(?! of\b)"
)
"""Says what was done: "so I ordered a mug". "I did not order it" does not."""
_WHOLE_REASON = re.compile(
    rf"(?:(?:it|this|that|the \w+) (?:is|was) |it's )?(?:now |already )?(?:{_IS_REASON.pattern})"
)
"""A clause that is a reason and nothing else: "it is sold out"."""
_COUNT = re.compile(rf"(?:(?:or|otherwise|else|if not) )?(?:\d{{1,3}}|{_NUMBER_WORDS})")
"""A clause that is a small whole number and nothing else."""
_ITEM_END = r"[^\w\u0700-\u1fff\u3099\u309a]+$"
"""What follows an item; in the scripts of these ranges a word may end with a mark, such as a vowel of Hindi."""
_ROW_NUMBER = re.compile(r"^\W*(\d{1,2})[.)]\s", re.MULTILINE)
_NUMBERS_IN_A_ROW = re.compile(r"(?<!\S)\d{1,3}(?: (?:or |and )?\d{1,3})+(?!\S)")


def offers_refusal(answer: str, names_value: Callable[[str], bool]) -> bool:
    """Whether an answer gives a reason why the task cannot be done, or is "N/A".

    Args:
        names_value: whether a clause in lower case names the value that the task asks for, and so is no reason: "I
            could not find a second one, it is 6".
    """
    text = unicodedata.normalize("NFKC", answer).casefold().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    if _REASONED.search(text) or _NOT_APPLICABLE.search(text):
        return True
    clauses = [clause for clause in _CLAUSE.split(text) if clause.strip()]
    for number, clause in enumerate(clauses):
        if REFUSAL.search(clause) is None:
            continue
        if any(_IS_REASON.search(near) for near in clauses[max(number - 1, 0) : number + 2]):
            return True
        if any(_OPENS_REASON.match(after) and not names_value(after) for after in clauses[number + 1 : number + 2]):
            return True
    return False


def offers_number(text: str) -> bool:
    """Whether a refusal in lower case also offers a number: "It is sold out. 6"."""
    return _OFFERED_NUMBER.search(text) is not None


def items(answer: str) -> list[str]:
    """The items of a list and the sentences of an answer, in lower case, without what links them: "seen by Alice
    and by Piet" has "alice" and "piet"; "1. Alice" is no list. Numbers of rows from 1 on are no items, nor are the
    parts of "3/16" and of "1,250". An item may be empty."""
    text = re.sub(r"^\W*1[.)]\s", "", _without_row_numbers(answer.casefold()))
    parts = re.split(r"(?<!\d)[,/]|[,/](?!\d)|[;\n]|[.:](?!\S)|\band\b|\bor\b", text)
    return [re.sub(rf"^\W*(?:(?:otherwise|else|it is|.*\bby)\b\W*)?|{_ITEM_END}", "", part) for part in parts]


def _without_row_numbers(text: str) -> str:
    """A text without the numbers of its lines, if they count from 1."""
    numbers = _ROW_NUMBER.findall(text)
    return _ROW_NUMBER.sub("", text) if numbers == [str(number + 1) for number in range(len(numbers))] else text


def offers_count(answer: str, allowed: Iterable[str] = ()) -> bool:
    """Whether an item of an answer is a whole number below 1,000 and nothing else, such as that of "Complete, 3".

    Args:
        allowed: numbers that it may be.
    """
    return any(_COUNT.fullmatch(item) and item not in {*allowed} for item in items(answer))


def has_reason_alone(answer: str, allowed: Iterable[str] = ()) -> bool:
    """Whether an item of an answer is a reason why a task cannot be done and nothing else: "It is sold out. 6".

    Args:
        allowed: items that it may be, in lower case.
    """
    return any(_WHOLE_REASON.fullmatch(item) and item not in {*allowed} for item in items(answer))


def each_reason(answer: str, is_right: Callable[[str], bool]) -> bool:
    """Whether each of an answer's refusals has a right reason, if there are several with a reason."""
    places = [match.end() for match in _REASONED.finditer(answer)]
    ends = [*places[1:], len(answer)]
    return len(places) < 2 or all(is_right(answer[place:end]) for place, end in zip(places, ends, strict=True))


def is_offered_after_another(answer: str) -> bool:
    """Whether a refusal is one of several alternatives: "2, this is not possible", "2 or this is not possible"."""
    return (
        re.search(r"\bor\W+(?:else\W+)?(?:this|it|that) (?:is not|isn't|is im|cannot|can't)", answer) is not None
        or re.match(r"\W*\d{1,4}(?:\W+(?:or\W+)?\d{1,4})*(?:\s*[,;\n]|\s+or\b|\s)\W*(?:this|it|that|i) ", answer)
        is not None
    )


def is_listed(text: str, words: str) -> bool:
    """Whether words are one of several things in a list: "it is sold out, not available or locked"."""
    links = r"(?:[,;/]|\bor\b)\s*(?:(?:and|or|is|it is|it's|is also) )*"
    return re.search(rf"{links}{re.escape(words)}\s*(?:[,;./]|\bor\b|$)", text) is not None


def has_numbers_in_a_row(text: str) -> bool:
    """Whether a plain text (`answers.plain`) counts: "0 1 2 3"."""
    return _NUMBERS_IN_A_ROW.search(text) is not None


def without_claims(text: str) -> str:
    """A text in lower case without claims such as "the task is complete", which are no status of an order."""
    return _TASK_IS_DONE.sub(" ", text)


def is_obstacle(word: str) -> bool:
    """Whether words state an obstacle by themselves, as "sold out" does and "in stock" does not."""
    return _OBSTACLE.search(word.casefold()) is not None


def claims_deed(text: str) -> bool:
    """Whether a text in lower case says that something was done."""
    return _DID.search(text) is not None


def count_named(groups: Iterable[Iterable[str]], is_named: Callable[[str], bool]) -> int:
    """How many groups of words have one that is named."""
    return sum(any(map(is_named, group)) for group in groups)
