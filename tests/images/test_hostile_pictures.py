"""Damaged and malicious files give an `ImageError` of a known kind, or a clean picture; never anything else."""

import random
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import ImageError
from assay.images import Prepared, Transform, decode, prepare, sniff
from support.pictures import chunk, exif, file_of, jpeg_with, noise, opened, png, with_chunk

SMALL = Transform(max_pixels=1_000_000)
KINDS = {"empty", "not_an_image", "unsupported", "too_large", "corrupt"}

FILES = {
    "png": file_of(noise("RGB", (80, 60)), "PNG"),
    "png with alpha": file_of(noise("RGBA", (80, 60)), "PNG"),
    "png with a palette": file_of(noise("P", (80, 60)), "PNG", transparency=3),
    "jpeg": file_of(noise("RGB", (80, 60)), "JPEG"),
    "jpeg, turned": file_of(noise("RGB", (80, 60)), "JPEG", exif=exif(6), progressive=True),
    "cmyk": file_of(noise("CMYK", (80, 60)), "JPEG"),
    "gif": file_of(noise("P", (80, 60)), "GIF", save_all=True, append_images=[noise("P", (80, 60), 5)]),
    "webp": file_of(noise("RGBA", (80, 60)), "WEBP", lossless=True, exif=exif(3)),
    "bmp": file_of(noise("RGB", (80, 60)), "BMP"),
    "tiff": file_of(noise("RGB", (80, 60)), "TIFF"),
    "tiff, compressed": file_of(noise("RGB", (80, 60)), "TIFF", compression="tiff_lzw"),
}


def prepared_or_refused(data: bytes, transform: Transform = SMALL) -> Prepared | None:
    """What `prepare` gives; None for a refusal of a known kind, with a sentence."""
    try:
        return prepare(data, transform)
    except ImageError as error:
        refusal = error
    assert refusal.kind in KINDS
    assert len(str(refusal)) > 10
    return None


