"""Placeholder during the first hour; replaced by the real module."""
from msgspec import Struct
class Transform(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    max_edge: int | None = None
    min_edge: int | None = None
    format: str = "keep"
    quality: int = 90
