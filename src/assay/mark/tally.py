"""Verdicts held compactly, and the accuracy over them: nine bytes a sample."""

from array import array
from typing import TYPE_CHECKING

from msgspec import Struct

from assay.mark.intervals import accuracy_interval
from assay.mark.status import Mode, OnMissing, credit
from assay.types import Outcome

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Score", "Tally", "credits_of", "pair_code", "verdict_code"]

_NOT_RIGHT, _RIGHT, _MISSING = range(3)
_BITS: dict[Mode, int] = {"reference": 0, "robust": 2, "judged": 4}  # where each mode's credit begins in a code
_CREDITS = (False, True, None)


class Score(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An accuracy as a fraction of the `n` samples counted, with its 95 % interval; None where n is 0."""

    correct: int
    n: int
    accuracy: float | None
    low: float | None
    high: float | None
    method: str | None


class Tally:
    """The samples of one cell: a byte for all verdicts and the group's number for each."""

    def __init__(self) -> None:
        self._codes = bytearray()
        self._groups = array("Q")

    def add(self, code: int, group: int) -> None:
        """Add a sample by its `verdict_code` and `group_number`."""
        self._codes.append(code)
        self._groups.append(group)

    def __len__(self) -> int:
        return len(self._codes)

    @property
    def groups(self) -> int:
        return self._group_indices()[1]

    def missing(self, mode: Mode) -> int:
        return int((self._values(mode) == _MISSING).sum())

    def score(self, mode: Mode, on_missing: OnMissing, *, resamples: int, seed: int) -> Score:
        import numpy as np

        values = self._values(mode)
        index, groups = self._group_indices()
        is_right = values == _RIGHT
        is_counted = np.ones_like(is_right) if on_missing == "wrong" else values != _MISSING
        correct, n = int(is_right.sum()), int(is_counted.sum())
        interval = accuracy_interval(
            np.bincount(index[is_right], minlength=groups),
            np.bincount(index[is_counted], minlength=groups),
            resamples=resamples,
            seed=seed,
        )
        return Score(
            correct=correct,
            n=n,
            accuracy=correct / n if n else None,
            low=interval.low if interval else None,
            high=interval.high if interval else None,
            method=interval.method if interval else None,
        )

    def _group_indices(self) -> "tuple[NDArray[np.intp], int]":
        """For each sample the index of its group, and the number of groups."""
        import numpy as np

        names, index = np.unique(np.array(self._groups, dtype=np.uint64), return_inverse=True)
        return index, len(names)

    def _values(self, mode: Mode) -> "NDArray[np.uint8]":
        import numpy as np

        codes = np.array(self._codes, dtype=np.uint8)
        return np.bitwise_and(np.right_shift(codes, _BITS[mode]), 3)


def verdict_code(outcome: Outcome) -> int:
    """All verdicts in one byte: two bits for the reference's credit, the robust one's, and the judge's."""
    code = pair_code(credit(outcome, "reference"), credit(outcome, "robust"))
    return code | _value(credit(outcome, "judged")) << _BITS["judged"]


def pair_code(first: bool | None, second: bool | None) -> int:
    """Two credits in one byte, the first in the low two bits; None: missing."""
    return _value(first) | _value(second) << 2


def credits_of(code: int) -> tuple[bool | None, bool | None]:
    """What `pair_code` made the code of."""
    return _CREDITS[code & 3], _CREDITS[code >> 2]


def _value(right: bool | None) -> int:
    return _MISSING if right is None else _RIGHT if right else _NOT_RIGHT
