"""A dialog asks to subscribe to the newsletter of the site, from the second or third page on until it is closed."""

from __future__ import annotations

import random
from collections import Counter

from django.http import HttpRequest, HttpResponse

from city import pages
from city.modifiers import Dismissal, Modifier

COOKIE = "newsletter"
TEXTS = (
    ("Before you go on", "Get the tides and our offers every Friday."),
    ("Stay in touch", "One letter a month, with news from the quay."),
    ("Join 2,000 readers", "Be the first to hear what is new in the harbour."),
)
POPUP = """<div id="city-popup" style="position:fixed;inset:0;z-index:2147483100;background:rgba(0,0,0,.55);
display:flex;align-items:center;justify-content:center;font:16px/1.5 sans-serif">
<div role="dialog" aria-modal="true" aria-label="{title}" style="position:relative;background:#fff;color:#222;
width:28rem;max-width:90%;padding:2rem;border-radius:10px">
<button type="button" class="city-close" aria-label="Close"
style="position:absolute;top:.5rem;{side}:.5rem">&times;</button>
<h2 style="font-size:1.4rem">{title}</h2><p>{text}</p>
<form><label>E-mail for the newsletter <input type="email" required style="width:100%"></label>
<button type="submit" style="margin-top:1rem">Sign me up</button></form>
</div></div>
<script>
(() => {{
  const popup = document.getElementById("city-popup");
  const close = answer => {{ document.cookie = "{cookie}=" + answer + "; path=/; SameSite=Lax"; popup.remove(); }};
  popup.querySelector(".city-close").addEventListener("click", () => close("closed"));
  popup.querySelector("form").addEventListener("submit", event => {{ event.preventDefault(); close("signed-up"); }});
  if (window.top !== window) popup.remove();
}})();
</script>"""


class Popup(Modifier):
    """Counts the pages of each site that were shown; the browser remembers that the dialog was closed."""

    def __init__(self, rng: random.Random) -> None:
        title, text = rng.choice(TEXTS)
        self._pages_before = rng.randint(1, 2)
        self._popup = POPUP.format(title=title, text=text, side=rng.choice(("left", "right")), cookie=COOKIE)

    def after(self, request: HttpRequest, response: HttpResponse, counts: Counter[str]) -> None:
        """Count this page."""
        is_shown = pages.is_visit(request) and pages.is_page(response) and response.status_code == 200
        counts[f"popup:{request.get_host()}"] += is_shown

    def markup(self, request: HttpRequest, counts: Counter[str]) -> str:
        """The dialog, after the first pages of this site and until the browser says that it was closed."""
        is_early = counts[f"popup:{request.get_host()}"] <= self._pages_before
        return "" if is_early or COOKIE in request.COOKIES else self._popup

    def dismissal(self) -> Dismissal:
        """The button in the dialog's corner. Pages have buttons of the same name."""
        return Dismissal("button", "Close", beside=("field", "E-mail for the newsletter"))


MODIFIER = Popup
