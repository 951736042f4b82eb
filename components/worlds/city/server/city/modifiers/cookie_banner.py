"""A banner about cookies covers the lower part of each site until it is answered."""

from __future__ import annotations

import random
from collections import Counter

from django.http import HttpRequest

from city.modifiers import Dismissal, Modifier

COOKIE = "cookie_choice"
"""The visitor's browser remembers the answer, per site; no row does."""
TEXTS = (
    ("We use cookies", "Some are needed, others help us to count visitors.", "Accept all", "Only necessary"),
    ("Your privacy", "May we store cookies in your browser to remember what you like?", "Agree", "Refuse"),
    ("Cookies on board", "This site would like to keep a few crumbs in your browser.", "Accept", "Decline"),
)
BANNER = """<div id="city-cookies" role="dialog" aria-modal="false" aria-label="{title}" style="position:fixed;left:0;
right:0;bottom:0;height:{height}vh;z-index:2147483000;background:#fffdf5;color:#222;border-top:4px solid #444;
padding:1.5rem 2rem;overflow:auto;font:16px/1.5 sans-serif;text-align:left">
<h2 style="margin:0 0 .5rem;font-size:1.4rem">{title}</h2>
<p>{text} You can change your mind later by deleting the cookies of this site.</p>
<p style="display:flex;gap:1rem;flex-direction:{direction};justify-content:center">
<button type="button" data-choice="accepted" style="padding:.5rem 1.5rem">{accept}</button>
<button type="button" data-choice="refused" style="padding:.5rem 1.5rem">{refuse}</button></p>
</div>
<script>
for (const button of document.querySelectorAll("#city-cookies button")) button.addEventListener("click", () => {{
  document.cookie = "{cookie}=" + button.dataset.choice + "; path=/; max-age=31536000; SameSite=Lax";
  document.getElementById("city-cookies").remove();
}});
if (window.top !== window) document.getElementById("city-cookies").remove();
</script>"""


class CookieBanner(Modifier):
    """Adds the banner to each page of a visitor who has not answered."""

    def __init__(self, rng: random.Random) -> None:
        title, text, accept, refuse = rng.choice(TEXTS)
        self._refuse = refuse
        self._banner = BANNER.format(
            title=title,
            text=text,
            accept=accept,
            refuse=refuse,
            height=rng.choice((40, 50, 60)),
            direction=rng.choice(("row", "row-reverse")),
            cookie=COOKIE,
        )

    def markup(self, request: HttpRequest, counts: Counter[str]) -> str:
        """The banner, until the browser sends the answer."""
        return "" if COOKIE in request.COOKIES else self._banner

    def dismissal(self) -> Dismissal:
        """The button that refuses."""
        return Dismissal("button", self._refuse)


MODIFIER = CookieBanner
