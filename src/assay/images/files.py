"""What a picture file says about itself, read from its bytes without decoding a pixel.

Sources: PNG (W3C, third edition), JPEG (ITU-T T.81, JFIF), EXIF 2.3 (TIFF 6.0 directories), WebP (RFC 9649), GIF89a.
"""

import re
import struct
import zlib

from msgspec import Struct

from assay.errors import ImageError


class Header(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is known of a picture before it is decoded.

    Attributes:
        media_type: from the bytes, never from the file's name.
        mode: `L`, `RGB`, `P`, `LA`, `RGBA` or `CMYK`, with `;BITS` where a sample has other than 8 bits; for types
            other than PNG and JPEG, Pillow's name of the mode.
        width, height: as stored, before the EXIF orientation is applied.
        frames: pictures in the file; only the first is ever used.
        orientation: EXIF orientation, 1 (upright) to 8.
        plain: one that every server reads alike: PNG or JPEG, grey or RGB of 8 bits, opaque, upright.
        body: the file without metadata. The same object as the file's bytes where there was nothing to take out.
    """

    media_type: str
    mode: str
    width: int
    height: int
    frames: int = 1
    orientation: int = 1
    plain: bool = False
    body: bytes


# --------------------------------------------------------------------------------------------------------------------
# Types

_MAGIC = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "image/png"),
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg"),
    (re.compile(rb"GIF8[79]a"), "image/gif"),
    (re.compile(rb"RIFF....WEBP", re.DOTALL), "image/webp"),
    # "BM" alone would claim any text that starts so; the size of the second header is one of seven.
    (re.compile(rb"BM.{12}[\x0c\x28\x34\x38\x40\x6c\x7c]\x00\x00\x00", re.DOTALL), "image/bmp"),
    (re.compile(rb"II[*+]\x00|MM\x00[*+]"), "image/tiff"),
    (re.compile(rb"....ftypavi[fs]", re.DOTALL), "image/avif"),
    (re.compile(rb"....ftyp(?:hei[cmsx]|hev[cmsx]|mif1|msf1)", re.DOTALL), "image/heic"),
    (re.compile(rb"\s*(?:<\?xml.{0,1000}?)?<svg[\s>]", re.DOTALL | re.IGNORECASE), "image/svg+xml"),
)

_IMPOSTORS = (
    (re.compile(rb"\s*<(?:!doctype html|html|head|body)", re.IGNORECASE), "an HTML page"),
    (re.compile(rb"version https://git-lfs"), "a Git LFS pointer (fetch the file with `git lfs pull`)"),
    (re.compile(rb"%PDF-"), "a PDF file"),
    (re.compile(rb"\s*[{\[]\s*[\"{\[]"), "JSON text"),
)


def sniff(data: bytes) -> str | None:
    """The media type of a picture, from its first bytes; None for anything else.

    Also names types that can't be prepared (AVIF, HEIC, SVG), so that the error can.
    """
    start = data[:1200].removeprefix(b"\xef\xbb\xbf")
    return next((media_type for magic, media_type in _MAGIC if magic.match(start)), None)


def not_an_image(data: bytes) -> ImageError:
    """The error for bytes that `sniff` doesn't know, saying what they seem to be instead."""
    seem = next((f", it seems to be {what}" for form, what in _IMPOSTORS if form.match(data[:200])), "")
    return ImageError("not_an_image", f"not a picture of a known type{seem}")


def check_size(width: int, height: int, max_pixels: int) -> None:
    """Refuse a picture by its header.

    Raises:
        ImageError: `too_large`, or `corrupt` for a side of 0.
    """
    if width < 1 or height < 1:
        raise ImageError("corrupt", f"the header claims a size of {width}x{height}")
    if width * height > max_pixels:
        raise ImageError(
            "too_large", f"{width}x{height} is {width * height:,} pixels, more than the {max_pixels:,} allowed"
        )


def _ends_early(name: str) -> ImageError:
    return ImageError("corrupt", f"the {name} file ends early; it was cut off or not fully written")


def _joined(data: bytes, kept: list[memoryview]) -> bytes:
    return data if sum(map(len, kept)) == len(data) else b"".join(kept)


# --------------------------------------------------------------------------------------------------------------------
# PNG

_CHUNK = struct.Struct(">I4s")
_IHDR = struct.Struct(">IIBBBBB")
_U32 = struct.Struct(">I")
_PNG_MODES = {0: "L", 2: "RGB", 3: "P", 4: "LA", 6: "RGBA"}
# What pixels need. All else goes: text (which also may be a decompression bomb), EXIF, colour profiles, later frames.
_PNG_KEPT = frozenset((b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND"))
_PNG_NOTED = frozenset((b"IDAT", b"tRNS", b"eXIf", b"acTL", b"fcTL"))


def read_png(data: bytes, max_pixels: int) -> Header:
    """Walk the chunks of a PNG file, checking the sums of those that matter.

    Raises:
        ImageError: `too_large`, `corrupt`.
    """
    if len(data) < 33:
        raise _ends_early("PNG")
    if data[8:16] != b"\0\0\0\rIHDR":
        raise ImageError("corrupt", "the PNG file does not start with its header")
    width, height, depth, colour, *_ = _IHDR.unpack_from(data, 16)
    check_size(width, height, max_pixels)
    if colour not in _PNG_MODES:
        raise ImageError("corrupt", f"the PNG header has an unknown colour type {colour}")

    view = memoryview(data)
    kept = [view[:8]]
    noted: dict[bytes, int] = {}
    position, kind = 8, b""
    while kind != b"IEND":
        if position + 12 > len(data):
            raise _ends_early("PNG")
        length, kind = _CHUNK.unpack_from(data, position)
        end = position + 12 + length
        if end > len(data):
            raise _ends_early("PNG")
        if kind in _PNG_KEPT:
            if zlib.crc32(view[position + 4 : end - 4]) != _U32.unpack_from(data, end - 4)[0]:
                raise ImageError("corrupt", f"the PNG file is damaged: wrong checksum in its {kind.decode()} chunk")
            kept.append(view[position:end])
        if kind in _PNG_NOTED:
            noted.setdefault(kind, position)
        position = end
    if b"IDAT" not in noted:
        raise ImageError("corrupt", "the PNG file holds no pixels")

    mode = _PNG_MODES[colour] if depth == 8 else f"{_PNG_MODES[colour]};{depth}"
    orientation = _png_orientation(data, noted)
    return Header(
        media_type="image/png",
        mode=mode,
        width=width,
        height=height,
        frames=_png_frames(data, noted),
        orientation=orientation,
        plain=mode in ("L", "RGB") and b"tRNS" not in noted and orientation == 1,
        body=_joined(data, kept),
    )


def _png_orientation(data: bytes, noted: dict[bytes, int]) -> int:
    start = noted.get(b"eXIf")
    if start is None:
        return 1
    length, _ = _CHUNK.unpack_from(data, start)
    return exif_orientation(data[start + 8 : start + 8 + length])


def _png_frames(data: bytes, noted: dict[bytes, int]) -> int:
    """Frames of an animated PNG, counting a still picture that is not part of the animation."""
    control, pixels = noted.get(b"acTL"), noted[b"IDAT"]
    if control is None or control > pixels:  # after the pixels it has no meaning
        return 1
    (frames,) = _U32.unpack_from(data, control + 8)
    return max(1, frames if noted.get(b"fcTL", pixels) < pixels else frames + 1)


# --------------------------------------------------------------------------------------------------------------------
# JPEG

_U16 = struct.Struct(">H")
_SOF = struct.Struct(">BHHB")
_MARKER = re.compile(rb"\xff[^\x00\xff]")
# Inside compressed data, FF 00 is a stuffed byte and FF D0 .. FF D7 are restarts.
_SCAN_END = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")
_JPEG_MODES = {1: "L", 3: "RGB", 4: "CMYK"}
_START_OF_FRAME = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_COMMON_FRAMES = frozenset((0xC0, 0xC1, 0xC2))  # baseline, extended and progressive, Huffman-coded
_LONE_MARKERS = frozenset((0x01, *range(0xD0, 0xD9)))
_END_OF_IMAGE, _START_OF_SCAN, _EXIF, _COMMENT = 0xD9, 0xDA, 0xE1, 0xFE
# Of the application segments only these two say how to read the pixels; all others are metadata.
_JPEG_KEPT = {0xE0: b"JFIF\0", 0xEE: b"Adobe"}


def read_jpeg(data: bytes, max_pixels: int) -> Header:
    """Walk the segments of a JPEG file up to its end marker; what follows that (thumbnails, videos) is left out.

    Raises:
        ImageError: `too_large`, `corrupt`.
    """
    view = memoryview(data)
    kept = [view[:2]]
    frame: tuple[int, int, int, int, int] | None = None
    exif, scanned, position = b"", False, 2
    while True:
        start, code = _next_marker(data, position, _MARKER)
        if code == _END_OF_IMAGE:
            kept.append(view[start : start + 2])
            break
        if code in _LONE_MARKERS:
            position = start + 2
            continue
        end = _segment_end(data, start)
        if code == _START_OF_SCAN:
            end, _ = _next_marker(data, end, _SCAN_END)
            scanned = True
        elif code in _START_OF_FRAME and frame is None:
            frame = _read_frame(data, start, end)
            check_size(frame[3], frame[2], max_pixels)
        elif code == _EXIF and not exif and data.startswith(b"Exif\0", start + 4):
            exif = data[start + 10 : end]
        if _keeps(data, start, code):
            kept.append(view[start:end])
        position = end
    if frame is None or not scanned:
        raise ImageError("corrupt", "the JPEG file holds no pixels")

    code, depth, height, width, components = frame
    mode = _JPEG_MODES.get(components, f"{components} components")
    orientation = exif_orientation(exif)
    return Header(
        media_type="image/jpeg",
        mode=mode if depth == 8 else f"{mode};{depth}",
        width=width,
        height=height,
        orientation=orientation,
        plain=code in _COMMON_FRAMES and depth == 8 and mode in ("L", "RGB") and orientation == 1,
        body=_joined(data, kept),
    )


def _next_marker(data: bytes, position: int, form: re.Pattern[bytes]) -> tuple[int, int]:
    match = form.search(data, position)
    if match is None:
        raise _ends_early("JPEG")
    return match.start(), data[match.start() + 1]


def _segment_end(data: bytes, start: int) -> int:
    if start + 4 > len(data):
        raise _ends_early("JPEG")
    (length,) = _U16.unpack_from(data, start + 2)
    if length < 2:
        raise ImageError("corrupt", "the JPEG file has a segment of impossible length")
    end = start + 2 + length
    if end > len(data):
        raise _ends_early("JPEG")
    return end


def _read_frame(data: bytes, start: int, end: int) -> tuple[int, int, int, int, int]:
    """Marker, bits per sample, height, width, components."""
    if end - start < 10:
        raise ImageError("corrupt", "the JPEG frame header is too short")
    return (data[start + 1], *_SOF.unpack_from(data, start + 4))


def _keeps(data: bytes, start: int, code: int) -> bool:
    if 0xE0 <= code <= 0xEF:
        wanted = _JPEG_KEPT.get(code)
        return wanted is not None and data.startswith(wanted, start + 4)
    return code != _COMMENT


# --------------------------------------------------------------------------------------------------------------------
# EXIF and the sizes of other types

_ORIENTATION_TAG = 0x0112
_INTEGER_CODES = {1: "B", 3: "H", 4: "I"}  # TIFF types BYTE, SHORT, LONG


def exif_orientation(exif: bytes) -> int:
    """Orientation 1 .. 8 in the first directory of an EXIF block; 1 where it says nothing or nonsense.

    Only EXIF is asked: viewers and servers don't turn pictures by XMP or by text chunks.
    """
    exif = exif.removeprefix(b"Exif\0\0")
    order = {b"II*\0": "<", b"MM\0*": ">"}.get(exif[:4])
    if order is None or len(exif) < 8:
        return 1
    (start,) = struct.unpack_from(order + "I", exif, 4)
    if start + 2 > len(exif):
        return 1
    (count,) = struct.unpack_from(order + "H", exif, start)
    for entry in range(start + 2, min(start + 2 + 12 * count, len(exif) - 11), 12):
        tag, kind = struct.unpack_from(order + "HH", exif, entry)
        if tag == _ORIENTATION_TAG and kind in _INTEGER_CODES:
            (value,) = struct.unpack_from(order + _INTEGER_CODES[kind], exif, entry + 8)
            return value if 1 <= value <= 8 else 1
    return 1


def claimed_size(media_type: str, data: bytes) -> tuple[int, int] | None:
    """Size of a GIF's or WebP's canvas, for which opening the file already takes memory; None where not to be found."""
    if media_type == "image/gif" and len(data) >= 10:
        width, height = struct.unpack_from("<HH", data, 6)
        return width, height
    if media_type != "image/webp" or len(data) < 30:
        return None
    match data[12:16]:
        case b"VP8X":
            return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
        case b"VP8L":
            (bits,) = struct.unpack_from("<I", data, 21)
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8 ":
            width, height = struct.unpack_from("<HH", data, 26)
            return width & 0x3FFF, height & 0x3FFF
        case _:
            return None
