"""Another layout: navigation on other sides, another spacing, lists for grids, tables from right to left."""

from __future__ import annotations

import random

from django.http import HttpRequest

from city.modifiers import Modifier

SIDE = """:is(.row, .columns, .layout, .wrapper, main):has(> aside), .row:has(> .sidebar), #wrapper, #main,
.frame, .top, .tabs, .cards > .card {
  flex-direction: row-reverse !important }
.navbar .navbar-nav, .navbar > .container, .navbar > .container-fluid { flex-direction: row-reverse !important }
.controls-link-wrapper, .page-header .float-right { float: left !important }"""
BOTTOM = """body:has(> nav, > header), body > #container {
  display: flex !important; flex-direction: column; min-height: 100vh }
body > *, #container > * { flex-shrink: 0; min-width: 0 }
body > :is(nav, header), #container > #header { order: 9; position: static !important; width: 100%; max-width: none }
body > :not(nav, header):not(script):not(style) { width: 100% }
body > nav .dropdown-menu, body > header .dropdown-menu { top: auto !important; bottom: 100% !important }"""
LIST = """ol.row > li, ul.row > li { flex: 0 0 100% !important; max-width: 100% !important }
.calendars, .halves { grid-template-columns: 1fr !important }
.product_pod { display: flex !important; gap: 1.5rem; align-items: center; min-height: 0 !important }
.product_pod > * { flex: 1; width: auto !important; height: auto !important }
.product_pod h3 a { white-space: normal }
.product_pod .image_container { flex: 0 0 8rem; height: auto !important; min-height: 0 !important }
.product_pod .image_container img { max-height: 7rem }"""
COLUMNS = """table { direction: rtl } td, th, caption { direction: ltr; text-align: left }"""
NARROW = """body > .container, body > main, .page { max-width: 820px !important }"""


class Layout(Modifier):
    """Rearranges all sites: the side and the spacing always, the rest by seed."""

    def __init__(self, rng: random.Random) -> None:
        self._space = rng.choice((0.35, 0.5, 0.75))
        self._height = rng.choice((1.7, 1.9))
        self._rules = [SIDE, *(rule for rule in (BOTTOM, LIST, COLUMNS, NARROW) if rng.random() < 0.6)]

    def css(self, request: HttpRequest) -> str:
        """Rules that hold on any site: they name elements and the frameworks' classes."""
        spacing = f"""body {{ line-height: {self._height} !important }}
td, th, li, .form-group, .nav-link, .list-group-item, .dropdown-item {{
  padding-top: {self._space}rem !important; padding-bottom: {self._space}rem !important }}
.btn, button, input[type=submit] {{ margin: {self._space / 2}rem !important }}"""
        return "\n".join([spacing, *self._rules])


MODIFIER = Layout