def assert_sound(prepared: Prepared) -> None:
    assert prepared.part.media_type == sniff(prepared.part.data)
    assert 0 < prepared.part.width * prepared.part.height <= SMALL.max_pixels


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("twentieths", range(20))
def test_cut_files(name: str, twentieths: int) -> None:
    data = FILES[name][: len(FILES[name]) * twentieths // 20]
    prepared = prepared_or_refused(data)
    if name.startswith(("png", "jpeg", "cmyk", "bmp")):
        assert prepared is None
    elif prepared is not None:  # all of the first frame may be there
        assert_sound(prepared)


@pytest.mark.parametrize("name", ["png", "png with alpha", "jpeg", "cmyk"])
@pytest.mark.parametrize("missing", [1, 2, 5, 12, 13])
def test_files_without_their_last_bytes(name: str, missing: int) -> None:
    with pytest.raises(ImageError, match=r"ends early|damaged") as caught:
        prepare(FILES[name][:-missing], SMALL)
    assert caught.value.kind == "corrupt"


def test_a_cut_file_that_would_pass_is_noticed_without_decoding() -> None:
    """Neither has any wrong byte; only the end is missing."""
    png_file, jpeg_file = FILES["png"], FILES["jpeg"]
    with pytest.raises(ImageError, match="the PNG file ends early"):
        prepare(png_file[:-12], SMALL)
    with pytest.raises(ImageError, match="the JPEG file ends early"):
        prepare(jpeg_file[:-2], SMALL)


def test_a_flipped_bit_in_a_png_is_noticed_by_its_checksum() -> None:
    data = bytearray(FILES["png"])
    data[len(data) // 2] ^= 1
    with pytest.raises(ImageError, match="wrong checksum in its IDAT chunk") as caught:
        prepare(bytes(data), SMALL)
    assert caught.value.kind == "corrupt"


@given(st.binary(max_size=400))
def test_any_bytes(data: bytes) -> None:
    prepared_or_refused(data)


@given(
    magic=st.sampled_from(
        [
            b"\x89PNG\r\n\x1a\n",
            b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x08\0\0\0\x08\x08\x02\0\0\0",
            b"\xff\xd8\xff",
            b"\xff\xd8\xff\xc0\0\x11\x08\0\x08\0\x08\x03",
            b"GIF89a",
            b"RIFF\xff\0\0\0WEBPVP8 ",
            b"RIFF\xff\0\0\0WEBPVP8X",
            b"BM" + bytes(12) + b"\x28\0\0\0",
            b"II*\0\x08\0\0\0",
            b"MM\0*\0\0\0\x08",
        ]
    ),
    rest=st.binary(max_size=400),
)
def test_any_bytes_after_a_known_beginning(magic: bytes, rest: bytes) -> None:
    prepared_or_refused(magic + rest)


@pytest.mark.parametrize("name", FILES)
def test_random_damage(name: str) -> None:
    source = random.Random(name)
    for _ in range(60):
        data = bytearray(FILES[name])
        for _ in range(source.randint(1, 6)):
            # Headers are where damage is interesting.
            data[source.randrange(min(len(data), source.choice((64, 600, 100_000))))] = source.randrange(256)
        prepared = prepared_or_refused(bytes(data))
        if prepared is not None:
            assert_sound(prepared)


# --------------------------------------------------------------------------------------------------------------------
# Bombs: small files that claim to be huge. Each is refused by its header, before any memory is taken.


def jpeg_claiming(width: int, height: int) -> bytes:
    data = bytearray(FILES["jpeg"])
    start = data.index(b"\xff\xc0")
    data[start + 5 : start + 9] = struct.pack(">HH", height, width)
    return bytes(data)


def tiff_claiming(width: int, height: int) -> bytes:
    entries = ((256, width), (257, height), (258, 8), (259, 1), (262, 1), (273, 8), (278, height), (279, 10))
    directory = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in entries)
    return b"II*\0\x08\0\0\0" + struct.pack("<H", len(entries)) + directory + bytes(4)


def webp_claiming(width: int, height: int) -> bytes:
    canvas = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    body = b"WEBPVP8X" + struct.pack("<I", 10) + bytes(4) + canvas + bytes(20)
    return b"RIFF" + struct.pack("<I", len(body)) + body


BOMBS = {
    "png": png(60_000, 60_000, 8, 2, b""),
    "png, all sizes": png(0xFFFFFFFF, 0xFFFFFFFF, 16, 6, b""),
    "jpeg": jpeg_claiming(60_000, 60_000),
    "gif": b"GIF89a" + struct.pack("<HH", 60_000, 60_000) + b"\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\0;",
    "webp": webp_claiming(60_000, 60_000),
    "webp, lossless": b"RIFF\x40\0\0\0WEBPVP8L\x20\0\0\0\x2f" + struct.pack("<I", 0x0FFFFFFF) + bytes(30),
    "webp, lossy": b"RIFF\x40\0\0\0WEBPVP8 \x20\0\0\0\0\0\0\x9d\x01\x2a\xff\x3f\xff\x3f" + bytes(30),
    "bmp": b"BM" + bytes(8) + struct.pack("<IIiiHHIIiiII", 54, 40, 60_000, 60_000, 1, 24, 0, 0, 0, 0, 0, 0),
    "tiff": tiff_claiming(60_000, 60_000),
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs(name: str) -> None:
    for attempt in (lambda: prepare(BOMBS[name], Transform()), lambda: decode(BOMBS[name])):
        with pytest.raises(ImageError, match="pixels") as caught:
            attempt()
        assert caught.value.kind == "too_large"


def test_a_gif_whose_frame_is_larger_than_its_canvas() -> None:
    data = b"GIF89a" + struct.pack("<HH", 1, 1) + b"\0\0\0," + struct.pack("<HHHH", 0, 0, 9_000, 9_000) + b"\0\x02\0;"
    with pytest.raises(ImageError, match="81,000,000 pixels") as caught:
        prepare(data, Transform())
    assert caught.value.kind == "too_large"


def test_the_limit_is_the_callers_not_pillows() -> None:
    """9,500 x 10,000 is beyond the size at which Pillow itself warns; here it passes where the caller allows it."""
    data = png(9_500, 10_000, 8, 0, bytes(95_000_000))
    assert prepare(data, Transform(max_pixels=95_000_000)).part.data is data
    with pytest.raises(ImageError, match="95,000,000 pixels, more than the 64,000,000 allowed"):
        prepare(data, Transform())


@pytest.mark.slow
def test_a_picture_beyond_pillows_limit_is_decoded_without_a_warning() -> None:
    image = decode(png(9_504, 10_000, 1, 0, bytes(1_188 * 10_000)), max_pixels=100_000_000)
    assert image.size == (9_504, 10_000)


def test_a_file_too_large_for_any_picture() -> None:
    """100 pixels may take 800 bytes, and 16 MiB are for metadata."""
    data = with_chunk(png(10, 10, 8, 0, bytes(100)), chunk(b"caBX", bytes((1 << 24) + 800)))
    with pytest.raises(ImageError, match=r"a file of .* bytes is too large for 100 pixels") as caught:
        prepare(data, Transform(max_pixels=100))
    assert caught.value.kind == "too_large"
    assert prepare(data, SMALL).part.width == 10


# --------------------------------------------------------------------------------------------------------------------
# Files that break the rules of their type


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (png(0, 5, 8, 2, b""), "claims a size of 0x5"),
        (png(5, 5, 8, 5, bytes(25)), "unknown colour type 5"),
        (b"\x89PNG\r\n\x1a\n" + chunk(b"IDAT", bytes(30)) + chunk(b"IEND", b""), "does not start with its header"),
        (FILES["png"][:33] + chunk(b"IEND", b""), "holds no pixels"),
        (png(4, 4, 8, 3, bytes(16)) + b"", "damaged"),  # a palette picture without a palette
        (b"\xff\xd8\xff\xd9", "holds no pixels"),
        (b"\xff\xd8\xff\xe0\0\0" + FILES["jpeg"][2:], "segment of impossible length"),
        (b"\xff\xd8\xff\xc0\0\x04\0\0\xff\xd9", "frame header is too short"),
        (b"\xff\xd8\xff\xc0\0\x0b\x08\0\0\0\x09\x01\x01\x11\0\xff\xd9", "claims a size of 9x0"),
        (b"\xff\xd8" + b"\xff" * 100_000, "ends early"),
        (b"II*\0\xff\xff\xff\xff", "damaged"),
    ],
)  # fmt: skip
def test_broken_rules(data: bytes, words: str) -> None:
    with pytest.raises(ImageError, match=words) as caught:
        prepare(data, SMALL)
    assert caught.value.kind == "corrupt"


