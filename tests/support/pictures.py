"""Picture files for tests, made with Pillow or by hand where Pillow won't make them."""

import random
import struct
import zlib
from io import BytesIO
from typing import Any

from PIL import Image

from assay.images import Prepared, Transform, sniff


def noise(mode: str, size: tuple[int, int], seed: int = 0) -> Image.Image:
    """Random samples; a picture of its own for every seed."""
    bands = {"1": 1, "L": 1, "P": 1, "LA": 2, "RGB": 3, "RGBA": 4, "CMYK": 4}[mode]
    raw = random.Random(seed).randbytes(size[0] * size[1] * bands)
    if mode == "1":
        return Image.frombytes("L", size, raw).convert("1")
    image = Image.frombytes(mode, size, raw)
    if mode == "P":
        image.putpalette(random.Random(seed + 1).randbytes(768))
    return image


def file_of(image: Image.Image, format: str, **options: Any) -> bytes:  # noqa: A002  (Pillow's word)
    if format == "JPEG" and "exif" in options:
        options["exif"] = b"Exif\0\0" + options["exif"]  # Pillow adds this itself to other types only
    target = BytesIO()
    image.save(target, format, **options)
    return target.getvalue()


def opened(data: bytes) -> Image.Image:
    """Decoded by Pillow's own front door, not by the code under test."""
    image = Image.open(BytesIO(data))
    image.load()
    return image


def rgb(data: bytes) -> Image.Image:
    return opened(data).convert("RGB")


def chunk(kind: bytes, payload: bytes) -> bytes:
    return struct.pack(">I", len(payload)) + kind + payload + struct.pack(">I", zlib.crc32(kind + payload))


def png(width: int, height: int, depth: int, colour: int, rows: bytes, *extra: bytes) -> bytes:
    """A PNG file: `rows` are its packed samples without filter bytes, `extra` chunks come before them."""
    stride = len(rows) // height if rows else 0
    filtered = b"".join(b"\0" + rows[start : start + stride] for start in range(0, len(rows), stride or 1))
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0))
    body = header + b"".join(extra) + chunk(b"IDAT", zlib.compress(filtered))
    return b"\x89PNG\r\n\x1a\n" + body + chunk(b"IEND", b"")


def with_chunk(data: bytes, extra: bytes) -> bytes:
    """A PNG file with one more chunk after its header."""
    return data[:33] + extra + data[33:]


def exif(orientation: int, *, order: str = ">", kind: int = 3) -> bytes:
    """A TIFF block with the orientation and a GPS directory's address, as cameras write it."""
    magic = b"MM\0*" if order == ">" else b"II*\0"
    value = struct.pack(order + {3: "HH", 4: "I"}[kind], *((orientation, 0) if kind == 3 else (orientation,)))
    entries = struct.pack(order + "HHI", 0x0112, kind, 1) + value + struct.pack(order + "HHII", 0x8825, 4, 1, 38)
    return magic + struct.pack(order + "IH", 8, 2) + entries + struct.pack(order + "I", 0) + struct.pack(order + "H", 0)


def jpeg_with(data: bytes, *segments: tuple[int, bytes]) -> bytes:
    """A JPEG file with more segments (marker byte, payload) at its start."""
    inserted = b"".join(
        b"\xff" + bytes([code]) + struct.pack(">H", len(payload) + 2) + payload for code, payload in segments
    )
    return data[:2] + inserted + data[2:]


def corners(image: Image.Image) -> list[Any]:
    """Top left, top right, bottom left, bottom right; a little inside, for JPEG."""
    right, bottom = image.width - 2, image.height - 2
    return [image.getpixel(at) for at in ((1, 1), (right, 1), (1, bottom), (right, bottom))]


WHITE = (255, 255, 255)
RED, GREEN, BLUE, YELLOW = (255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 0)


def quadrants(size: tuple[int, int] = (48, 32)) -> Image.Image:
    """Red, green / blue, yellow."""
    image = Image.new("RGB", size, RED)
    half = (size[0] // 2, size[1] // 2)
    image.paste(GREEN, (half[0], 0, size[0], half[1]))
    image.paste(BLUE, (0, half[1], half[0], size[1]))
    image.paste(YELLOW, (half[0], half[1], *size))
    return image


def near(left: Any, right: Any, tolerance: int = 6) -> bool:
    """Whether colours are equal up to what JPEG loses."""
    return all(abs(a - b) <= tolerance for a, b in zip(left, right, strict=True))


def same_pixels(left: bytes, right: bytes) -> bool:
    return rgb(left).size == rgb(right).size and rgb(left).tobytes() == rgb(right).tobytes()


def assert_clean(prepared: Prepared) -> None:
    """What holds for every prepared picture."""
    part = prepared.part
    image = opened(part.data)
    assert (image.width, image.height) == (part.width, part.height)
    assert image.mode in ("L", "RGB")
    assert Image.MIME[image.format or ""] == part.media_type == sniff(part.data)
    assert part.media_type in ("image/png", "image/jpeg")
    assert getattr(image, "n_frames", 1) == 1
    assert not dict(image.getexif())
    how_it_is_encoded = {"jfif", "jfif_version", "jfif_unit", "jfif_density", "dpi", "adobe", "adobe_transform"}
    assert set(image.info) <= how_it_is_encoded | {"progressive", "progression"}


def one_row(mode: str, values: list[Any]) -> Image.Image:
    image = Image.new(mode, (len(values), 1))
    for column, value in enumerate(values):
        image.putpixel((column, 0), value)
    return image


def grey(*values: int) -> list[tuple[int, int, int]]:
    return [(value, value, value) for value in values]


KEEP = Transform()
FINMME = Transform(max_edge=1024, format="jpeg", quality=80)  # the published step

# The same picture in every type that is read.
TYPES = {
    "image/png": file_of(quadrants(), "PNG"),
    "image/jpeg": file_of(quadrants(), "JPEG", quality=95, subsampling=0),
    "image/gif": file_of(quadrants(), "GIF"),
    "image/webp": file_of(quadrants(), "WEBP", lossless=True),
    "image/bmp": file_of(quadrants(), "BMP"),
    "image/tiff": file_of(quadrants(), "TIFF"),
}
FRAMES = [Image.new("RGB", (30, 30), colour) for colour in (RED, GREEN, BLUE)]
