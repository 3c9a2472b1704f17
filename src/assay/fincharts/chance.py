"""Chance that a seed decides: every stream has a name, so that one more draw here changes nothing there."""

from random import Random

from numpy.random import Generator, default_rng

__all__ = ["dice", "numbers"]


def dice(*name: object) -> Random:
    """A stream of choices."""
    return Random(" ".join(map(str, name)))  # noqa: S311  # nothing secret is drawn


def numbers(*name: object) -> Generator:
    """A stream of numbers."""
    return default_rng(list(" ".join(map(str, name)).encode()))
