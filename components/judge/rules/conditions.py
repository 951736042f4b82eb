"""The conditions of WebArena's and VisualWebArena's tasks, as records: what an answer, an address, the text of a page
and the images on a page must be at the end of an episode.

`published_eval` makes them of the published `eval` objects, `pages` asks the browser for what they need, `webarena` and
`image_checks` decide them.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from components.judge.rules.calls import AddressCall, TextCall
from components.records import Record


class Exactly(Record):
    """The text equals `text` (`exact_match`)."""

    kind: Literal["exactly"] = "exactly"
    text: str


class Includes(Record):
    """The text contains one phrase of each list of alternatives (`must_include`; of the only list for `one_of`)."""

    kind: Literal["includes"] = "includes"
    phrases: Annotated[list[Annotated[list[str], Field(min_length=1)]], Field(min_length=1)]


class Excludes(Record):
    """The text is there and contains none of the phrases (`must_exclude`)."""

    kind: Literal["excludes"] = "excludes"
    phrases: Annotated[list[str], Field(min_length=1)]


class Comparison(Record):
    """A bound of a number, such as `< 700`."""

    operator: Literal["<", "<=", "==", ">=", ">"]
    value: float


class Satisfies(Record):
    """The text is a number that meets one comparison of each list of alternatives (`required_values`)."""

    kind: Literal["satisfies"] = "satisfies"
    bounds: Annotated[list[Annotated[list[Comparison], Field(min_length=1)]], Field(min_length=1)]


class MeansSame(Record):
    """The text means the same as all references (`fuzzy_match`). Equality is decided by rule, all else needs a
    model."""

    kind: Literal["means_same"] = "means_same"
    references: Annotated[list[str], Field(min_length=1)]


class Unachievable(Record):
    """The task cannot be done, and the answer must say so. `reason` is the note of the task's authors, if any.

    `by_model`: a model decides about answers in other words.
    """

    kind: Literal["unachievable"] = "unachievable"
    reason: str
    by_model: bool


Expectation = Annotated[
    Exactly | Includes | Excludes | Satisfies | MeansSame | Unachievable, Field(discriminator="kind")
]


class EndsAt(Record):
    """The episode must end at one of these addresses, or below one unless `exact` (`url_match`)."""

    addresses: Annotated[list[str], Field(min_length=1)]
    exact: bool


class PageHas(Record):
    """A page must meet the expectations at the end of the episode (`program_html`).

    `url` and `locator` are as published. `page` is the page to read: an address, a call that returns one, or None for
    the agent's last page. `text_source` is a call that returns the text, a JavaScript expression, or "" for the whole
    page.
    """

    url: str
    locator: str
    page: AddressCall | str | None
    text_source: TextCall | str
    prepare: list[str]
    expects: list[Expectation]


class ImageAnswer(Record):
    """A question about an image, and the word that its answer must contain (`eval_vqa`)."""

    question: str
    answer: str


class ImagesShow(Record):
    """Images on a page must show what was asked for (`page_image_query`).

    `url` and `selector` are as published, and `page` is as in `PageHas`. The selector is one of CSS, and an empty one
    means all images of the page. For each question, one of the images gives the answer. If there are `copies`, one of
    the images is a copy of one of them: their structural similarity is above `threshold`, from 0 to 1.
    """

    url: str
    selector: str
    page: AddressCall | str | None
    questions: list[ImageAnswer]
    copies: list[str]
    threshold: Annotated[float, Field(ge=0, le=1)]


class WebArenaRule(Record):
    """All conditions must hold; a part that the task does not have is empty."""

    type: Literal["webarena"] = "webarena"
    answer: list[Expectation]
    ends_at: EndsAt | None
    pages: list[PageHas]
    images: list[ImagesShow] = Field(default_factory=list)
