"""The interface is German or Spanish, as Django and the applications translate it. What people wrote stays English."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping

from django.http import HttpRequest, HttpResponse
from django.utils import translation

from city.modifiers import Modifier
from city.translations import LANGUAGES, TRANSLATIONS


class Language(Modifier):
    """Activates a language for each request. Forms read dates and numbers in it, too."""

    def __init__(self, rng: random.Random) -> None:
        self._language = rng.choice(LANGUAGES)
        position = LANGUAGES.index(self._language)
        self._labels = {english: texts[position] for english, texts in TRANSLATIONS.items()}

    def before(self, request: HttpRequest, counts: Counter[str]) -> HttpResponse | None:
        """Activate the language in this thread."""
        translation.activate(self._language)
        return None

    def after(self, request: HttpRequest, response: HttpResponse, counts: Counter[str]) -> None:
        """Activate the settings' language again."""
        translation.deactivate()

    @property
    def language(self) -> str:
        """The code that Django has for it."""
        return self._language

    def labels(self) -> Mapping[str, str]:
        """Texts that no application's catalogue has."""
        return self._labels


MODIFIER = Language
