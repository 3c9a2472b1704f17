"""Pictures: from the bytes of a file to one upright, opaque, bounded, encoded picture with a key.

- `prepare` turns bytes into a `Prepared` picture as a `Transform` says; `ImageCache` does so for files, once
  per picture.
- `sniff` names the type of some bytes, `decode` gives their pixels to a model that runs in this process.

Every failure is an `ImageError` with one of these kinds: `missing`, `unreadable` (the file), `empty`, `not_an_image`,
`unsupported` (a picture, but of a type that isn't read), `too_large`, `corrupt`.

Nothing here imports Pillow before a pixel is needed: pictures that pass through are only walked and hashed.
"""

from assay.images.cache import ImageCache
from assay.images.files import sniff
from assay.images.transform import Prepared, Transform, decode, prepare

__all__ = ["ImageCache", "Prepared", "Transform", "decode", "prepare", "sniff"]
