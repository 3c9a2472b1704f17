"""Pictures as a checkpoint reads them, prepared once and kept in memory as far as it is allowed."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from assay.errors import DataError, UsageError, boundary
from assay.images import decode
from assay.models.local_checkpoint import Checkpoint, library

__all__ = ["Picture", "Pictures", "limit_pixels"]

Array = NDArray[Any]


@dataclass(frozen=True, kw_only=True)
class Picture:
    """One picture.

    Attributes:
        ids: the tokens that stand for it in a row, its place in the prompt included.
        types: further values for each of these tokens, such as `mm_token_type_ids`.
        features: embeddings that the vision tower makes of it; as many of `ids` are the picture's own.
        grid: its size in patches (time, height, width), for checkpoints that take pictures of any size.
        path: where it was read from.
    """

    ids: Array
    types: dict[str, Array]
    features: int
    grid: tuple[int, ...]
    path: str


class Pictures:
    """The pictures of a data set, by the hash of their files.

    What the processor makes of a picture is kept in half precision, which is off by less than a tenth of one of the 255
    grey levels that a picture has. What has no room in `memory` bytes is read and prepared again when it is needed.
    """

    def __init__(self, checkpoint: Checkpoint, memory: int) -> None:
        self._checkpoint = checkpoint
        self._processor = checkpoint.processor
        self._room = memory
        self._keys: dict[str, str] = {}  # path -> hash of the file
        self._pictures: dict[str, Picture] = {}
        self._tensors: dict[str, dict[str, Array]] = {}
        self._counted: dict[tuple[Any, ...], int] = {}  # shapes of tensors -> features
        self._axes: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._pictures)

    @property
    def kept(self) -> int:
        """Pictures that are in memory."""
        return len(self._tensors)

    def fingerprint(self) -> str:
        """SHA-256 over the pictures' files, in whatever order."""
        return hashlib.sha256("".join(sorted(self._pictures)).encode()).hexdigest()

    @property
    def place(self) -> int:
        """The token that stands for a picture before it is expanded."""
        return self._processor.image_token_id  # pyright: ignore[reportOptionalMemberAccess]

    def find(self, path: str) -> Picture:
        """The picture in a file.

        Raises:
            DataError: there is no such file, or no picture in it.
            ImageError: it can't be read as a picture: cut off, too large.
        """
        key = self._keys.get(path)
        if key is None:
            data = _read(path)
            key = self._keys[path] = hashlib.sha256(data).hexdigest()
            if key not in self._pictures:
                self._add(key, path, data)
        return self._pictures[key]

    def tensors(self, paths: Sequence[str]) -> dict[str, Any]:
        """What the model is given of these pictures together, in this order."""
        if not paths:
            return {}
        torch = library("torch")
        parts = [self._prepared(path) for path in paths]
        joined: dict[str, Any] = {}
        for name in parts[0]:
            arrays = [part[name] for part in parts]
            whole = _join(arrays, self._axes[name])
            tensor = torch.from_numpy(whole)
            joined[name] = tensor.float() if tensor.is_floating_point() else tensor
        return joined

    # ----------------------------------------------------------------------------------------------------------------

    def _prepared(self, path: str) -> dict[str, Array]:
        self.find(path)
        found = self._tensors.get(self._keys[path])
        return found if found is not None else self._process(_read(path), path)[1]

    def _add(self, key: str, path: str, data: bytes) -> None:
        encoded, tensors = self._process(data, path)
        ids = encoded.pop("input_ids")
        grid: Any = tensors.get("image_grid_thw")
        self._pictures[key] = Picture(
            ids=ids,
            types=encoded,
            features=self._features(tensors),
            grid=() if grid is None else tuple(int(side) for side in grid[0]),
            path=path,
        )
        size = sum(array.nbytes for array in tensors.values())
        if size <= self._room:
            self._room -= size
            self._tensors[key] = tensors

    def _process(self, data: bytes, path: str) -> tuple[dict[str, Array], dict[str, Array]]:
        """Values per token, and what the vision tower reads."""
        if not self._axes:
            self._axes = self._find_axes(data)
        encoded = self._call([decode(data)], path)
        tokens = {name: value[0] for name, value in encoded.items() if _per_token(name)}
        rest = {name: _compact(value) for name, value in encoded.items() if not _per_token(name)}
        return tokens, rest

    def _call(self, pictures: list[Any], path: str) -> dict[str, Array]:
        processor: Any = self._processor
        with boundary(UsageError, f"{path}: the checkpoint's processor refuses the picture"):
            encoded = processor(
                text=[processor.image_token * len(pictures)],
                images=[pictures],
                add_special_tokens=False,
                return_tensors="np",
            )
        return {name: np.asarray(value) for name, value in encoded.items() if name != "attention_mask"}

    def _find_axes(self, data: bytes) -> dict[str, int]:
        """Along which axis the tensors of two pictures lie, found by trying: processors differ."""
        picture = decode(data)
        one, two = self._call([picture], "a picture"), self._call([picture, picture], "a picture")
        axes: dict[str, int] = {}
        for name, value in one.items():
            doubled = [at for at, (a, b) in enumerate(zip(value.shape, two[name].shape, strict=True)) if a != b]
            if not _per_token(name):
                axes[name] = doubled[0] if doubled else 0
        return axes

    def _features(self, tensors: dict[str, Array]) -> int:
        """How many embeddings come of a picture: asked of the vision tower once for every size."""
        model = self._checkpoint.model
        if "image_grid_thw" in tensors:
            merge: int = model.config.vision_config.spatial_merge_size
            return int(tensors["image_grid_thw"].prod(axis=-1).sum()) // merge**2
        shapes = tuple((name, value.shape) for name, value in tensors.items())
        if shapes not in self._counted:
            torch = library("torch")
            given = {name: torch.from_numpy(value).to(model.device) for name, value in tensors.items()}
            given = {
                name: value.to(model.dtype) if value.is_floating_point() else value for name, value in given.items()
            }
            with torch.no_grad(), boundary(UsageError, "the checkpoint's vision tower can't be asked"):
                features: Any = model.get_image_features(**given, return_dict=True).pooler_output
            parts = cast("list[Any]", features) if isinstance(features, (list, tuple)) else [features]
            self._counted[shapes] = sum(part.reshape(-1, part.shape[-1]).shape[0] for part in parts)
        return self._counted[shapes]


