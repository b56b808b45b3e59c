"""Colours mean one thing and can be told apart: by readers with each kind of colour blindness, by day and by night."""

import re
from itertools import combinations

import pytest

from outweigh.report.page_style import PAGE_STYLE
from outweigh.report.palette import ARM_SHADES, INK, PAPER, ROLE_COLOURS
from outweigh.report.svg.elements import CHART_STYLE
from outweigh.report.svg.heat_map import STRONGEST_SHADE

SCHEMES = ("light", "dark")
schemes = pytest.mark.parametrize("scheme", SCHEMES)
READABLE = 4.5
"""The least contrast of text, by WCAG 2 (AA)."""
APART = 8.0
"""The least distance in OKLab, times 100; about four times what an eye can just notice."""

# Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB.
BLINDNESS = {
    "none": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
Colour = tuple[float, float, float]


def linear(code: str) -> Colour:
    parts = [int(code[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return red, green, blue


def luminance(colour: Colour) -> float:
    return 0.2126 * colour[0] + 0.7152 * colour[1] + 0.0722 * colour[2]


def contrast(one: Colour, other: Colour) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def seen(code: str, blindness: str) -> Colour:
    colour = linear(code)
    red, green, blue = (
        min(1.0, max(0.0, sum(weight * part for weight, part in zip(row, colour, strict=True))))
        for row in BLINDNESS[blindness]
    )
    return red, green, blue


def oklab(colour: Colour) -> Colour:
    red, green, blue = colour
    long = (0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue) ** (1 / 3)
    medium = (0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue) ** (1 / 3)
    short = (0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue) ** (1 / 3)
    return (
        0.2104542553 * long + 0.7936177850 * medium - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * medium + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * medium - 0.8086757660 * short,
    )


def distance(one: str, other: str, blindness: str) -> float:
    pairs = zip(oklab(seen(one, blindness)), oklab(seen(other, blindness)), strict=True)
    return float(100 * sum((a - b) ** 2 for a, b in pairs) ** 0.5)


def blend(ink: str, paper: str, share: float) -> Colour:
    """As a browser does it: in sRGB, before the light is made linear."""
    parts = [
        round(share * int(ink[place : place + 2], 16) + (1 - share) * int(paper[place : place + 2], 16))
        for place in (1, 3, 5)
    ]
    return linear("#{:02x}{:02x}{:02x}".format(*parts))


def test_the_distance_tells_red_from_green_only_where_an_eye_does() -> None:
    assert distance("#D05050", "#709050", "none") > 10 * distance("#D05050", "#709050", "deuteranopia")
    assert contrast(linear("#000000"), linear("#FFFFFF")) == pytest.approx(21)


@schemes
@pytest.mark.parametrize("blindness", BLINDNESS)
def test_better_worse_neutral_and_unknown_stay_apart(scheme: str, blindness: str) -> None:
    close = {
        f"{one} and {other}": found
        for (one, a), (other, b) in combinations(ROLE_COLOURS[scheme].items(), 2)
        if (found := distance(a, b, blindness)) < APART
    }

    assert close == {}


@schemes
def test_words_in_the_colours_can_be_read(scheme: str) -> None:
    pale = [role for role, code in ROLE_COLOURS[scheme].items() if contrast(linear(code), linear(PAPER[scheme])) < 4.5]

    assert pale == []
    assert contrast(linear(INK[scheme]), linear(PAPER[scheme])) > 2 * READABLE


@schemes
def test_numbers_on_the_parts_of_a_bar_can_be_read(scheme: str) -> None:
    assert all(contrast(linear(shade), linear(PAPER[scheme])) >= READABLE for shade in ARM_SHADES[scheme])


@schemes
def test_arms_have_shades_of_grey_so_that_a_colour_always_means_a_result(scheme: str) -> None:
    assert all(len({shade[1:3], shade[3:5], shade[5:7]}) == 1 for shade in ARM_SHADES[scheme])


@schemes
def test_the_more_runs_passed_the_more_a_cell_stands_out_from_the_page(scheme: str) -> None:
    paper, ink = PAPER[scheme], INK[scheme]
    steps = [contrast(blend(ink, paper, STRONGEST_SHADE * share / 5), linear(paper)) for share in range(6)]

    assert steps == sorted(steps)
    assert steps[-1] > 1.5
    assert contrast(blend(ink, paper, STRONGEST_SHADE), linear(ink)) >= READABLE


def test_no_other_colour_than_grey_is_used() -> None:
    allowed = {code.upper() for roles in ROLE_COLOURS.values() for code in roles.values()}
    used = {code.upper() for code in re.findall(r"#[0-9a-fA-F]{6}\b", PAGE_STYLE + CHART_STYLE)}

    tinted = {code for code in used - allowed if max(_parts(code)) - min(_parts(code)) > 4}
    assert tinted == set()


def _parts(code: str) -> list[int]:
    return [int(code[place : place + 2], 16) for place in (1, 3, 5)]
