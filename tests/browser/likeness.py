"""Whether two screenshots show the same page; fonts and versions of the browser may differ a little."""

import base64
import os
from pathlib import Path

from playwright.sync_api import Browser

PICTURES = Path(__file__).resolve().parents[2] / "docs" / "pictures"
TOLERANCE = 0.12
"""Mean difference of a pixel, from 0 to 1, after both pictures were made small."""

_DIFFERENCE = """async ([one, other]) => {
  const pixels = async (data) => {
    const image = new Image();
    image.src = data;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = 160; canvas.height = 160;
    const brush = canvas.getContext("2d");
    brush.drawImage(image, 0, 0, 160, 160);
    return brush.getImageData(0, 0, 160, 160).data;
  };
  const [a, b] = [await pixels(one), await pixels(other)];
  let sum = 0;
  for (let place = 0; place < a.length; place++) sum += Math.abs(a[place] - b[place]);
  return sum / a.length / 255;
}"""


def assert_looks_like(browser: Browser, taken: bytes, name: str) -> None:
    """Compare with the picture in the documents; `OUTWEIGH_TAKE_PICTURES=1` puts the taken one there instead."""
    kept = PICTURES / name
    if os.environ.get("OUTWEIGH_TAKE_PICTURES"):
        kept.write_bytes(taken)
    page = browser.new_page()
    try:
        difference = page.evaluate(_DIFFERENCE, [_as_data(taken), _as_data(kept.read_bytes())])
    finally:
        page.close()
    assert difference < TOLERANCE


def _as_data(picture: bytes) -> str:
    return f"data:image/jpeg;base64,{base64.b64encode(picture).decode()}"
