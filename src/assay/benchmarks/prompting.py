"""Prompt files and how they are filled in.

A prompt is a text file in `prompts/`. A line whose `{name}` has no value is left out as a whole, so that a
question without a caption carries no "Caption: None".

`prompts/variants.toml` rewords lines of instruction, each in the same four ways: variant `b` of a prompt is the file
with every line that the table has in its wording `b`. What a question brings along stays as and where it is, and so
does the form in which the answer is wanted.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files

VARIANTS = ("a", "b", "c", "d")
"""Names of the variants of every prompt."""

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


@cache
def load_prompt(name: str, variant: str = "") -> str:
    """The text of `prompts/<name>.txt`, or of one of its variants."""
    text = _read(f"{name}.txt")
    if not variant:
        return text
    wordings = _variants()
    return "\n".join(wordings[line][variant] if line in wordings else line for line in text.split("\n"))


def load_prompts(names: Sequence[str], variant: str = "") -> dict[str, str]:
    return {name: load_prompt(name, variant) for name in names}


@cache
def _variants() -> dict[str, dict[str, str]]:
    """Line of instruction -> name of the variant -> its wording there."""
    import tomllib

    lines: list[dict[str, str]] = tomllib.loads(_read("variants.toml"))["line"]
    return {line["own"]: line for line in lines}


def _read(file: str) -> str:
    return files("assay.benchmarks").joinpath("prompts", file).read_text(encoding="utf-8")


def fill(template: str, values: Mapping[str, str]) -> str:
    """Put `values` in place of `{name}`; a line that names an empty or absent value is dropped.

    Values are inserted once and never looked at again, so braces inside a question are harmless.
    """
    return "\n".join(
        _PLACEHOLDER.sub(lambda match: values[match.group(1)], line) if names else line
        for line, names in _lines(template)
        if all(values.get(name) for name in names)
    )


@lru_cache(maxsize=256)
def _lines(template: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The lines, and the names that each asks for."""
    return tuple((line, tuple(_PLACEHOLDER.findall(line))) for line in template.rstrip("\n").split("\n"))


def hash_prompts(texts: Mapping[str, str]) -> str:
    """SHA-256 over names and texts, hexadecimal: what `Benchmark.prompt_hash` returns."""
    listing = "".join(f"{name}\x00{texts[name]}\x00" for name in sorted(texts))
    return hashlib.sha256(listing.encode()).hexdigest()
