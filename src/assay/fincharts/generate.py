"""Make a benchmark: plan, invent, draw, write. Uses several processes, and goes on where it was stopped.

The folder:

    fincharts.json   what it was made with; written first, and another request for the same folder is refused
    images/          pictures, each written whole or not at all
    items.jsonl      everything the answers follow from (`Item`)
    process.jsonl    solutions with labelled steps, where asked for (`LabelledSteps`)
    rows.jsonl       the questions in FinMME's columns; written last, so a folder that has it is complete

Questions follow from the request alone and take seconds; a second start makes them again and draws what is missing.
"""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from datetime import date
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from assay.engine.lines import encode
from assay.errors import DataError, RunError, RunMismatch, UsageError
from assay.fincharts.charts.kline import LEAST_SESSIONS
from assay.fincharts.draw import Fonts, picture
from assay.fincharts.fonts import OWN, add_fonts, chinese_font, require_matplotlib
from assay.fincharts.invent import Settings, invent, signature
from assay.fincharts.item import Item
from assay.fincharts.plan import Slot, Weights, finmme_weights, plan
from assay.fincharts.rows import process_rows, row
from assay.fincharts.series import Bars, read_ohlcv

__all__ = ["FORMAT", "Request", "Summary", "generate", "inventions", "read_items"]

FORMAT = 2
"""Raised when the same request gives other questions or pictures than before."""

LEAST_DAYS = 364
"""A window holds at least twelve months, or eleven whole ones and parts of two."""

FIRST_YEAR, LAST_YEAR = 1900, 2200
"""Years that charts may cover: days are numbered in nanoseconds when candles are drawn."""

_WRITTEN = ("images", "items.jsonl", "process.jsonl", "rows.jsonl")
_RETRIES = 50
_CHUNK = 8


