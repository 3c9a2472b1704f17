"""Pixels, with Pillow: open, make upright and opaque, fit, encode.

Pillow is imported inside the functions, because most pictures of a run never need it. Files are opened by the class of
their type and not by `Image.open`: only the types of the table are ever tried, and the size was already checked against
the caller's own limit, where `Image.open` would warn or raise at a fixed one.
"""

from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from io import BytesIO
from typing import TYPE_CHECKING, Any

from assay.errors import ImageError, boundary
from assay.images.files import (
    Header,
    check_size,
    claimed_size,
    exif_orientation,
    not_an_image,
    read_jpeg,
    read_png,
    sniff,
)

if TYPE_CHECKING:
    from PIL.Image import Image

_PLUGINS = {
    "image/png": ("PngImagePlugin", "PngImageFile"),
    "image/jpeg": ("JpegImagePlugin", "JpegImageFile"),
    "image/gif": ("GifImagePlugin", "GifImageFile"),
    "image/webp": ("WebPImagePlugin", "WebPImageFile"),
    "image/bmp": ("BmpImagePlugin", "BmpImageFile"),
    "image/tiff": ("TiffImagePlugin", "TiffImageFile"),
}
_JPEG_MAX_EDGE = 65_500  # libjpeg's limit


def _name(media_type: str) -> str:
    return media_type.removeprefix("image/").upper()


@contextmanager
def _reading(media_type: str) -> Generator[None]:
    """A decoder may raise anything on a damaged file; here it becomes an `ImageError`."""
    from PIL.Image import DecompressionBombError, DecompressionBombWarning

    with boundary(partial(ImageError, "corrupt"), f"the {_name(media_type)} file is damaged"):
        try:
            yield
        except (DecompressionBombError, DecompressionBombWarning, MemoryError) as error:
            raise ImageError("too_large", f"the {_name(media_type)} file is too large to decode: {error}") from error


def check_file_size(size: int, max_pixels: int) -> None:
    """Refuse a file, best before it is read, that is larger than any picture within the limit.

    Raises:
        ImageError: `too_large`.
    """
    # 8 bytes a pixel are 16-bit RGBA without compression; the rest is room for metadata.
    if size > 8 * max_pixels + (1 << 24):
        raise ImageError("too_large", f"a file of {size:,} bytes is too large for {max_pixels:,} pixels")


def inspect(data: bytes, max_pixels: int) -> Header:
    """What a file says about itself, by its header alone.

    Raises:
        ImageError: `empty`, `not_an_image`, `unsupported`, `too_large`, `corrupt`.
    """
    if not data:
        raise ImageError("empty", "the file is empty")
    check_file_size(len(data), max_pixels)
    media_type = sniff(data)
    if media_type is None:
        raise not_an_image(data)
    if media_type == "image/png":
        return read_png(data, max_pixels)
    if media_type == "image/jpeg":
        return read_jpeg(data, max_pixels)
    if media_type not in _PLUGINS:
        raise ImageError("unsupported", f"{_name(media_type)} pictures can't be read; convert the file to PNG or JPEG")
    return _inspect_with_pillow(media_type, data, max_pixels)


def _inspect_with_pillow(media_type: str, data: bytes, max_pixels: int) -> Header:
    claimed = claimed_size(media_type, data)
    if claimed is not None:
        check_size(*claimed, max_pixels)
    with _reading(media_type):
        image = _open(media_type, data)
        check_size(*image.size, max_pixels)
        exif = image.info.get("exif", b"") if media_type == "image/webp" else b""
        return Header(
            media_type=media_type,
            mode=image.mode,
            width=image.width,
            height=image.height,
            frames=getattr(image, "n_frames", 1),
            # A TIFF's own orientation is applied by Pillow itself while it loads.
            orientation=exif_orientation(exif),
            body=data,
        )


def _open(media_type: str, data: bytes) -> "Image":
    module, name = _PLUGINS[media_type]
    return getattr(import_module(f"PIL.{module}"), name)(BytesIO(data))


def load(header: Header, max_pixels: int) -> "Image":
    """The first frame as an upright, opaque RGB picture without any metadata.

    Alpha is composited on white. A colour profile is dropped, not applied, as the published scripts do.

    Raises:
        ImageError: `too_large`, `corrupt`.
    """
    with _reading(header.media_type):
        image = _open(header.media_type, header.body)
        image.load()
        check_size(*image.size, max_pixels)  # again: a GIF's frame may be larger than its canvas
        image = _upright(_opaque(image, header.mode), header.orientation)
        image.info = {}  # or the PNG encoder writes what it finds there
        return image


