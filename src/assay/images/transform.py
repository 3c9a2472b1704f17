"""From the bytes of a file to the picture that is sent, and its key."""

import hashlib
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import Struct

from assay.errors import UsageError
from assay.images import pixels
from assay.images.files import Header
from assay.types import ImagePart

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_PIXELS = 64_000_000

_KEY_LAYOUT = 1  # raise it when a transform starts to give other pixels
_encoder = msgspec.json.Encoder(order="deterministic")


class Transform(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How pictures are prepared.

    Attributes:
        max_edge: longest side in px that is sent; larger pictures are shrunk, aspect kept (Lanczos), none is enlarged.
        min_edge: shortest side in px that is sent; smaller pictures are padded with white, centred, not stretched.
            Some models refuse a side below their patch grid (Qwen2.5-VL: 28 px). Applied after `max_edge`. Neither
            mends an extreme aspect ratio: a 28x6000 picture stays one, and a server that refuses it (Qwen2.5-VL: beyond
            200) fails that call.
        format: `keep` sends PNG and JPEG files as they are where `Header.plain` holds and both edges allow it, else
            encodes again: as JPEG what was JPEG, as PNG (lossless) everything else. `png` does the same with PNG only.
            `jpeg` encodes every picture again, also a JPEG, as published preparations do.
        quality: of JPEG encoding, 1 .. 95.
        max_pixels: width times height above which a picture is refused by its header, before it is decoded.

    Palette, 1-bit and 16-bit pictures are never sent as they are: a model's image processor may take palette indices
    for grey, or clip 16 bits to white. Metadata (EXIF, position, profiles, comments) is not sent in any case; from a
    file that is otherwise sent as it is, it is cut out without touching the compressed pixels.

    Raises:
        UsageError: for values out of range.
    """

    max_edge: int | None = None
    min_edge: int | None = None
    format: Literal["keep", "jpeg", "png"] = "keep"
    quality: int = 90
    max_pixels: int = MAX_PIXELS

    def __post_init__(self) -> None:
        if not 1 <= self.quality <= 95:
            raise UsageError(f"quality must be 1 to 95, not {self.quality}.")
        if self.max_pixels < 1:
            raise UsageError(f"max_pixels must be at least 1, not {self.max_pixels}.")
        for name, edge in (("max_edge", self.max_edge), ("min_edge", self.min_edge)):
            if edge is not None and edge < 1:
                raise UsageError(f"{name} must be at least 1 px, not {edge}.")
        if self.max_edge is not None and self.min_edge is not None and self.min_edge > self.max_edge:
            raise UsageError(f"min_edge ({self.min_edge} px) must not exceed max_edge ({self.max_edge} px).")


class Prepared(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A picture ready to be sent, and what was done to it that a reader of results should know."""

    part: ImagePart

    @property
    def notes(self) -> tuple[str, ...]:
        return self.part.notes


def prepare(data: bytes, transform: Transform) -> Prepared:
    """Prepare the bytes of a picture file, whatever its name says.

    The result is RGB or grey, 8 bits, upright, opaque, of one frame, within the edges, without metadata. The same bytes
    and transform always have the same key.

    Raises:
        ImageError: `empty`, `not_an_image`, `unsupported`, `too_large`, `corrupt`.
    """
    header = pixels.inspect(data, transform.max_pixels)
    key = picture_key(data, header, transform)
    if passes(header, transform):
        return sealed(key, header, header)
    return sealed(key, header, pixels.inspect(encoded(header, transform), UNBOUNDED))


def decode(data: bytes, *, max_pixels: int = MAX_PIXELS) -> "Image":
    """The pixels of a picture file as an upright, opaque RGB `PIL.Image`, not resized.

    Raises:
        ImageError: as `prepare`.
    """
    return pixels.load(pixels.inspect(data, max_pixels), max_pixels)


# What we encoded ourselves needs no limit; padding may even have taken it past the caller's.
UNBOUNDED = 1 << 62


def picture_key(data: bytes, header: Header, transform: Transform) -> str:
    """SHA-256 over the source's mode, size and file bytes and the transform, hexadecimal.

    `max_pixels` does not count: it decides whether there is a picture, not which. Pillow's version does not count
    either: a run goes on after an upgrade.
    """
    what = (
        _KEY_LAYOUT,
        header.media_type,
        header.mode,
        header.width,
        header.height,
        (transform.max_edge, transform.min_edge, transform.format, transform.quality),
    )
    digest = hashlib.sha256(_encoder.encode(what))
    digest.update(data)
    return digest.hexdigest()


def passes(header: Header, transform: Transform) -> bool:
    """Whether the file is sent as it is (without its metadata), and so never decoded."""
    if not header.plain or transform.format == "jpeg":
        return False
    if transform.format == "png" and header.media_type != "image/png":
        return False
    longest, shortest = max(header.width, header.height), min(header.width, header.height)
    return (transform.max_edge is None or longest <= transform.max_edge) and (
        transform.min_edge is None or shortest >= transform.min_edge
    )


def target_type(header: Header, transform: Transform) -> str:
    """Media type of a picture that is encoded again."""
    if transform.format == "jpeg" or (transform.format == "keep" and header.media_type == "image/jpeg"):
        return "image/jpeg"
    return "image/png"


def encoded(header: Header, transform: Transform) -> bytes:
    """Decode, fit and encode again."""
    image = pixels.load(header, transform.max_pixels)
    image = pixels.fit(image, transform.max_edge, transform.min_edge)
    return pixels.encode(image, target_type(header, transform), transform.quality)


def sealed(key: str, source: Header, sent: Header) -> Prepared:
    """The picture `sent` in place of `source`.

    All of it follows from the two headers, so a stored picture needs nothing beside its file.
    """
    notes: list[str] = []
    if source.frames > 1:
        notes.append(f"first of {source.frames} frames")
    if source.orientation != 1:
        notes.append(f"turned upright from EXIF orientation {source.orientation}")
    upright = (source.width, source.height) if source.orientation < 5 else (source.height, source.width)
    if (sent.width, sent.height) != upright:
        notes.append(f"{upright[0]}x{upright[1]} sent as {sent.width}x{sent.height}")
    part = ImagePart(
        key=key,
        media_type=sent.media_type,
        width=sent.width,
        height=sent.height,
        data=sent.body,
        notes=tuple(notes),
    )
    return Prepared(part=part)
