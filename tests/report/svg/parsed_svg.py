"""What the tests of charts look for in a drawing."""

from xml.etree import ElementTree as ET

SVG = "{http://www.w3.org/2000/svg}"
MARKS = ("rect", "circle", "path", "line")


def parsed(svg: str) -> ET.Element:
    """The drawing as a tree; it must be XML."""
    return ET.fromstring(svg)


def marks(svg: str, kind: str | None = None) -> list[ET.Element]:
    """Everything that stands for a figure; with this class, where one is named."""
    found = [
        element
        for element in parsed(svg).iter()
        if element.tag in {f"{SVG}{tag}" for tag in MARKS} and element.attrib.get("aria-hidden") != "true"
    ]
    return [one for one in found if kind is None or kind in one.attrib.get("class", "").split()]


def titles(svg: str) -> list[str]:
    """What is said about the marks."""
    return [mark.findtext(f"{SVG}title") or "" for mark in marks(svg)]


def written(svg: str) -> list[str]:
    """Every text that can be copied."""
    return ["".join(text.itertext()) for text in parsed(svg).iter(f"{SVG}text")]


def place(element: ET.Element, name: str) -> float:
    """A coordinate, be it in percent or not."""
    return float(element.attrib[name].removesuffix("%"))