def limit_pixels(checkpoint: Checkpoint, least: int | None, most: int | None) -> None:
    """Change what pictures are scaled to, in the checkpoint's processor.

    Raises:
        UsageError: it scales pictures in another way.
    """
    if least is None and most is None:
        return
    images: Any = getattr(checkpoint.processor, "image_processor", None)
    if images is None or not hasattr(images, "merge_size"):
        raise UsageError("min_pixels and max_pixels are for checkpoints that take pictures of any size, as Qwen2.5-VL.")
    size: dict[str, int] = dict(images.size)
    least, most = least or size["shortest_edge"], most or size["longest_edge"]
    if least > most:
        raise UsageError(f"min_pixels ({least}) must not exceed max_pixels ({most}).")
    images.size = type(images.size)(shortest_edge=least, longest_edge=most)


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as cause:
        raise DataError(path, f"the picture can't be read ({cause.strerror})", "Put it there.") from cause


def _per_token(name: str) -> bool:
    return name == "input_ids" or name.endswith("token_type_ids")


def _compact(value: Array) -> Array:
    return value.astype(np.float16) if value.dtype.kind == "f" else value


def _join(arrays: Sequence[Array], axis: int) -> Array:
    """The arrays along an axis; filled up with zeros behind where their other sides differ."""
    if len({array.shape[:axis] + array.shape[axis + 1 :] for array in arrays}) > 1:
        sides = [max(sizes) for sizes in zip(*(array.shape for array in arrays), strict=True)]
        arrays = [
            np.pad(
                array,
                [
                    (0, 0 if at == axis else side - own)
                    for at, (side, own) in enumerate(zip(sides, array.shape, strict=True))
                ],
            )
            for array in arrays
        ]
    return np.concatenate(arrays, axis=axis)
