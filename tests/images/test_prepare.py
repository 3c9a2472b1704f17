"""Pictures of every kind become one upright, opaque, bounded picture."""

import hashlib
import json
import re
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from assay.errors import ImageError, UsageError
from assay.images import Prepared, Transform, decode, prepare, sniff
from support.pictures import (
    BLUE,
    GREEN,
    RED,
    YELLOW,
    chunk,
    corners,
    exif,
    file_of,
    jpeg_with,
    noise,
    opened,
    png,
    quadrants,
    rgb,
    with_chunk,
)

KEEP = Transform()
WHITE, BLACK = (255, 255, 255), (0, 0, 0)


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
    assert set(image.info) <= {
        "jfif",
        "jfif_version",
        "jfif_unit",
        "jfif_density",
        "dpi",
        "adobe",
        "adobe_transform",
    } | {
        "progressive",
        "progression",
    }


# --------------------------------------------------------------------------------------------------------------------
# Types


TYPES = {
    "image/png": file_of(quadrants(), "PNG"),
    "image/jpeg": file_of(quadrants(), "JPEG", quality=95, subsampling=0),
    "image/gif": file_of(quadrants(), "GIF"),
    "image/webp": file_of(quadrants(), "WEBP", lossless=True),
    "image/bmp": file_of(quadrants(), "BMP"),
    "image/tiff": file_of(quadrants(), "TIFF"),
}


@pytest.mark.parametrize("media_type", TYPES)
def test_every_type_keeps_its_picture(media_type: str) -> None:
    data = TYPES[media_type]
    assert sniff(data) == media_type
    prepared = prepare(data, KEEP)
    assert_clean(prepared)
    assert prepared.notes == ()
    assert prepared.part.media_type == ("image/jpeg" if media_type == "image/jpeg" else "image/png")
    assert all(map(near, corners(rgb(prepared.part.data)), (RED, GREEN, BLUE, YELLOW)))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", None),
        (b"\x89PNG", None),
        (b"BM is how this text starts", None),
        (b"\0\0\0\x1cftypavif\0\0\0\0", "image/avif"),
        (b"\0\0\0\x18ftypheic\0\0\0\0", "image/heic"),
        (b"\xef\xbb\xbf<?xml version='1.0'?>\n<!-- drawn -->\n<SVG width='1'/>", "image/svg+xml"),
        (b"<html><body><svg></svg></body></html>", None),
        (b"II+\0\x08\0\0\0", "image/tiff"),
        (b"RIFF\x24\0\0\0WAVEfmt ", None),
    ],
)
def test_sniff(data: bytes, expected: str | None) -> None:
    assert sniff(data) == expected


