"""Faults that users of peer tools reported, one function for each."""

import json
import zlib
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from assay.errors import ImageError
from assay.images import Transform, decode, prepare
from support.pictures import (
    FINMME,
    FRAMES,
    KEEP,
    RED,
    TYPES,
    assert_clean,
    chunk,
    exif,
    file_of,
    noise,
    opened,
    png,
    rgb,
    with_chunk,
)


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
    with_alpha = Image.new("PA", (9, 9))
    for image, format in ((with_alpha, "TIFF"), (Image.new("I;16", (9, 9)), "PNG"), (Image.new("F", (9, 9)), "TIFF")):  # noqa: A001
        assert_clean(prepare(file_of(image, format), FINMME))


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
    raw = noise("RGB", (120, 80)).tobytes()
    wide, tall = (prepare(file_of(Image.frombytes("RGB", size, raw), "PNG"), KEEP) for size in ((120, 80), (80, 120)))
    assert wide.part.key != tall.part.key


def case_192() -> None:
    """The key covers the transform; alpha always goes on white, so there is no black variant to confuse it with."""
    data = file_of(noise("RGBA", (9, 9)), "PNG")
    variants = [Transform(), Transform(format="jpeg"), Transform(max_edge=9), Transform(quality=80)]
    assert len({prepare(data, transform).part.key for transform in variants}) == len(variants)


CASES = [case_177, case_179, case_180, case_181, case_183, case_184, case_185, case_191, case_192]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_reported_cases(case: Any) -> None:
    case()


def test_every_reported_picture_case_has_a_row(reported_cases: Path) -> None:
    rows = [json.loads(line) for line in reported_cases.read_text(encoding="utf-8").splitlines()]
    reported = {row["id"] for row in rows if row["kind"] == "image-handling"} | {"191", "192"}
    assert reported <= {case.__name__.removeprefix("case_") for case in CASES}
