"""Screenshots with few colours, small enough to keep in the docs."""

import struct
import zlib

import numpy as np
from numpy.typing import NDArray

COLOURS = 16
"""As many as four bits tell apart."""
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_CHANNELS = {2: 3, 6: 4}
"""Bytes per pixel, by the colour types that browsers write."""


def reduce_colours(png: bytes) -> bytes:
    """The same picture with a palette of few colours; every other colour becomes the nearest of them."""
    pixels = _read_pixels(png)
    # Neighbouring shades count as one colour, so that the palette is not spent on a single gradient.
    coarse = (pixels.astype(np.uint32) >> 3) @ np.array([1024, 32, 1], dtype=np.uint32)
    kinds, first, numbers, counts = np.unique(coarse, return_index=True, return_inverse=True, return_counts=True)
    colours = pixels.reshape(-1, 3)[first].astype(np.int32)
    palette = _choose_palette(colours, counts)
    nearest = ((colours[:, None, :] - palette[None, :, :]) ** 2).sum(axis=2).argmin(axis=1)
    indices = nearest[numbers].reshape(pixels.shape[:2]).astype(np.uint8)
    assert len(kinds) == len(nearest)
    return _write_indexed(indices, palette.astype(np.uint8))


def _choose_palette(colours: NDArray[np.int32], counts: NDArray[np.intp]) -> NDArray[np.int32]:
    """The commonest colour, then again and again the one that is common and far from all chosen ones."""
    chosen = [int(counts.argmax())]
    while len(chosen) < min(COLOURS, len(colours)):
        distances = ((colours[:, None, :] - colours[None, chosen, :]) ** 2).sum(axis=2).min(axis=1)
        chosen.append(int((distances * np.sqrt(counts)).argmax()))
    return colours[chosen]


def _read_pixels(png: bytes) -> NDArray[np.uint8]:
    """Height × width × red, green, blue."""
    width, height, depth, kind = struct.unpack(">IIBB", png[16:26])
    assert depth == 8
    content = zlib.decompress(b"".join(body for name, body in _chunks(png) if name == b"IDAT"))
    size = _CHANNELS[kind]
    lines = np.frombuffer(content, np.uint8).reshape(height, 1 + width * size)
    pixels = np.zeros((height, width * size), np.uint8)
    above = np.zeros(width * size, np.uint8)
    for number, line in enumerate(lines):
        above = pixels[number] = _undo_filter(int(line[0]), line[1:], above, size)
    return pixels.reshape(height, width, size)[:, :, :3]


def _chunks(png: bytes) -> list[tuple[bytes, bytes]]:
    found, at = [], len(_SIGNATURE)
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        found.append((png[at + 4 : at + 8], png[at + 8 : at + 8 + length]))
        at += 12 + length
    return found


def _undo_filter(kind: int, line: NDArray[np.uint8], above: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    """One line of pixels, as the PNG format stores the difference to its neighbours."""
    if kind == 0:
        return line.copy()
    if kind == 1:
        return np.cumsum(line.reshape(-1, size), axis=0, dtype=np.uint8).reshape(-1)
    if kind == 2:
        return line + above
    made, before = line.astype(int).tolist(), above.astype(int).tolist()
    for place in range(len(made)):
        left = made[place - size] if place >= size else 0
        corner = before[place - size] if place >= size else 0
        guess = (left + before[place]) // 2 if kind == 3 else _paeth(left, before[place], corner)
        made[place] = (made[place] + guess) & 255
    return np.array(made, np.uint8)


def _paeth(left: int, above: int, corner: int) -> int:
    guess = left + above - corner
    return min((left, above, corner), key=lambda value: abs(guess - value))


def _write_indexed(indices: NDArray[np.uint8], palette: NDArray[np.uint8]) -> bytes:
    height, width = indices.shape
    even = np.pad(indices, ((0, 0), (0, width % 2)))
    lines = np.hstack([np.zeros((height, 1), np.uint8), (even[:, ::2] << 4) | even[:, 1::2]])
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 4, 3, 0, 0, 0)),
        (b"PLTE", palette.tobytes()),
        (b"IDAT", zlib.compress(lines.tobytes(), 9)),
        (b"IEND", b""),
    )
    return _SIGNATURE + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in chunks
    )