@pytest.mark.parametrize(
    ("data", "kind", "words"),
    [
        (b"", "empty", "empty"),
        (b"<!DOCTYPE html><html><title>404</title></html>", "not_an_image", "an HTML page"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00", "not_an_image", "git lfs pull"),
        (b'{"error": "not found"}', "not_an_image", "JSON"),
        (b"%PDF-1.7\n", "not_an_image", "PDF"),
        (b"just words", "not_an_image", "not a picture of a known type"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "unsupported", "SVG+XML"),
        (b"\0\0\0\x1cftypavif\0\0\0\0", "unsupported", "AVIF"),
    ],
)
def test_what_is_no_picture_is_named(data: bytes, kind: str, words: str) -> None:
    with pytest.raises(ImageError, match=re.escape(words)) as caught:
        prepare(data, KEEP)
    assert caught.value.kind == kind


# --------------------------------------------------------------------------------------------------------------------
# Orientation

# Corners of the upright picture where the stored one has red, green / blue, yellow. EXIF 2.3 says where row 0 and
# column 0 of the stored picture belong; e.g. 6: row 0 is the right side and column 0 the top, so red goes to the top
# right.
UPRIGHT = {
    1: (RED, GREEN, BLUE, YELLOW),
    2: (GREEN, RED, YELLOW, BLUE),
    3: (YELLOW, BLUE, GREEN, RED),
    4: (BLUE, YELLOW, RED, GREEN),
    5: (RED, BLUE, GREEN, YELLOW),
    6: (BLUE, RED, YELLOW, GREEN),
    7: (YELLOW, GREEN, BLUE, RED),
    8: (GREEN, YELLOW, RED, BLUE),
}


def oriented(media_type: str, orientation: int) -> bytes:
    tag = exif(orientation)
    match media_type:
        case "image/png":
            return with_chunk(TYPES[media_type], chunk(b"eXIf", tag))
        case "image/jpeg":
            return jpeg_with(TYPES[media_type], (0xE1, b"Exif\0\0" + tag))
        case "image/webp":
            return file_of(quadrants(), "WEBP", lossless=True, exif=tag)
        case _:
            return file_of(quadrants(), "TIFF", tiffinfo={0x0112: orientation})


@pytest.mark.parametrize("orientation", UPRIGHT)
@pytest.mark.parametrize("media_type", ["image/png", "image/jpeg", "image/webp", "image/tiff"])
def test_orientation_is_applied_once_and_dropped(media_type: str, orientation: int) -> None:
    data = oriented(media_type, orientation)
    prepared = prepare(data, KEEP)
    assert_clean(prepared)
    upright = (48, 32) if orientation < 5 else (32, 48)
    assert (prepared.part.width, prepared.part.height) == upright
    assert all(map(near, corners(rgb(prepared.part.data)), UPRIGHT[orientation]))
    assert prepare(prepared.part.data, KEEP).part.data == prepared.part.data  # nothing is turned again
    assert all(map(near, corners(decode(data)), UPRIGHT[orientation]))
    if orientation != 1 and media_type != "image/tiff":
        assert prepared.notes == (f"turned upright from EXIF orientation {orientation}",)


@pytest.mark.parametrize(
    ("block", "turned"),
    [
        (exif(6, order="<"), True),
        (exif(6, order="<", kind=4), True),  # as a LONG, which some cameras write
        (exif(0), False),
        (exif(9), False),
        (b"", False),
        (b"MM\0*", False),
        (b"MM\0*" + struct.pack(">I", 1 << 31), False),
        (b"MM\0*" + struct.pack(">IH", 8, 65535), False),
        (b"XX" + exif(6)[2:], False),
        (exif(6)[:14], False),
    ],
)
def test_odd_exif_blocks(block: bytes, turned: bool) -> None:
    prepared = prepare(jpeg_with(TYPES["image/jpeg"], (0xE1, b"Exif\0\0" + block)), KEEP)
    assert_clean(prepared)
    assert (prepared.part.width, prepared.part.height) == ((32, 48) if turned else (48, 32))


# --------------------------------------------------------------------------------------------------------------------
# Modes


def palette_with_hole() -> Image.Image:
    image = Image.new("P", (2, 1))
    image.putpalette([*RED, *BLUE])
    image.putpixel((1, 0), 1)
    return image


def one_row(mode: str, values: list[Any]) -> Image.Image:
    image = Image.new(mode, (len(values), 1))
    for column, value in enumerate(values):
        image.putpixel((column, 0), value)
    return image


def row_of(data: bytes) -> list[Any]:
    image = rgb(data)
    return [image.getpixel((column, 0)) for column in range(image.width)]


def grey(*values: int) -> list[tuple[int, int, int]]:
    return [(value, value, value) for value in values]


MODES = {
    # Black at half opacity on white: (0 * 128 + 255 * 127) / 255 = 127.
    "RGBA": (file_of(one_row("RGBA", [(*RED, 255), (*RED, 0), (0, 0, 0, 128)]), "PNG"), [RED, WHITE, (127, 127, 127)]),
    "LA": (file_of(one_row("LA", [(7, 255), (7, 0), (0, 128)]), "PNG"), grey(7, 255, 127)),
    "P": (file_of(palette_with_hole(), "PNG"), [RED, BLUE]),
    "P with one transparent entry": (file_of(palette_with_hole(), "PNG", transparency=1), [RED, WHITE]),
    "P with alpha for each entry": (file_of(palette_with_hole(), "PNG", transparency=b"\xff\x00"), [RED, WHITE]),
    "GIF with a transparent entry": (file_of(palette_with_hole(), "GIF", transparency=1), [RED, WHITE]),
    "PA": (file_of(palette_with_hole().convert("PA"), "TIFF"), [RED, BLUE]),
    "1": (file_of(one_row("1", [0, 255, 255, 0]), "PNG"), grey(0, 255, 255, 0)),
    "L, 2 bits": (png(4, 1, 2, 0, b"\x1b"), grey(0, 85, 170, 255)),
    "L, 16 bits": (file_of(one_row("I;16", [0, 255, 256, 0x8000, 65535]), "PNG"), grey(0, 0, 1, 128, 255)),
    "L, 16 bits, TIFF": (file_of(one_row("I;16", [0, 0x8000, 65535]), "TIFF"), grey(0, 128, 255)),
    "L, 16 bits, TIFF, big end first": (file_of(one_row("I;16B", [0, 0x8000, 65535]), "TIFF"), grey(0, 128, 255)),
    "RGB, 16 bits": (png(1, 1, 16, 2, struct.pack(">3H", 65535, 0x8000, 0)), [(255, 128, 0)]),
    "RGBA, 16 bits": (png(1, 1, 16, 6, struct.pack(">4H", 65535, 0, 0, 0)), [WHITE]),
    "I up to 255": (file_of(one_row("I", [0, 100, 255]), "TIFF"), grey(0, 100, 255)),
    "I up to 65535": (file_of(one_row("I", [0, 0x8000, 65535]), "TIFF"), grey(0, 128, 255)),
    "I beyond, stretched": (file_of(one_row("I", [-100_000, 0, 100_000]), "TIFF"), grey(0, 127, 255)),
    "F, shares of white": (file_of(one_row("F", [0.0, 0.5, 1.0]), "TIFF"), grey(0, 127, 255)),
    "F up to 255": (file_of(one_row("F", [0.0, 100.0, 255.0]), "TIFF"), grey(0, 100, 255)),
    "F beyond, stretched": (file_of(one_row("F", [-1e6, 0.0, 1e6]), "TIFF"), grey(0, 127, 255)),
    "F, all one value": (file_of(one_row("F", [1e6, 1e6]), "TIFF"), grey(0, 0)),
    # A transparent colour (tRNS) at every depth: samples and key are scaled to 8 bits alike.
    "L, 1 bit, white is clear": (png(8, 1, 1, 0, b"\x0f", chunk(b"tRNS", b"\0\1")), grey(*[0] * 4, *[255] * 4)),
    "L, 1 bit, black is clear": (png(8, 1, 1, 0, b"\x0f", chunk(b"tRNS", b"\0\0")), grey(*[255] * 8)),
    "L, 2 bits, 1 is clear": (png(4, 1, 2, 0, b"\x1b", chunk(b"tRNS", b"\0\1")), grey(0, 255, 170, 255)),
    "L, 4 bits, 1 is clear": (png(2, 1, 4, 0, b"\x12", chunk(b"tRNS", b"\0\1")), grey(255, 34)),
    "L, 8 bits, 9 is clear": (png(2, 1, 8, 0, b"\x09\x0a", chunk(b"tRNS", b"\0\x09")), grey(255, 10)),
    "L, 16 bits, 0x1234 is clear": (
        png(2, 1, 16, 0, b"\x12\x34\x20\x00", chunk(b"tRNS", b"\x12\x34")),
        grey(255, 0x20),
    ),
    "RGB, red is clear": (png(2, 1, 8, 2, bytes(RED + BLUE), chunk(b"tRNS", b"\0\xff\0\0\0\0")), [WHITE, BLUE]),
    "RGB, 16 bits, 0x1234 is clear": (
        png(1, 1, 16, 2, b"\x12\x34" * 3, chunk(b"tRNS", b"\x12\x34" * 3)),
        [WHITE],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MODES)
def test_modes(name: str) -> None:
    data, expected = MODES[name]
    prepared = prepare(data, KEEP)
    assert_clean(prepared)
    assert prepared.part.media_type == "image/png"
    assert row_of(prepared.part.data) == expected
    assert [decode(data).getpixel((column, 0)) for column in range(len(expected))] == expected
    assert_clean(prepare(data, Transform(format="jpeg")))


def test_values_that_are_no_numbers() -> None:
    with pytest.raises(ImageError, match="not numbers") as caught:
        prepare(file_of(one_row("F", [float("nan"), 1.0]), "TIFF"), KEEP)
    assert caught.value.kind == "corrupt"


def test_cmyk_jpeg() -> None:
    # Pillow writes CMYK as Adobe does, inverted. No cyan, full magenta and yellow, no black: red.
    data = file_of(Image.new("CMYK", (16, 16), (0, 255, 255, 0)), "JPEG", quality=100)
    prepared = prepare(data, KEEP)
    assert_clean(prepared)
    assert prepared.part.media_type == "image/jpeg"
    assert near(rgb(prepared.part.data).getpixel((8, 8)), RED)


def test_ycck_jpeg() -> None:
    # Red is C=0 M=255 Y=255 K=0, stored inverted: 255 0 0 255. YCCK stores C M Y as the luma and chroma of their
    # complement (0, 255, 255): Y = .587*255 + .114*255 = 179, Cb = 128 + (.5 - .331)*255 = 171, Cr = 128 - .5*255 = 0.
    # Pillow inverts once more on writing, so the samples handed to it are 76 84 255 0; then the Adobe marker is told
    # that it is YCCK.
    data = file_of(Image.new("CMYK", (16, 16), (76, 84, 255, 0)), "JPEG", quality=100, subsampling=0)
    marker = data.index(b"Adobe")
    assert data[marker + 11] == 0
    data = data[: marker + 11] + b"\x02" + data[marker + 12 :]
    assert near(rgb(prepare(data, KEEP).part.data).getpixel((8, 8)), RED)


def test_rgb_jpeg_passes_with_the_marker_that_says_so() -> None:
    data = file_of(quadrants(), "JPEG", keep_rgb=True, quality=95)
    prepared = prepare(data, KEEP)
    assert prepared.part.data == data
    assert all(map(near, corners(rgb(prepared.part.data)), (RED, GREEN, BLUE, YELLOW)))


# --------------------------------------------------------------------------------------------------------------------
# Animation

FRAMES = [Image.new("RGB", (30, 30), colour) for colour in (RED, GREEN, BLUE)]
STILL = Image.new("RGB", (30, 30), YELLOW)


@pytest.mark.parametrize(
    ("data", "frames", "colour"),
    [
        (file_of(FRAMES[0], "GIF", save_all=True, append_images=FRAMES[1:]), 3, RED),
        (file_of(FRAMES[0], "WEBP", save_all=True, append_images=FRAMES[1:], lossless=True), 3, RED),
        (file_of(FRAMES[0], "PNG", save_all=True, append_images=FRAMES[1:]), 3, RED),
        # A still picture ahead of the three frames, for programs that don't animate: four pictures.
        (file_of(STILL, "PNG", save_all=True, append_images=FRAMES, default_image=True), 4, YELLOW),
        (file_of(FRAMES[0], "TIFF", save_all=True, append_images=FRAMES[1:]), 3, RED),
    ],
    ids=["gif", "webp", "apng", "apng with a still", "tiff"],
)
def test_first_frame_and_a_note(data: bytes, frames: int, colour: tuple[int, int, int]) -> None:
    prepared = prepare(data, KEEP)
    assert_clean(prepared)
    assert prepared.notes == (f"first of {frames} frames",)
    assert rgb(prepared.part.data).getcolors() == [(900, colour)]


def test_transparent_apng_is_encoded_again() -> None:
    frames = [Image.new("RGBA", (8, 8), (*colour, 0)) for colour in (RED, BLUE)]
    prepared = prepare(file_of(frames[0], "PNG", save_all=True, append_images=frames[1:]), KEEP)
    assert_clean(prepared)
    assert prepared.notes == ("first of 2 frames",)
    assert rgb(prepared.part.data).getcolors() == [(64, WHITE)]


# --------------------------------------------------------------------------------------------------------------------
# What passes through, and metadata


PASSING = {
    "RGB PNG": file_of(noise("RGB", (60, 40)), "PNG"),
    "grey PNG": file_of(noise("L", (60, 40)), "PNG"),
    "RGB JPEG": file_of(noise("RGB", (60, 40)), "JPEG"),
    "grey JPEG": file_of(noise("L", (60, 40)), "JPEG"),
    "progressive JPEG": file_of(noise("RGB", (60, 40)), "JPEG", progressive=True),
    "JPEG with restarts": file_of(noise("RGB", (200, 90)), "JPEG", restart_marker_blocks=2),
}


@pytest.mark.parametrize("name", PASSING)
def test_a_plain_file_is_sent_as_it_is(name: str) -> None:
    data = PASSING[name]
    prepared = prepare(data, KEEP)
    assert prepared.part.data is data
    assert prepared.notes == ()
    assert_clean(prepared)


SECRET = b"52.5200 N 13.4050 E"
METADATA: dict[str, tuple[bytes, bytes]] = {
    "EXIF in JPEG": (PASSING["RGB JPEG"], jpeg_with(PASSING["RGB JPEG"], (0xE1, b"Exif\0\0" + exif(1) + SECRET))),
    "XMP": (PASSING["RGB JPEG"], jpeg_with(PASSING["RGB JPEG"], (0xE1, b"http://ns.adobe.com/xap/1.0/\0" + SECRET))),
    "ICC in JPEG": (PASSING["RGB JPEG"], jpeg_with(PASSING["RGB JPEG"], (0xE2, b"ICC_PROFILE\0\1\1" + SECRET))),
    "IPTC": (PASSING["RGB JPEG"], jpeg_with(PASSING["RGB JPEG"], (0xED, b"Photoshop 3.0\0" + SECRET))),
    "comment": (PASSING["RGB JPEG"], jpeg_with(PASSING["RGB JPEG"], (0xFE, SECRET))),
    "after the end": (PASSING["RGB JPEG"], PASSING["RGB JPEG"] + SECRET),
    "EXIF in PNG": (PASSING["RGB PNG"], with_chunk(PASSING["RGB PNG"], chunk(b"eXIf", exif(1) + SECRET))),
    "text": (PASSING["RGB PNG"], with_chunk(PASSING["RGB PNG"], chunk(b"tEXt", b"Comment\0" + SECRET))),
    "private chunk": (PASSING["RGB PNG"], with_chunk(PASSING["RGB PNG"], chunk(b"caBX", SECRET))),
    "after IEND": (PASSING["RGB PNG"], PASSING["RGB PNG"] + SECRET),
}


@pytest.mark.parametrize("name", METADATA)
def test_metadata_is_cut_out_without_touching_the_pixels(name: str) -> None:
    clean, marked = METADATA[name]
    assert SECRET in marked
    prepared = prepare(marked, KEEP)
    assert prepared.part.data == clean
    assert prepared.part.key != prepare(clean, KEEP).part.key  # the key is the file's, not what is left of it


@pytest.mark.parametrize("format", ["PNG", "JPEG", "WEBP", "TIFF"])
@pytest.mark.parametrize("transform", [Transform(format="jpeg"), Transform(max_edge=20), Transform(min_edge=100)])
def test_no_metadata_in_what_is_encoded_again(format: str, transform: Transform) -> None:  # noqa: A002
    options: dict[str, Any] = {} if format == "TIFF" else {"exif": exif(1) + SECRET}
    data = file_of(noise("RGB", (60, 40)), format, icc_profile=b"profile " + SECRET, comment=SECRET, **options)
    prepared = prepare(data, transform)
    assert_clean(prepared)
    assert SECRET not in prepared.part.data


def test_nothing_is_imported_for_what_passes_through() -> None:
    script = (
        "import sys; from assay.images import Transform, prepare\n"
        "assert not {'PIL', 'numpy', 'asyncio'} & set(sys.modules), 'imported too much'\n"
        "prepare(sys.stdin.buffer.read(), Transform())\n"
        "assert 'PIL' not in sys.modules, 'Pillow was needed'\n"
    )
    subprocess.run([sys.executable, "-c", script], input=PASSING["RGB JPEG"], check=True)


# --------------------------------------------------------------------------------------------------------------------
# Sizes and formats


@pytest.mark.parametrize(
    ("size", "max_edge", "min_edge", "sent"),
    [
        ((200, 100), 100, None, (100, 50)),
        ((100, 200), 100, None, (50, 100)),
        ((100, 50), 100, None, (100, 50)),  # never enlarged
        ((300, 100), 100, None, (100, 33)),  # 33.3
        ((1000, 1), 100, None, (100, 1)),
        ((20, 400), None, 28, (28, 400)),
        ((20, 20), None, 28, (28, 28)),
        ((28, 28), None, 28, (28, 28)),
        ((20, 4000), 1000, 28, (28, 1000)),  # first 5x1000
    ],
)
@pytest.mark.parametrize("format", ["keep", "jpeg", "png"])
def test_edges(
    size: tuple[int, int],
    max_edge: int | None,
    min_edge: int | None,
    sent: tuple[int, int],
    format: Any,  # noqa: A002
) -> None:
    transform = Transform(max_edge=max_edge, min_edge=min_edge, format=format)
    prepared = prepare(file_of(Image.new("RGB", size, RED), "PNG"), transform)
    assert_clean(prepared)
    assert (prepared.part.width, prepared.part.height) == sent
    note = f"{size[0]}x{size[1]} sent as {sent[0]}x{sent[1]}"
    assert prepared.notes == (() if size == sent else (note,))


def test_padding_is_white_and_even() -> None:
    # 28 - 20 = 8: 4 px of white on each side; the picture itself is not stretched.
    image = rgb(prepare(file_of(Image.new("RGB", (20, 40), RED), "PNG"), Transform(min_edge=28)).part.data)
    row = [image.getpixel((column, 20)) for column in range(28)]
    assert row == [WHITE] * 4 + [RED] * 20 + [WHITE] * 4


FORMATS = {
    # format asked for, type of the source -> type sent, whether the very bytes are sent
    ("keep", "PNG"): ("image/png", True),
    ("keep", "JPEG"): ("image/jpeg", True),
    ("keep", "BMP"): ("image/png", False),
    ("png", "PNG"): ("image/png", True),
    ("png", "JPEG"): ("image/png", False),
    ("png", "BMP"): ("image/png", False),
    ("jpeg", "PNG"): ("image/jpeg", False),
    ("jpeg", "JPEG"): ("image/jpeg", False),
    ("jpeg", "BMP"): ("image/jpeg", False),
}


@pytest.mark.parametrize(("format", "source"), FORMATS)
def test_formats(format: Any, source: str) -> None:  # noqa: A002
    data = file_of(noise("RGB", (40, 40)), source)
    part = prepare(data, Transform(format=format)).part
    assert (part.media_type, part.data == data) == FORMATS[format, source]
    if part.media_type == "image/png":
        assert same_pixels(part.data, data)


def test_quality_matters() -> None:
    data = file_of(noise("RGB", (90, 90)), "PNG")
    small, large = (prepare(data, Transform(format="jpeg", quality=q)).part for q in (20, 90))
    assert len(small.data) < len(large.data) / 2
    assert small.key != large.key


def test_a_side_too_long_for_jpeg() -> None:
    data = file_of(Image.new("L", (70_000, 1)), "PNG")
    assert prepare(data, KEEP).part.width == 70_000
    with pytest.raises(ImageError, match="70,000 px does not fit a JPEG") as caught:
        prepare(data, Transform(format="jpeg"))
    assert caught.value.kind == "too_large"


@pytest.mark.parametrize(
    "values",
    [
        {"quality": 0},
        {"quality": 96},
        {"max_edge": 0},
        {"min_edge": -1},
        {"max_pixels": 0},
        {"max_edge": 9, "min_edge": 10},
    ],
)
def test_transforms_that_make_no_sense(values: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="must"):
        Transform(**values)


# FinMME's published step in words: alpha on white, if a side exceeds 1024 then a Lanczos thumbnail within 1024x1024,
# JPEG of quality 80 with optimised tables.
FINMME = Transform(max_edge=1024, format="jpeg", quality=80)


def published_finmme_step(data: bytes) -> Image.Image:
    image = opened(data)
    if image.mode == "RGBA":
        flat = Image.new("RGB", image.size, WHITE)
        flat.paste(image, mask=image.getchannel("A"))
        image = flat
    if max(image.size) > 1024:
        image.thumbnail((1024, 1024), Image.Resampling.LANCZOS)
    return rgb(file_of(image, "JPEG", quality=80, optimize=True))


@pytest.mark.parametrize(
    "data",
    [
        file_of(noise("RGBA", (1500, 700)), "PNG"),
        file_of(noise("RGB", (300, 200)), "PNG"),
        file_of(noise("RGB", (300, 200)), "JPEG"),
    ],
    ids=["large with alpha", "small", "jpeg"],
)
def test_finmme_step_equals_the_published_one(data: bytes) -> None:
    assert rgb(prepare(data, FINMME).part.data).tobytes() == published_finmme_step(data).tobytes()


@pytest.mark.parametrize("folder", ["mathvision", "finmme", "finchartbench", "dynamath", "chartqa", "wemath"])
def test_real_pictures(shared_data: Path, folder: str) -> None:
    paths = sorted(path for path in (shared_data / folder).rglob("*") if path.suffix in (".png", ".jpg"))
    assert paths
    for path in paths[:: max(1, len(paths) // 8)]:
        data = path.read_bytes()
        kept = prepare(data, KEEP)
        assert_clean(kept)
        source = opened(data)
        if source.mode in ("RGB", "L"):
            assert same_pixels(kept.part.data, data)
        sent = prepare(data, FINMME)
        assert_clean(sent)
        assert max(sent.part.width, sent.part.height) == min(1024, max(source.size))
        if source.mode in ("RGB", "RGBA"):
            assert rgb(sent.part.data).tobytes() == published_finmme_step(data).tobytes()


# --------------------------------------------------------------------------------------------------------------------
# Keys


def test_key_covers_size_and_mode() -> None:
    raw = noise("L", (120, 80)).tobytes()
    wide, tall = (file_of(Image.frombytes("L", size, raw), "BMP") for size in ((120, 80), (80, 120)))
    assert prepare(wide, KEEP).part.key != prepare(tall, KEEP).part.key
    assert (prepare(wide, KEEP).part.width, prepare(tall, KEEP).part.width) == (120, 80)
    pixels = bytes(range(48))
    assert len({prepare(png(w, h, 8, c, pixels), KEEP).part.key for w, h, c in ((8, 6, 0), (6, 8, 0), (4, 4, 2))}) == 3


def test_key_covers_the_transform() -> None:
    data = file_of(noise("RGBA", (60, 40)), "PNG")
    transforms = [
        KEEP,
        Transform(max_edge=50),
        Transform(min_edge=50),
        Transform(format="jpeg"),
        Transform(format="png"),
        Transform(format="jpeg", quality=80),
    ]
    assert len({prepare(data, transform).part.key for transform in transforms}) == len(transforms)
    # The limit decides whether there is a picture, not which.
    assert prepare(data, Transform(max_pixels=2_400)).part.key == prepare(data, KEEP).part.key


def test_key_of_today_is_key_of_tomorrow() -> None:
    """A changed key would ask every question of a stored run again. If that is meant, raise the layout version."""
    data = png(2, 1, 8, 2, bytes(RED + BLUE))
    assert prepare(data, KEEP).part.key == prepare(bytes(bytearray(data)), Transform()).part.key
    # Layout 1, worked out with sha256sum: the JSON line below without a line break, then the file.
    line = b'[1,"image/png","RGB",2,1,[null,null,"keep",90]]'
    assert prepare(data, KEEP).part.key == hashlib.sha256(line + data).hexdigest()


# --------------------------------------------------------------------------------------------------------------------
# Properties


@st.composite
def picture_files(draw: st.DrawFn) -> bytes:
    mode, format = draw(  # noqa: A001
        st.sampled_from(
            [(m, "PNG") for m in ("1", "L", "LA", "P", "RGB", "RGBA")]
            + [(m, "JPEG") for m in ("L", "RGB", "CMYK")]
            + [("RGB", "WEBP"), ("RGBA", "WEBP"), ("P", "GIF"), ("RGB", "BMP"), ("RGBA", "TIFF")]
        )
    )
    size = (draw(st.integers(1, 70)), draw(st.integers(1, 70)))
    options: dict[str, Any] = {}
    if format in ("PNG", "JPEG", "WEBP") and draw(st.booleans()):
        options["exif"] = exif(draw(st.integers(1, 8)))
    return file_of(noise(mode, size, draw(st.integers(0, 9))), format, **options)


@st.composite
def transforms(draw: st.DrawFn) -> Transform:
    max_edge = draw(st.none() | st.integers(1, 80))
    min_edge = draw(st.none() | st.integers(1, max_edge or 80))
    return Transform(max_edge=max_edge, min_edge=min_edge, format=draw(st.sampled_from(["keep", "jpeg", "png"])))


@given(data=picture_files(), transform=transforms())
def test_properties(data: bytes, transform: Transform) -> None:
    prepared = prepare(data, transform)
    part = prepared.part
    assert_clean(prepared)
    assert transform.max_edge is None or max(part.width, part.height) <= transform.max_edge
    assert transform.min_edge is None or min(part.width, part.height) >= transform.min_edge
    assert prepare(data, transform) == prepared

    again = prepare(part.data, transform)
    assert (again.part.width, again.part.height, again.notes) == (part.width, part.height, ())
    if transform.format != "jpeg":
        assert again.part.data is part.data


# --------------------------------------------------------------------------------------------------------------------
# Reported cases


def case_177() -> None:
    """EXIF orientation not applied: 24x16 with orientation 6 must become 16x24, once."""
    upright = Image.new("RGB", (24, 16), RED)
    prepared = prepare(file_of(upright, "JPEG", exif=exif(6)), KEEP)
    assert (prepared.part.width, prepared.part.height) == (16, 24)
    assert not dict(opened(prepared.part.data).getexif())


def case_179() -> None:
    """WebP bytes named .png: the name is never looked at."""
    assert prepare(TYPES["image/webp"], KEEP).part.media_type == "image/png"


def case_180() -> None:
    """Animated GIF: the first frame as PNG, recorded."""
    prepared = prepare(file_of(FRAMES[0], "GIF", save_all=True, append_images=FRAMES[1:]), KEEP)
    assert (prepared.part.media_type, prepared.notes) == ("image/png", ("first of 3 frames",))


def case_181() -> None:
    """Modes that JPEG can't hold."""
    for mode, format in (("RGBA", "PNG"), ("LA", "PNG"), ("P", "PNG")):  # noqa: A001
        assert_clean(prepare(file_of(noise(mode, (9, 9)), format), FINMME))
    for name in ("PA", "L, 16 bits", "F beyond, stretched"):
        assert_clean(prepare(MODES[name][0], FINMME))


def case_183() -> None:
    """A text chunk of 2 MiB, beyond Pillow's limit of 1 MiB, on a picture that passes and one that is encoded again."""
    text = zlib.compress(b"x" * (2 << 20))
    for mode in ("RGB", "RGBA"):
        clean = file_of(noise(mode, (9, 9)), "PNG")
        for extra in (
            chunk(b"zTXt", b"k\0\0" + text),
            chunk(b"iTXt", b"k\0\1\0\0\0" + text),
            chunk(b"iCCP", b"k\0\0" + text),
        ):
            sent = prepare(with_chunk(clean, extra), KEEP).part.data
            assert sent == prepare(clean, KEEP).part.data
            assert text not in sent
            assert decode(with_chunk(clean, extra)).size == (9, 9)


def case_184() -> None:
    """A decompression bomb is refused by its header; there is always a limit, and it is the caller's."""
    with pytest.raises(ImageError, match="3,600,000,000 pixels") as caught:
        prepare(png(60_000, 60_000, 8, 2, b""), KEEP)
    assert caught.value.kind == "too_large"
    with pytest.raises(ImageError, match="more than the 99 allowed"):
        prepare(png(10, 10, 8, 0, bytes(100)), Transform(max_pixels=99))
    assert prepare(png(10, 10, 8, 0, bytes(100)), Transform(max_pixels=100)).part.width == 10


def case_185() -> None:
    """20x400 for a model that needs 28 px: padded, and only where the transform asks for it."""
    data = file_of(noise("RGB", (20, 400)), "PNG")
    part = prepare(data, Transform(min_edge=28)).part
    assert (part.width, part.height) == (28, 400)
    assert rgb(part.data).crop((4, 0, 24, 400)).tobytes() == rgb(data).tobytes()


def case_191() -> None:
    """Equal pixel bytes of 120x80 and 80x120 must not share a key."""
    test_key_covers_size_and_mode()


def case_192() -> None:
    """The key covers the transform; alpha always goes on white, so there is no black variant to confuse it with."""
    test_key_covers_the_transform()


CASES = [case_177, case_179, case_180, case_181, case_183, case_184, case_185, case_191, case_192]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_reported_cases(case: Any) -> None:
    case()


def test_every_reported_picture_case_has_a_row(reported_cases: Path) -> None:
    rows = [json.loads(line) for line in reported_cases.read_text(encoding="utf-8").splitlines()]
    reported = {row["id"] for row in rows if row["kind"] == "image-handling"}
    assert reported <= {case.__name__.removeprefix("case_") for case in CASES}
