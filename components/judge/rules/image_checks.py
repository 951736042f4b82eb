"""VisualWebArena's checks of the images on a page (`page_image_query`), on the images that the episode's browser read.

A question is answered by a model that sees images (`SeesAnswer`), and one of the images must give the answer. A copy
is found by the structural similarity of two images (Wang et al. 2004: windows of 7×7 pixels, sample covariance, K1 =
0.01, K2 = 0.03), as in the published code, which takes it from scikit-image. The differences:

- The published code asks BLIP-2 about each image and looks for the word "yes" in its answers. Here one question is
  about all images of a check at once, to the judge model of the recipe. Its verdict must say that one of them gives
  the answer.
- Images were made smaller (`browser/image_reading.py`) before they are compared, to the size of the larger one in each
  direction, as published.
- A page without images fails. A page whose images, or whose copies, could not be read gives no verdict.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from PIL import Image as PILImage

from components.judge.rules.conditions import ImagesShow
from components.records import Image, Reading

SeesAnswer = Callable[[str, str, tuple[Image, ...]], bool | None]
"""Takes a question, its answer and images; returns whether one of the images gives that answer, None if that is
unknown."""
_WINDOW = 7


class ImageFinding(NamedTuple):
    """Whether a part of a check holds (None: unknown), and its words for the rationale."""

    holds: bool | None
    part: str


def check_images(check: ImagesShow, reading: Reading | None, sees_answer: SeesAnswer | None) -> list[ImageFinding]:
    """A finding per question and one for the copies. `reading`: what the browser read, None if it read nothing."""
    where = f"images of {check.url} {check.selector}".strip()
    if reading is None or reading.text is None:
        reason = reading.error if reading is not None else "the record has no images"
        return [ImageFinding(None, f"{where} (not read: {reason})")]
    if not reading.images:
        return [ImageFinding(False, f"{where} (there are none)")]
    findings = [
        _ask(
            f'{where}: {expected.question} "{expected.answer}"',
            expected.question,
            expected.answer,
            reading,
            sees_answer,
        )
        for expected in check.questions
    ]
    if check.copies:
        best = max(similarity(image, copy) for image in reading.images for copy in reading.copies)
        part = f"{where} have a copy of {' or '.join(check.copies)} ({best:.2f} of {check.threshold:g})"
        findings.append(ImageFinding(best > check.threshold, part))
    return findings


def similarity(first: Image, second: Image) -> float:
    """The mean structural similarity of two images in shades of grey, from -1 to 1; 1 for equal ones."""
    pictures = [PILImage.open(io.BytesIO(image.data)) for image in (first, second)]
    size = max(picture.width for picture in pictures), max(picture.height for picture in pictures)
    size = max(size[0], _WINDOW), max(size[1], _WINDOW)
    greys = (picture.resize(size, PILImage.Resampling.LANCZOS).convert("L") for picture in pictures)
    x, y = (np.asarray(grey, dtype=np.float64) for grey in greys)
    return _mean_ssim(x, y)


def _mean_ssim(x: np.ndarray, y: np.ndarray) -> float:
    """Of two arrays of the same shape with values from 0 to 255, at all windows that lie inside."""
    pixels = _WINDOW**2
    unbiased = pixels / (pixels - 1)
    from scipy.ndimage import uniform_filter  # no other rule needs SciPy

    mean_x, mean_y = uniform_filter(x, _WINDOW), uniform_filter(y, _WINDOW)
    var_x = unbiased * (uniform_filter(x * x, _WINDOW) - mean_x * mean_x)
    var_y = unbiased * (uniform_filter(y * y, _WINDOW) - mean_y * mean_y)
    covariance = unbiased * (uniform_filter(x * y, _WINDOW) - mean_x * mean_y)
    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    values = (2 * mean_x * mean_y + c1) * (2 * covariance + c2)
    values /= (mean_x**2 + mean_y**2 + c1) * (var_x + var_y + c2)
    border = _WINDOW // 2
    return float(values[border : x.shape[0] - border, border : x.shape[1] - border].mean())


def _ask(part: str, question: str, answer: str, reading: Reading, sees_answer: SeesAnswer | None) -> ImageFinding:
    if sees_answer is None:
        return ImageFinding(None, f"{part} (needs a model judge that sees images)")
    judgement = sees_answer(question, answer, tuple(reading.images))
    return ImageFinding(judgement, part if judgement is not None else f"{part} (the model judge did not tell)")