def _upright(image: "Image", orientation: int) -> "Image":
    from PIL.Image import Transpose

    turns = {
        2: Transpose.FLIP_LEFT_RIGHT,
        3: Transpose.ROTATE_180,
        4: Transpose.FLIP_TOP_BOTTOM,
        5: Transpose.TRANSPOSE,
        6: Transpose.ROTATE_270,
        7: Transpose.TRANSVERSE,
        8: Transpose.ROTATE_90,
    }
    return image.transpose(turns[orientation]) if orientation in turns else image


def _opaque(image: "Image", mode: str) -> "Image":
    """RGB, with whatever is transparent composited on white. `mode` is the header's."""
    from PIL import Image

    image = _with_8_bit_key(image, mode)
    if image.mode in ("I", "F") or image.mode.startswith("I;16"):
        image = _to_8_bit(image)
    if not image.has_transparency_data:
        return image.convert("RGB")
    layer = image.convert("RGBA")
    white = Image.new("RGB", layer.size, "white")
    white.paste(layer, mask=layer)
    return white


def _with_8_bit_key(image: "Image", mode: str) -> "Image":
    """Scale a PNG's transparent colour as Pillow scales the samples, but not this colour itself, to 8 bits."""
    _, separator, bits = mode.partition(";")
    key: Any = image.info.get("transparency")  # a sample, or one per channel; bytes for palettes
    if not separator or key is None or image.mode == "P":
        return image
    depth = int(bits)

    def scaled(sample: int) -> int:
        return sample >> 8 if depth == 16 else sample * 255 // ((1 << depth) - 1)

    del image.info["transparency"]
    if image.mode == "1":
        image = image.convert("L")
    image.info["transparency"] = scaled(key) if isinstance(key, int) else tuple(scaled(sample) for sample in key)
    return image


def _to_8_bit(image: "Image") -> "Image":
    """Grey of 16 or 32 bits or floats to 8 bits, where Pillow's own conversion would clip nearly all of it to white.

    16-bit files keep their full scale (the high byte, as PNG readers do), so that pictures stay comparable. 32-bit
    integers and floats have no agreed scale: floats in 0..1 are shares of white, values in 0..255 are kept, integers in
    0..65535 count as 16-bit, and anything else is stretched from its least to its greatest value.
    """
    if image.mode.startswith("I;16"):
        low, scale = 0.0, 1 / 256
        image = image.convert("I")
    else:
        extrema: Any = image.getextrema()
        low, scale = _scale(*extrema, whole=image.mode == "I")
    return image.point(lambda value: value * scale - low * scale).convert("L")


def _scale(low: float, high: float, *, whole: bool) -> tuple[float, float]:
    """Offset and factor: a value v becomes (v - offset) * factor."""
    if not (abs(low) < float("inf") and abs(high) < float("inf")):  # also false for NaN
        raise ImageError("corrupt", "the picture holds values that are not numbers")
    if low >= 0 and not whole and high <= 1:
        return 0.0, 255.0
    if low >= 0 and high <= 255:
        return 0.0, 1.0
    if low >= 0 and whole and high <= 65_535:
        return 0.0, 1 / 256
    return low, 255 / (high - low) if high > low else 0.0


def fit(image: "Image", max_edge: int | None, min_edge: int | None) -> "Image":
    """Shrink to at most `max_edge` (Lanczos, aspect kept), then pad with white to at least `min_edge`, centred."""
    from PIL import Image

    if max_edge is not None and max(image.size) > max_edge:
        image.thumbnail((max_edge, max_edge), Image.Resampling.LANCZOS)
    if min_edge is not None and min(image.size) < min_edge:
        padded = Image.new("RGB", (max(image.width, min_edge), max(image.height, min_edge)), "white")
        padded.paste(image, ((padded.width - image.width) // 2, (padded.height - image.height) // 2))
        return padded
    return image


def encode(image: "Image", media_type: str, quality: int) -> bytes:
    """The bytes of a PNG or JPEG file without metadata.

    Raises:
        ImageError: `too_large` for a side that JPEG can't express.
    """
    target = BytesIO()
    if media_type == "image/png":
        image.save(target, "PNG")
    elif max(image.size) > _JPEG_MAX_EDGE:
        raise ImageError(
            "too_large", f"a side of {max(image.size):,} px does not fit a JPEG file; bound it by max_edge"
        )
    else:
        image.save(target, "JPEG", quality=quality, optimize=True)
    return target.getvalue()
