"""Pictures of every type and mode become one upright, opaque picture."""

import re
import struct
from typing import Any

import pytest
from PIL import Image

from assay.errors import ImageError
from assay.images import Transform, decode, prepare, sniff
from support.pictures import (
    BLUE,
    FRAMES,
    GREEN,
    KEEP,
    RED,
    TYPES,
    WHITE,
    YELLOW,
    assert_clean,
    chunk,
    corners,
    exif,
    file_of,
    grey,
    jpeg_with,
    near,
    one_row,
    png,
    quadrants,
    rgb,
    with_chunk,
)

# --------------------------------------------------------------------------------------------------------------------
# Types


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


def row_of(data: bytes) -> list[Any]:
    image = rgb(data)
    return [image.getpixel((column, 0)) for column in range(image.width)]


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
