"""Another colour scheme, other fonts, sharp or round corners; with some seeds a dark page."""

from __future__ import annotations

import random
from dataclasses import dataclass

from django.http import HttpRequest

from city.modifiers import Modifier


@dataclass(frozen=True)
class Scheme:
    """Colours of the page, of its text, of bars and of what can be pressed."""

    page: str
    ink: str
    bar: str
    bar_ink: str
    accent: str
    link: str


SCHEMES = (
    Scheme("#fdf6e3", "#3b3a36", "#7a4b2a", "#fff8ec", "#b3541e", "#8a3c10"),
    Scheme("#eef4ef", "#1f2d24", "#2f5d43", "#f2fbf5", "#3f7d58", "#1f6b3f"),
    Scheme("#f3f0fa", "#2a2438", "#4b3b78", "#f6f2ff", "#6a4fb3", "#4f35a0"),
    Scheme("#fdf0f3", "#3a2229", "#8c2f4b", "#fff3f6", "#b23a63", "#93204a"),
    Scheme("#edf6f9", "#16323b", "#0b5563", "#eafcff", "#0f7c8c", "#0a6170"),
    Scheme("#ffffff", "#111111", "#ffd84d", "#1b1b1b", "#1b1b1b", "#0a3fb5"),
)
FONTS = (
    "Georgia, 'Times New Roman', serif",
    "Verdana, Geneva, sans-serif",
    "'Courier New', 'DejaVu Sans Mono', monospace",
    "'Trebuchet MS', 'DejaVu Sans', sans-serif",
)
DARK = """html { background: #fff; filter: invert(.92) hue-rotate(180deg) }
img, video { filter: invert(1) hue-rotate(180deg) }"""


class Theme(Modifier):
    """Restyles all sites alike."""

    def __init__(self, rng: random.Random) -> None:
        self._scheme = rng.choice(SCHEMES)
        self._font = rng.choice(FONTS)
        self._size = rng.choice((15, 17, 18))
        self._radius = rng.choice((0, 6, 18))
        self._is_dark = rng.random() < 0.25

    def css(self, request: HttpRequest) -> str:
        """Rules that hold on any site: they name elements and the frameworks' classes."""
        scheme = self._scheme
        rules = f"""html body, #content-wrapper, #wrapper, .page, .page_inner, .header, #container, #main, .content {{
  background: {scheme.page} !important; color: {scheme.ink} !important }}
html body {{ font-size: {self._size}px !important }}
html body, h1, h2, h3, h4, h5, h6, p, li, td, th, label, legend, a, button, input, select, textarea {{
  font-family: {self._font} !important }}
main, .card, .card-header, .card-body, .dropdown-menu, .module, .module caption {{
  color: {scheme.ink} !important }}
a:not(:where(.btn, .button, .badge, .write, .main, .object-tools a)) {{ color: {scheme.link} !important }}
.navbar, body > header:not(.container), body > nav, #header, .sidebar.navbar-nav, .module caption, .breadcrumbs {{
  background: {scheme.bar} !important; color: {scheme.bar_ink} !important }}
.navbar a, .navbar .btn, .navbar .nav-link, .navbar-text, .navbar em, body > header:not(.container) a, body > nav a,
#header a, #header button, .sidebar.navbar-nav a, .module caption a,
.breadcrumbs a {{ color: {scheme.bar_ink} !important }}
.dropdown-menu {{ background: {scheme.page} !important }}
.dropdown-menu a, .dropdown-menu .dropdown-item {{ color: {scheme.link} !important }}
.btn-primary, .btn-success, .btn-info, button[type=submit]:not(.btn-link):not(.dropdown-item):not(.nav-link),
input[type=submit] {{
  background: {scheme.accent} !important; border-color: {scheme.accent} !important; color: #fff !important }}
.btn, button, input, select, textarea, .card, .img-thumbnail, .form-control {{
  border-radius: {self._radius}px !important }}"""
        return f"{rules}\n{DARK}" if self._is_dark else rules


MODIFIER = Theme