class Request(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is to be made.

    Attributes:
        seed: decides everything that chance decides.
        count: seed questions.
        variants: questions made of each seed question.
        start, end: the days that charts may cover.
        languages: of charts and questions.
        weights: of the taxonomy's values.
        rationales: whether `process.jsonl` is written.
        ohlcv: files of daily prices for K-lines.
        fonts: font files to draw with beside matplotlib's own.
    """

    seed: int
    count: int
    variants: int = 1
    start: date = date(2012, 1, 1)
    end: date = date(2025, 12, 31)
    languages: tuple[str, ...] = ("en",)
    weights: Weights = msgspec.field(default_factory=finmme_weights)
    rationales: bool = False
    ohlcv: tuple[Path, ...] = ()
    fonts: tuple[Path, ...] = ()


class Summary(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was made. `drawn` pictures in this start, `kept` from an earlier one; `again`: duplicates made anew."""

    questions: int
    seeds: int
    drawn: int
    kept: int
    again: int
    solutions: int
    counts: dict[str, dict[str, int]]


Told = Callable[[str, int, int], None]
"""Told of progress: what is being done, how many are done, of how many."""


def generate(out: Path, request: Request, *, workers: int = 1, told: Told | None = None) -> Summary:
    """Make what is asked for in the folder `out`.

    Raises:
        MissingExtra: without the packages of the extra `charts`.
        UsageError, DataError: a request that can't be met, or files that can't be used.
        RunMismatch: the folder holds what another request made, or files of the same names that none made.
        RunError: it can't be written, or no clear question is found for a slot.
    """
    require_matplotlib()
    tell = told or _silent
    fonts = _fonts(request)
    bars = tuple(read_ohlcv(path) for path in request.ohlcv)
    _check(request, bars)
    try:
        out.mkdir(parents=True, exist_ok=True)
        _claim(out / "fincharts.json", _described(request, bars, fonts))
        (out / "images").mkdir(exist_ok=True)
        with _workers(workers) as each:
            items, again = _invented(request, bars, fonts, each, tell)
            missing = [item for item in items if not (out / item.image).is_file()]
            paint = partial(_paint, out, fonts)
            for done, _ in enumerate(each(paint, missing), start=1):
                tell("pictures", done, len(missing))
        solutions = _write(out, request, items)
    except OSError as cause:
        raise RunError(f"{out} can't be written: {cause.strerror or cause}.") from cause
    return Summary(
        questions=len(items),
        seeds=request.count,
        drawn=len(missing),
        kept=len(items) - len(missing),
        again=again,
        solutions=solutions,
        counts=_counts(items),
    )


def _silent(_what: str, _done: int, _of: int) -> None:
    return


def _check(request: Request, bars: tuple[Bars, ...]) -> None:
    if (request.end - request.start).days < LEAST_DAYS:
        raise UsageError("Give a window of at least a year with --from and --to.")
    if request.start.year < FIRST_YEAR or request.end.year > LAST_YEAR:
        raise UsageError(f"Give a window between {FIRST_YEAR} and {LAST_YEAR} with --from and --to.")
    for prices in bars:
        inside = sum(request.start.isoformat() <= day <= request.end.isoformat() for day in prices.days)
        needed = LEAST_SESSIONS + request.variants - 1  # variants show different stretches
        if inside < needed:
            raise UsageError(
                f"{prices.name} has {inside} sessions between {request.start} and {request.end}, and K-lines need "
                f"{needed}: widen the window with --from and --to, or leave the file out."
            )


def _fonts(request: Request) -> Fonts:
    own = add_fonts(request.fonts)
    chinese = chinese_font(own)[0] if "zh" in request.languages else ""
    return Fonts(
        families=(*OWN, *(name for name in own if name != chinese)),
        chinese=chinese,
        files=tuple(str(path) for path in request.fonts),
    )


# --------------------------------------------------------------------------------------------------------------------
# Questions


def inventions(request: Request, *, bars: tuple[Bars, ...] = (), fonts: tuple[str, ...] = OWN) -> Iterator[list[Item]]:
    """The questions of a request without their pictures, seed question by seed question, in this process."""
    settings = _settings(request, bars, fonts)
    taken: set[str] = set()
    for slot in plan(request.seed, request.count, request.weights, request.languages):
        yield _without_duplicate(slot, invent(slot, settings), settings, taken)[0]


def _settings(request: Request, bars: tuple[Bars, ...], fonts: tuple[str, ...]) -> Settings:
    return Settings(
        seed=request.seed, variants=request.variants, window=(request.start, request.end), fonts=fonts, bars=bars
    )


def _invented(
    request: Request, bars: tuple[Bars, ...], fonts: Fonts, each: "Each", tell: Told
) -> tuple[list[Item], int]:
    settings = _settings(request, bars, fonts.families)
    slots = plan(request.seed, request.count, request.weights, request.languages)
    taken: set[str] = set()
    items: list[Item] = []
    again = 0
    for done, (slot, found) in enumerate(zip(slots, each(_Invent(settings), slots), strict=True), start=1):
        kept, tries = _without_duplicate(slot, found, settings, taken)
        again += tries
        items.extend(kept)
        tell("questions", done, len(slots))
    return items, again


class _Invent:
    """`invent` with its settings; a class, so that it can be sent to another process."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def __call__(self, slot: Slot) -> list[Item]:
        return invent(slot, self._settings)


def _without_duplicate(slot: Slot, found: list[Item], settings: Settings, taken: set[str]) -> tuple[list[Item], int]:
    """The items, or those of another seed question where one of them is there already."""
    for retry in range(_RETRIES):
        signatures = {signature(item.question, item.chart) for item in found}
        if not signatures & taken:
            taken |= signatures
            return found, retry
        found = invent(slot, settings, retry=retry + 1)
    raise RunError(f"Slot {slot.index} gave {_RETRIES} questions that were there already: ask for fewer.")


# --------------------------------------------------------------------------------------------------------------------
# Pictures


def _paint(out: Path, fonts: Fonts, item: Item) -> None:
    """Draw one picture and put it in place."""
    _known(fonts.files)
    path = out / item.image
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    part.write_bytes(picture(item, fonts))
    part.replace(path)


_made_known: set[tuple[str, ...]] = set()


def _known(files: tuple[str, ...]) -> None:
    """Fonts of one's own have to be made known once in each process."""
    if files not in _made_known:
        add_fonts(tuple(Path(file) for file in files))
        _made_known.add(files)


Each = Callable[[Callable[[Any], Any], "list[Any]"], Iterable[Any]]
"""Applies a function to every thing of a list, in order."""


@contextmanager
def _workers(count: int) -> Generator[Each]:
    """A way to do many things: one after the other, or in so many processes."""
    if count == 1:
        yield map
        return
    pool = ProcessPoolExecutor(count, mp_context=get_context("spawn"), initializer=_quiet)
    try:
        yield lambda function, things: pool.map(function, things, chunksize=_CHUNK)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _quiet() -> None:
    """Ctrl-C is for the parent, which stops the others; libraries of linear algebra keep to one core each."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.setdefault("OMP_NUM_THREADS", "1")


# --------------------------------------------------------------------------------------------------------------------
# Files


def _described(request: Request, bars: tuple[Bars, ...], fonts: Fonts) -> dict[str, Any]:
    """The request as it stands in the folder: files by their contents, not by where they lie."""
    plain = msgspec.to_builtins(msgspec.structs.replace(request, ohlcv=(), fonts=()))
    plain["ohlcv"] = [{"name": prices.name, "sha256": _digest(msgspec.json.encode(prices))} for prices in bars]
    plain["fonts"] = [{"name": path.name, "sha256": _digest(path.read_bytes())} for path in request.fonts]
    if fonts.chinese:
        plain["chinese_font"] = fonts.chinese
    return {"format": FORMAT, **plain}


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _claim(path: Path, described: dict[str, Any]) -> None:
    text = json.dumps(described, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
    if not path.exists():
        foreign = [name for name in _WRITTEN if (path.parent / name).exists()]
        if foreign:  # pictures of the same name would be taken for ours, other files written over
            raise RunMismatch(
                f"{path.parent} holds {foreign[0]}, which this command did not make: give another folder with --out."
            )
        _put(path, [text.encode()])
        return
    try:
        there = json.loads(path.read_bytes())
    except ValueError as cause:
        raise DataError(str(path), f"is not valid JSON ({cause})", "Remove the folder and start again.") from cause
    wanted = json.loads(text)
    if there != wanted:
        keys = there.keys() | wanted.keys() if isinstance(there, dict) else wanted.keys()
        other = sorted(key for key in keys if not isinstance(there, dict) or there.get(key) != wanted.get(key))
        raise RunMismatch(
            f"{path.parent} was made with another {', '.join(other)}: give another folder with --out, or remove it."
        )


def _write(out: Path, request: Request, items: list[Item]) -> int:
    """The files; how many labelled solutions there are."""
    _put(out / "items.jsonl", (encode(item) + b"\n" for item in items))
    solutions = 0
    if request.rationales:
        rows = [found for item in items for found in process_rows(item, request.seed)]
        solutions = len(rows)
        _put(out / "process.jsonl", (encode(found) + b"\n" for found in rows))
    _put(out / "rows.jsonl", (msgspec.json.encode(row(item)) + b"\n" for item in items))
    return solutions


def _put(path: Path, chunks: Iterable[bytes]) -> None:
    part = path.with_name(f".{path.name}.part")
    with part.open("wb") as file:
        for chunk in chunks:
            file.write(chunk)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def read_items(path: Path) -> Iterator[Item]:
    """The items of a folder's `items.jsonl`.

    Raises:
        DataError: the file can't be read, or a line is no item.
    """
    decoder = msgspec.json.Decoder(Item)
    number = 0
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):  # noqa: B007  # named when a line is no item
                yield decoder.decode(line)
    except OSError as cause:
        raise DataError(str(path), f"can't be read ({cause.strerror})", "Give a folder of FinCharts.") from cause
    except msgspec.DecodeError as cause:
        raise DataError(f"{path}:{number}", f"is no item ({cause})", "Make the folder again.") from cause


def _counts(items: list[Item]) -> dict[str, dict[str, int]]:
    """How many questions there are of each value of the main facets."""
    facets: dict[str, Callable[[Item], str]] = {
        "question_type": lambda item: item.question.type,
        "cognitive_level": lambda item: item.question.level,
        "chart_type": lambda item: item.chart.chart_class,
        "language": lambda item: item.chart.language,
    }
    return {name: dict(Counter(map(of, items)).most_common()) for name, of in facets.items()}
