"""Fonts: those that matplotlib brings, files of one's own, and one for Chinese where the machine has it.

Pictures from one seed are the same on every machine only with fonts that are the same: the default ones come with
matplotlib. Chinese needs a font of the machine or of one's own; which it was is written down with the data.
"""

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from assay.errors import DataError, MissingExtra, UsageError

__all__ = ["CHINESE", "OWN", "add_fonts", "chinese_font", "require_matplotlib"]

OWN = ("DejaVu Sans", "DejaVu Sans", "DejaVu Serif", "STIXGeneral")
"""Families that come with matplotlib, as often as they are to be chosen."""

CHINESE = (
    "Noto Sans CJK SC",
    "Noto Sans SC",
    "Source Han Sans SC",
    "Source Han Sans CN",
    "Microsoft YaHei",
    "PingFang SC",
    "Hiragino Sans GB",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
    "SimHei",
    "Droid Sans Fallback",
    "Noto Serif CJK SC",
    "AR PL UMing CN",
)
"""Families with the characters of simplified Chinese, the first one that is there is taken."""

_PROBE = "营业收入季度资产鼎"


def require_matplotlib() -> None:
    """Say in one sentence what is missing, if anything is.

    Raises:
        MissingExtra: without the packages of the extra `charts`.
    """
    try:
        import_module("matplotlib.figure")
        import_module("mplfinance")  # which needs pandas and six
    except ImportError as cause:
        raise MissingExtra("drawing charts", "charts") from cause


def _manager() -> Any:
    try:
        return import_module("matplotlib.font_manager")
    except ImportError as cause:
        raise MissingExtra("drawing charts", "charts") from cause


def add_fonts(files: tuple[Path, ...]) -> tuple[str, ...]:
    """Make font files (TTF, OTF, TTC) known; the names of their families.

    Raises:
        DataError: a file that is no font.
        MissingExtra: without matplotlib.
    """
    manager = _manager()
    families: list[str] = []
    for file in files:
        try:
            manager.fontManager.addfont(str(file))
            families.append(manager.FontProperties(fname=str(file)).get_name())
        except (OSError, RuntimeError) as cause:
            raise DataError(str(file), f"is no font ({cause})", "Give a TTF, OTF or TTC file.") from cause
    return tuple(families)


def chinese_font(own: tuple[str, ...] = ()) -> tuple[str, Path]:
    """A family with Chinese characters, one's own first, and its file.

    Raises:
        UsageError: there is none.
        MissingExtra: without matplotlib.
    """
    manager = _manager()
    for name in (*own, *CHINESE):
        for entry in manager.fontManager.ttflist:
            if entry.name == name and _has_chinese(entry.fname):
                return name, Path(entry.fname)
    raise UsageError(
        "No font on this machine has Chinese characters: install one (Debian: fonts-noto-cjk or fonts-wqy-microhei), "
        "or give its file with --font, or leave zh out of --languages."
    )


@cache
def _has_chinese(file: str) -> bool:
    ft2font: Any = import_module("matplotlib.ft2font")
    return all(ord(character) in ft2font.FT2Font(file).get_charmap() for character in _PROBE)
