"""Whether two screenshots show the same page; fonts and browser versions may differ a little."""

import base64
import os
from pathlib import Path

from playwright.sync_api import Browser

PICTURES = Path(__file__).resolve().parents[2] / "docs" / "pictures"
ALIKE = 0.6
"""The least correlation of brightness, after both pictures were scaled down; other pages are far below."""

_LIKENESS = """async ([one, other]) => {
  const light = async (data) => {
    const image = new Image();
    image.src = data;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = 40; canvas.height = 40;
    const brush = canvas.getContext("2d");
    brush.imageSmoothingQuality = "high";
    brush.drawImage(image, 0, 0, 40, 40);
    const pixels = brush.getImageData(0, 0, 40, 40).data;
    return Array.from({length: 1600}, (_, place) => pixels[4 * place] + pixels[4 * place + 1] + pixels[4 * place + 2]);
  };
  const centred = (values) => {
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    return values.map((value) => value - mean);
  };
  const product = (a, b) => a.reduce((sum, value, place) => sum + value * b[place], 0);
  const [a, b] = [centred(await light(one)), centred(await light(other))];
  return product(a, b) / Math.sqrt(product(a, a) * product(b, b) || 1);
}"""


def likeness(browser: Browser, one: bytes, other: bytes) -> float:
    """1 for the same picture, around 0 for any other, -1 for its negative."""
    page = browser.new_page()
    try:
        found: float = page.evaluate(_LIKENESS, [_as_data(one), _as_data(other)])
        return found
    finally:
        page.close()


def assert_looks_like(browser: Browser, taken: bytes, name: str) -> None:
    """Compare with the picture in the docs; `OUTWEIGH_TAKE_PICTURES=1` replaces that instead."""
    kept = PICTURES / name
    if os.environ.get("OUTWEIGH_TAKE_PICTURES"):
        kept.write_bytes(taken)
    assert likeness(browser, taken, kept.read_bytes()) > ALIKE


def _as_data(picture: bytes) -> str:
    return f"data:image/jpeg;base64,{base64.b64encode(picture).decode()}"
