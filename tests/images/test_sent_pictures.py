"""What is sent: files as they are, cut free of metadata, or encoded again within bounds; and the keys."""

import hashlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from assay.errors import ImageError, UsageError
from assay.images import Transform, prepare
from support.pictures import (
    BLUE,
    FINMME,
    KEEP,
    RED,
    WHITE,
    assert_clean,
    chunk,
    exif,
    file_of,
    jpeg_with,
    noise,
    opened,
    png,
    rgb,
    same_pixels,
    with_chunk,
)

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
