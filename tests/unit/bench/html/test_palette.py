"""Colours, by arithmetic: contrast as WCAG 2 counts it, and what people with another sense of colour keep apart."""

from __future__ import annotations

from itertools import combinations

import pytest

from kit.bench.html.palette import DARK, DASHES, HATCHES, LIGHT, MARKERS

THEMES = {"light": LIGHT, "dark": DARK}
# Linear RGB as it is seen; Machado, Oliveira, Fernandes: A Physiologically-based Model for Simulation of Color Vision
# Deficiency, 2009, severity 1.
SIGHT = {
    "all colours": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "no red": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "no green": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "no blue": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
APART = 0.11  # in OKLab; 0.02 is just to be told apart side by side

RGB = tuple[float, float, float]


def linear(colour: str) -> RGB:
    """`#rrggbb` -> light, 0 to 1 each (sRGB, IEC 61966-2-1)."""
    values = (int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5))
    r, g, b = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in values)
    return r, g, b


def contrast(one: str, other: str) -> float:
    """WCAG 2: 1 to 21."""
    light = sorted(sum(w * v for w, v in zip((0.2126, 0.7152, 0.0722), linear(c), strict=True)) for c in (one, other))
    return (light[1] + 0.05) / (light[0] + 0.05)


def oklab(colour: str, sight: str) -> RGB:
    """Björn Ottosson, 2020: a space in which distances are what the eye takes for differences."""
    r, g, b = (min(1.0, max(0.0, sum(w * v for w, v in zip(row, linear(colour), strict=True)))) for row in SIGHT[sight])
    l = (0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b) ** (1 / 3)  # noqa: E741
    m = (0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b) ** (1 / 3)
    s = (0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b) ** (1 / 3)
    return (
        0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
        1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
        0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s,
    )


def distance(one: str, other: str, sight: str) -> float:
    pairs = zip(oklab(one, sight), oklab(other, sight), strict=True)
    return float(sum((a - b) ** 2 for a, b in pairs) ** 0.5)


def test_the_arithmetic_is_that_of_the_standards() -> None:
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)
    assert oklab("#ffffff", "all colours") == pytest.approx((1, 0, 0), abs=1e-4)
    assert distance("#ff0000", "#808000", "no green") < distance("#ff0000", "#808000", "all colours")


@pytest.mark.parametrize("theme", THEMES)
def test_text_stands_out_by_aa(theme: str) -> None:
    palette = THEMES[theme]
    texts = (palette.ink, palette.muted, palette.accent, palette.better, palette.worse)
    for text in texts:
        for behind in (palette.background, palette.surface):
            assert contrast(text, behind) >= 4.5, (text, behind)


@pytest.mark.parametrize("theme", THEMES)
def test_what_is_drawn_stands_out_from_its_background_by_aa(theme: str) -> None:
    palette = THEMES[theme]
    assert all(contrast(colour, palette.background) >= 3 for colour in palette.series)


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("theme", THEMES)
def test_series_are_told_apart_by_all_eyes(theme: str, sight: str) -> None:
    pairs = combinations(THEMES[theme].series, 2)
    close = [(one, other) for one, other in pairs if distance(one, other, sight) < APART]
    assert not close


def test_series_are_told_apart_without_any_colour() -> None:
    count = len(LIGHT.series)
    assert len({*MARKERS}) >= count and len({*map(str, DASHES)}) >= count and len({*HATCHES}) >= count


@pytest.mark.parametrize("theme", THEMES)
def test_the_themes_name_the_same_colours_and_none_twice(theme: str) -> None:
    named = THEMES[theme].named()
    assert [name for name, _ in named] == [name for name, _ in LIGHT.named()]
    assert len({colour for _, colour in named}) == len(named)