def test_garbage_between_jpeg_segments_is_skipped_as_decoders_do() -> None:
    data = FILES["jpeg"]
    tables = data.index(b"\xff\xdb")
    dirty = data[:tables] + b"garbage\xff\xff" + data[tables:]
    assert opened(dirty).tobytes() == opened(data).tobytes()
    assert prepare(dirty, SMALL).part.data == data


def test_a_jpeg_frame_and_an_end_inside_metadata_are_not_taken_for_real() -> None:
    """A thumbnail in the EXIF block is a whole JPEG of its own."""
    thumbnail = file_of(noise("L", (8, 8)), "JPEG")
    data = jpeg_with(FILES["jpeg"], (0xE1, b"Exif\0\0" + exif(1) + thumbnail))
    part = prepare(data, SMALL).part
    assert (part.width, part.height, part.data) == (80, 60, FILES["jpeg"])


def test_a_12_bit_jpeg_is_never_sent_as_it_is() -> None:
    """It is decoded here or, as in this build of Pillow, refused."""
    data = bytearray(FILES["jpeg"])
    data[data.index(b"\xff\xc0") + 4] = 12  # bits per sample
    assert prepared_or_refused(bytes(data)) is None


def test_a_frame_count_beyond_reason_is_only_a_number() -> None:
    data = with_chunk(FILES["png"], chunk(b"acTL", struct.pack(">II", 0xFFFFFFFF, 0)) + chunk(b"fcTL", bytes(26)))
    prepared = prepare(data, SMALL)
    assert prepared.notes == ("first of 4294967295 frames",)
    assert opened(prepared.part.data).size == (80, 60)
