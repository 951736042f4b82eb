"""One page of the episode fails with an error page, and works when it is loaded again. Sending a form never fails."""

from __future__ import annotations

import random
from collections import Counter

from django.http import HttpRequest, HttpResponse

from city import pages
from city.modifiers import Dismissal, Modifier

ERRORS = (
    (500, "Something went wrong", "The page could not be made because of an error on our side."),
    (503, "We will be back in a moment", "The site is busy and cannot answer just now."),
)
PAGE = """<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <title>{title}</title>
  <style>
    body {{ font: 16px/1.6 sans-serif; background: #f4f4f2; color: #333; margin: 0 }}
    main {{ max-width: 34rem; margin: 5rem auto; padding: 2rem; background: #fff; border: 1px solid #ddd }}
  </style>
</head>
<body>
  <main>
    <h1>{title}</h1>
    <p>{text} Please load the page again. (Error {status})</p>
    <p><a href="">Try again</a> · <a href="/">Start page</a></p>
  </main>
</body>
</html>
"""


class ErrorOnce(Modifier):
    """Answers the page after the first few with an error. The application does not see that request."""

    def __init__(self, rng: random.Random) -> None:
        self._good_pages = rng.randint(1, 4)
        self._status, self._title, self._text = rng.choice(ERRORS)

    def before(self, request: HttpRequest, counts: Counter[str]) -> HttpResponse | None:
        """The error page, once."""
        if not pages.is_visit(request) or counts["error_once:shown"] or counts["error_once"] < self._good_pages:
            return None
        counts["error_once:shown"] = 1
        page = PAGE.format(title=self._title, text=self._text, status=self._status)
        headers = {"Retry-After": "1"} if self._status == 503 else {}
        return HttpResponse(page, status=self._status, headers=headers)

    def dismissal(self) -> Dismissal:
        """The link that loads the page again."""
        return Dismissal("link", "Try again", beside=("link", "Start page"), words="load the page again")

    def after(self, request: HttpRequest, response: HttpResponse, counts: Counter[str]) -> None:
        """Count the good pages."""
        counts["error_once"] += pages.is_visit(request) and pages.is_page(response) and response.status_code == 200


MODIFIER = ErrorOnce
